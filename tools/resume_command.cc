#include <fmt/format.h>

#include <ostream>

#include "engine/load.h"
#include "tools/read_journal.h"
#include "tools/session_run.h"
#include "tools/turn_report.h"

namespace daybook::tools {
namespace {

bool unfinished(const engine::SessionState& state) {
  return state.turn->open ||
         (state.turn->number > 0 && state.turn->outcome != schema::TurnOutcome::completed);
}

Result<int> run(Context& context, const Arguments& arguments) {
  auto folder = journal_folder(context, arguments);
  if (!folder) return fail(std::move(folder.error()));
  auto journal = context.open_journal(*folder, journal::OpenMode::write);
  if (!journal) return fail(std::move(journal.error()));
  auto info = find_session(**journal, *arguments.text("SESSION"));
  if (!info) return fail(std::move(info.error()));
  auto state = engine::load_state(**journal, info->session);
  if (!state) return fail(std::move(state.error()));
  DAYBOOK_TRY(check_continuable(*state));
  if (!unfinished(*state)) {
    tell_outcome(context, *state, {}, {}, 0, arguments.flag("--json"));
    return kExitOk;
  }
  DAYBOOK_TRY(check_workspace(context, *state));
  auto flags = config_flags(arguments);
  if (!flags) return fail(std::move(flags.error()));
  if (!flags->model) flags->model = state->turn->provider + ":" + state->turn->model;
  auto config = engine::load_config({context.environment, state->workspace, *flags});
  if (!config) return fail(std::move(config.error()));
  auto model = engine::resolve_model(*config, config->model, context.environment);
  if (!model) return fail(std::move(model.error()));
  auto agent = engine::find_agent(*config, state->agent);
  if (!agent) return fail(std::move(agent.error()));

  SessionRun run{*folder,
                 *config,
                 *model,
                 engine::TurnRequest(info->session),
                 *agent,
                 config->turn_timeout_ms,
                 arguments.flag("--json")};
  run.turn.owner = context.owner;
  run.turn.reason = schema::OwnReason::resume;
  run.turn.max_iterations = config->max_iterations;
  run.turn.policy.mode =
      arguments.text("--approval-mode") ? config->approval_mode : state->policy->mode;
  for (const auto& root : state->policy->roots) {
    run.turn.policy.roots.push_back({root->path, root->writable});
  }
  if (state->turn->open && flags->max_iterations &&
      *flags->max_iterations != state->turn->max_iterations) {
    context.err << fmt::format(
        "the turn goes on with the limit it began with: {} model responses\n",
        state->turn->max_iterations);
  }
  run.turn.state = std::move(*state);
  return run_session(context, **journal, std::move(run));
}

}  // namespace

Command resume_command() {
  return {"resume",
          "Go on with a session's unfinished turn",
          {{"SESSION", "name, or the start of it"}},
          turn_options(),
          run,
          true};
}

}  // namespace daybook::tools
