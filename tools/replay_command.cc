#include <fmt/format.h>

#include <array>

#include "engine/nearest.h"
#include "tools/replay_actions.h"

namespace daybook::tools {
namespace {

struct Action {
  std::string_view name;
  Result<int> (*run)(Context&, const Arguments&);
  std::string_view options;  // that it knows, a space between two
};

constexpr std::array<Action, 7> kActions = {{
    {"list", replay_list, "--sessions"},
    {"run", replay_run,
     "--sessions --arms --only --model --replicates --max-cost --name --seed --prices"},
    {"report", replay_report, "--prices"},
    {"show", replay_show, ""},
    {"score", replay_score, "--case"},
    {"probe", replay_probe,
     "--only --model --replicates --max-cost --layer --questions --yes --prices"},
    {"session", replay_session, ""},
}};

constexpr std::array<std::string_view, 13> kOptions = {
    "--sessions", "--arms",   "--only", "--model", "--replicates", "--max-cost", "--name",
    "--seed",     "--prices", "--case", "--layer", "--questions",  "--yes"};

/// An option of another action is a mistake, not a wish.
Result<void> check_options(const Action& action, const Arguments& arguments) {
  const std::string known = fmt::format(" {} ", action.options);
  for (const auto option : kOptions) {
    if (arguments.list(option).empty()) continue;
    if (known.find(fmt::format(" {} ", option)) != std::string::npos) continue;
    return fail(
        ErrorCode::invalid_argument,
        action.options.empty()
            ? fmt::format("'replay {}' takes no {}, and no option of its own", action.name, option)
            : fmt::format("'replay {}' takes no {}; its options are: {}", action.name, option,
                          action.options));
  }
  return {};
}

Result<int> run(Context& context, const Arguments& arguments) {
  const std::string name = *arguments.text("ACTION");
  std::vector<std::string> known;
  for (const Action& action : kActions) {
    if (action.name == name) {
      DAYBOOK_TRY(check_options(action, arguments));
      return action.run(context, arguments);
    }
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
          {"--name", ValueKind::text, "NAME",
           "run: the replay's whole name; one that exists goes on"},
          {"--seed", ValueKind::number, "N", "run: of the order of the calls (1)"},
          {"--prices", ValueKind::text, "FILE",
           "run, report, probe: prices that go over the shipped ones"},
          {"--case", ValueKind::text, "ID", "score: the compaction that FILE sums up"},
      },
      run};
}

}  // namespace daybook::tools
