#include "tools/session_run.h"

#include <fmt/format.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <ostream>

#include "engine/asio_clock.h"
#include "engine/clock_tool.h"
#include "engine/config_file.h"
#include "engine/http_model.h"
#include "engine/load.h"
#include "engine/script_model.h"
#include "executor/all_tools.h"
#include "executor/direct.h"
#include "executor/process_env.h"
#include "executor/shell_dir.h"
#include "tools/progress.h"
#include "tools/terminal_approver.h"
#include "tools/turn_report.h"

namespace daybook::tools {
namespace {

namespace asio = boost::asio;
using Kind = engine::TurnReport::Kind;

constexpr std::size_t kToolThreads = 8;

/// From the user database; the number when there is no entry.
std::string user_name() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr ? std::to_string(getuid()) : std::string(found->pw_name);
}

std::vector<std::string> variables(const Context& context) {
  std::vector<std::string> all;
  all.reserve(context.environment.size());
  for (const auto& [name, value] : context.environment) {
    all.push_back(fmt::format("{}={}", name, value));
  }
  return all;
}

int exit_code_of(Kind kind) {
  switch (kind) {
    case Kind::completed:
    case Kind::nothing_to_do:
      return kExitOk;
    case Kind::interrupted:
      return kExitInterrupted;
    case Kind::failed:
      return kExitTurnFailed;
    case Kind::iteration_limit:
      return kExitIterationLimit;
    case Kind::needs_reconcile:
    case Kind::needs_approval:
      return kExitNeedsDecision;
  }
  return kExitError;
}

/// `unit` follows the greatest value in the error.
Result<std::optional<std::uint32_t>> number_within(const Arguments& arguments,
                                                   std::string_view option, std::uint32_t least,
                                                   std::uint32_t most, std::string_view unit) {
  const auto value = arguments.number(option);
  if (!value) return std::nullopt;
  if (*value >= least && *value <= most) return static_cast<std::uint32_t>(*value);
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} must be from {} to {}{}, not {}", option, least, most, unit, *value));
}

/// First signal: stop cleanly. Second: leave at once; the journal makes both resumable, and the
/// commands under way end with this process.
void watch_signals(asio::signal_set& signals, engine::Driver& driver, int seen) {
  signals.async_wait([&signals, &driver, seen](boost::system::error_code error, int number) {
    if (error) return;
    if (seen > 0) _exit(128 + number);
    driver.stop(number == SIGINT ? "interrupted by Ctrl-C"
                                 : fmt::format("the process was told to stop ({})",
                                               number == SIGTERM ? "SIGTERM" : "SIGHUP"));
    watch_signals(signals, driver, seen + 1);
  });
}

std::string time_was_up(std::uint32_t timeout_ms) {
  return timeout_ms % 1000 == 0
             ? fmt::format("the turn's time was up: timed out after {} s", timeout_ms / 1000)
             : fmt::format("the turn's time was up: timed out after {} ms", timeout_ms);
}

}  // namespace

Result<std::unique_ptr<engine::Model>> make_model(asio::io_context& io, engine::Clock& clock,
                                                  const engine::ResolvedModel& model) {
  if (model.provider.kind != "script") return std::make_unique<engine::HttpModel>(io, clock);
  auto scenario = engine::load_scenario(model.model);
  if (!scenario) return fail(std::move(scenario.error()));
  return engine::make_script_model(std::move(*scenario), clock);
}

engine::ModelChoice choice_of(const engine::ResolvedModel& model) {
  engine::ModelChoice choice;
  choice.provider = model.provider.name;
  choice.model = model.model;
  choice.codec = engine::find_codec(model.provider.kind);
  DAYBOOK_CHECK(choice.codec != nullptr);
  choice.url = model.provider.base_url + choice.codec->path(model.model);
  choice.headers = choice.codec->headers(model.key);
  for (const auto& [name, value] : model.provider.headers) {
    choice.headers.push_back(fmt::format("{}: {}", name, value));
  }
  choice.key = model.key;
  choice.params.model = model.model;
  choice.params.max_output_tokens = model.settings.max_output_tokens;
  choice.params.limit_is_max_completion_tokens =
      model.settings.max_tokens_field == "max_completion_tokens";
  choice.params.reasons = model.settings.thinking != engine::Thinking::none;
  if (model.settings.thinking == engine::Thinking::budget) {
    choice.params.thinking_budget_tokens = model.settings.thinking_budget_tokens;
  }
  if (model.settings.thinking == engine::Thinking::effort) {
    choice.params.reasoning_effort = model.settings.reasoning_effort;
  }
  choice.params.extra = model.provider.extra;
  choice.marker_ttl =
      model.settings.cache_markers ? schema::CacheTtl::minutes_5 : schema::CacheTtl::none;
  choice.connect_timeout_ms = model.provider.connect_timeout_ms;
  choice.idle_timeout_ms = model.provider.idle_timeout_ms;
  return choice;
}

std::string actor_name(const Context& context) {
  const auto user = context.environment.find("USER");
  return "person:" +
         (user == context.environment.end() || user->second.empty() ? user_name() : user->second);
}

std::string spill_folder_of(const std::string& journal_folder, const SessionId& session) {
  return (std::filesystem::path(journal_folder) / "spill" / session.str()).string();
}

Result<std::string> existing_folder(const Context& context, const std::string& path,
                                    std::string_view what) {
  const auto full = std::filesystem::path(context.current_folder) / path;
  std::error_code error;
  const auto resolved = std::filesystem::canonical(full, error);
  if (error) {
    return fail(ErrorCode::not_found, fmt::format("{} '{}' cannot be used: {}; give an existing "
                                                  "folder",
                                                  what, path, error.message()));
  }
  if (!std::filesystem::is_directory(resolved, error)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} '{}' is not a folder; give an existing folder", what, path));
  }
  return resolved.string();
}

Result<void> check_workspace(const Context& context, const engine::SessionState& state) {
  if (existing_folder(context, state.workspace, "")) return {};
  return fail(ErrorCode::not_found,
              fmt::format("the workspace '{}' of session {} is not there; put it back, or start a "
                          "new session with: daybook run --workspace DIR PROMPT",
                          state.workspace, state.session));
}

std::vector<Option> turn_options() {
  return {
      {"--model", ValueKind::text, "PROVIDER:MODEL", "model to call; script:FILE plays a scenario"},
      {"--approval-mode", ValueKind::text, "MODE", "interactive or bypass-approvals"},
      {"--max-iterations", ValueKind::number, "N", "model responses the turn may use"},
      {"--timeout", ValueKind::number, "SECONDS", "stop the turn cleanly after this long"},
  };
}

Result<engine::ConfigFlags> config_flags(const Arguments& arguments) {
  engine::ConfigFlags flags;
  flags.model = arguments.text("--model");
  flags.journal = arguments.text("--journal");
  flags.approval_mode = arguments.text("--approval-mode");
  auto limit = number_within(arguments, "--max-iterations", 1, engine::kMaxIterations, "");
  if (!limit) return fail(std::move(limit.error()));
  flags.max_iterations = *limit;
  auto seconds = number_within(arguments, "--timeout", 0, engine::kMaxTimeoutMs / 1000, " seconds");
  if (!seconds) return fail(std::move(seconds.error()));
  if (*seconds) flags.turn_timeout_ms = **seconds * 1000;
  return flags;
}

Result<int> run_session(Context& context, journal::Journal& journal, SessionRun run) {
  asio::io_context io;
  const auto clock = engine::make_asio_clock(io);
  auto model = make_model(io, *clock, run.model);
  if (!model) return fail(std::move(model.error()));

  engine::TurnRequest& turn = run.turn;
  const std::string name = turn.session.str();
  turn.model = choice_of(run.model);
  turn.agent = {run.agent->name, run.agent->instructions, run.agent->tools};
  turn.spill_folder = std::filesystem::path(run.journal_folder) / "spill";
  turn.version = std::string(version());
  turn.limits.compaction.enabled = run.config.compaction;
  turn.limits.compaction.window = run.model.settings.context_window;
  turn.limits.compaction.reply = run.model.settings.max_output_tokens;
  turn.limits.compaction.cap = run.config.compaction_cap_tokens;
  turn.limits.compaction.summary = run.config.compaction_summary_max_tokens;
  const std::filesystem::path spill = spill_folder_of(run.journal_folder, turn.session);
  mkdir(spill.parent_path().c_str(), 0700);
  mkdir(spill.c_str(), 0700);

  const std::vector<std::string> environment = variables(context);
  executor::remove_abandoned_shell_dirs(executor::variable(environment, "TMPDIR"));
  auto toolset = executor::make_all_tools({environment, turn.state.shell_cwd});
  toolset.tools.push_back(engine::make_current_time_tool(*clock));
  const auto executor =
      executor::make_direct_executor(std::move(toolset.tools), std::move(toolset.close));
  const auto approver = make_terminal_approver(io, actor_name(context));
  const ModelPlace place = place_of(run.model);
  const auto shown =
      run.json ? make_event_stream(context, journal) : make_progress(context, place.where);
  FailureWatch observer(*shown);
  asio::thread_pool pool(kToolThreads);
  engine::Driver driver(
      io,
      {journal, *executor, **model, *clock, *approver, observer,
       [&pool](std::function<void()> work) { asio::post(pool, std::move(work)); }},
      std::move(turn));

  asio::signal_set signals(io, SIGINT, SIGTERM, SIGHUP);
  watch_signals(signals, driver, 0);
  asio::steady_timer deadline(io);
  if (run.timeout_ms > 0) {
    deadline.expires_after(std::chrono::milliseconds(run.timeout_ms));
    deadline.async_wait([&](boost::system::error_code error) {
      if (!error) driver.stop(time_was_up(run.timeout_ms));
    });
  }
  const auto guard = asio::make_work_guard(io);
  std::optional<Result<engine::TurnReport>> report;
  if (run.announce) context.err << "session " << name << '\n';
  driver.start([&](Result<engine::TurnReport> done) {
    report = std::move(done);
    io.stop();
  });
  io.run();
  executor->close();
  pool.join();
  if (!report->has_value()) return fail(std::move(report->error()));
  // A checkpoint is only a cache: failing to write one is not the turn's failure.
  static_cast<void>(engine::save_checkpoint_if_due(journal, driver.state()));
  tell_outcome(context, driver.state(), **report, place, observer.http_status(), run.json);
  return exit_code_of((*report)->kind);
}

Result<void> check_continuable(const engine::SessionState& state) {
  if (state.replay) {
    return fail(ErrorCode::conflict,
                fmt::format("session {} holds the summaries of a replay; go on with it by: daybook "
                            "replay run --name {}",
                            state.session, state.session));
  }
  if (!state.imported) return {};
  return fail(ErrorCode::conflict,
              fmt::format("session {} was imported from another program's log and can only be "
                          "read; start a new one with: daybook run PROMPT",
                          state.session));
}

}  // namespace daybook::tools
