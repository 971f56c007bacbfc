#include <fmt/format.h>

#include <array>

#include "engine/nearest.h"
#include "tools/replay_actions.h"

namespace daybook::tools {
namespace {

struct Action {
  std::string_view name;
  Result<int> (*run)(Context&, const Arguments&);
};

constexpr std::array<Action, 7> kActions = {{
    {"list", replay_list},
    {"run", replay_run},
    {"report", replay_report},
    {"show", replay_show},
    {"score", replay_score},
    {"probe", replay_probe},
    {"session", replay_session},
}};

Result<int> run(Context& context, const Arguments& arguments) {
  const std::string name = *arguments.text("ACTION");
  std::vector<std::string> known;
  for (const Action& action : kActions) {
    if (action.name == name) return action.run(context, arguments);
    known.emplace_back(action.name);
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("there is no 'replay {}'{}", name, engine::suggestion(name, known)));
}

}  // namespace

Result<std::string> replay_operand(const Arguments& arguments, std::string_view what) {
  const auto& operands = arguments.list("OPERAND");
  if (operands.size() == 1) return operands.front();
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("'replay {}' needs {}, and takes nothing else", *arguments.text("ACTION"), what));
}

Command replay_command() {
  return {
      "replay",
      "Make the summaries of recorded compactions again, and score them",
      {{"ACTION", "list, run, report, show, score, probe or session"},
       {"OPERAND", "what the action is about", false, true}},
      {
          {"--sessions", ValueKind::list, "SESSION", "list, run: only compactions of these"},
          {"--arms", ValueKind::text, "FILE", "run: arms to compare, instead of the shipped"},
          {"--only", ValueKind::list, "ARM", "run, probe: only these of the arms"},
          {"--model", ValueKind::text, "PROVIDER:MODEL",
           "run: for arms that name none; probe: that answers"},
          {"--replicates", ValueKind::number, "K",
           "run: times that each arm is tried (1); probe: times that each is asked (3)"},
          {"--max-cost", ValueKind::text, "USD", "run, probe: end before this is spent"},
          {"--layer", ValueKind::list, "LAYER", "probe: questions, next-step or judge (all)"},
          {"--questions", ValueKind::number, "N", "probe: closed questions a case (8)"},
          {"--yes", ValueKind::flag, "", "probe: make the calls, whose cost is told without it"},
          {"--name", ValueKind::text, "NAME", "run: of the replay; one that exists goes on"},
          {"--seed", ValueKind::number, "N", "run: of the order of the calls (1)"},
          {"--prices", ValueKind::text, "FILE", "prices that go over the shipped ones"},
          {"--case", ValueKind::text, "ID", "score: the compaction that FILE sums up"},
      },
      run};
}

}  // namespace daybook::tools
