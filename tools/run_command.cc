#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <random>

#include "engine/load.h"
#include "engine/script_model.h"
#include "schema/utf8.h"
#include "tools/bounded_text.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/read_journal.h"
#include "tools/session_run.h"
#include "tools/turn_report.h"

namespace daybook::tools {
namespace {

constexpr std::size_t kMostPromptBytes = std::size_t{64} << 20;

Result<std::string> read_prompt(Context& context, const Arguments& arguments) {
  const auto given = arguments.text("PROMPT");
  const auto option = arguments.text("--prompt");
  const auto file = arguments.text("--prompt-file");
  if (given.has_value() + option.has_value() + file.has_value() > 1) {
    return fail(ErrorCode::invalid_argument,
                "the prompt is given twice; use one of the argument, --prompt and --prompt-file");
  }
  if (given || option) return given ? *given : *option;
  if (file) {
    const auto path = std::filesystem::path(context.current_folder) / *file;
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("the prompt file '{}' is a folder; give a file", *file));
    }
    std::ifstream in(path, std::ios::binary);
    std::string text = bounded_text(in, kMostPromptBytes);
    if (!in) {
      const int number = errno;
      return fail(number == EACCES ? ErrorCode::permission : ErrorCode::not_found,
                  fmt::format("cannot read the prompt file '{}': {}; give a file that you may read",
                              *file, std::strerror(number)));
    }
    return text;
  }
  if (context.in_is_terminal) {
    return fail(ErrorCode::invalid_argument,
                "there is no prompt; give it as an argument, with --prompt, with --prompt-file or "
                "on standard input");
  }
  return bounded_text(context.in, kMostPromptBytes);
}

Result<std::string> checked_prompt(Context& context, const Arguments& arguments) {
  auto prompt = read_prompt(context, arguments);
  if (!prompt) return prompt;
  if (prompt->size() > kMostPromptBytes) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the prompt is longer than {} bytes; name files for the agent to read",
                            kMostPromptBytes));
  }
  if (prompt->find_first_not_of(" \t\r\n") == std::string::npos) {
    return fail(ErrorCode::invalid_argument, "the prompt is empty; say what the agent should do");
  }
  if (!is_utf8(*prompt)) {
    return fail(ErrorCode::invalid_argument,
                "the prompt is not valid UTF-8; convert it, for example with iconv");
  }
  return prompt;
}

/// "20261129-131502-7f3a": sorts by time, short enough to type.
Result<SessionId> new_session_name() {
  std::random_device random;
  return SessionId::parse(
      fmt::format("{:%Y%m%d-%H%M%S}-{:04x}", fmt::gmtime(std::time(nullptr)), random() & 0xffff));
}

Result<std::vector<executor::Root>> writable_roots(const Context& context,
                                                   const Arguments& arguments,
                                                   std::vector<executor::Root> roots) {
  for (const auto& path : arguments.list("--add-dir")) {
    auto folder = existing_folder(context, path, "--add-dir");
    if (!folder) return fail(std::move(folder.error()));
    std::erase_if(roots, [&](const auto& root) { return root.path == *folder; });
    roots.push_back({std::move(*folder), true});
  }
  return roots;
}

/// A folder in the journal would let tools write what they must not. Asked before there is one.
Result<void> keep_apart(const std::vector<executor::Root>& roots, const std::string& journal) {
  for (const auto& root : roots) {
    if (!root.writable || !is_inside(root.path, journal)) continue;
    return fail(ErrorCode::invalid_argument,
                fmt::format("the folder '{}' lies in the journal '{}'; choose another one",
                            root.path, journal));
  }
  return {};
}

/// Ids are compared byte by byte and shown in sentences: what cannot be typed again is refused.
Result<void> check_request_id(const std::string& id) {
  constexpr std::size_t kMaxBytes = 256;
  if (id.size() > kMaxBytes) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--request-id has {} bytes; use at most {}", id.size(), kMaxBytes));
  }
  if (one_line(id) != id) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--request-id '{}' holds control characters or is not UTF-8; use "
                            "printable characters",
                            one_line(id)));
  }
  return {};
}

/// A command as it was given: what makes it the same one when it is given again.
struct Repeatable {
  std::string request_id;
  Digest content;                           // of the prompt
  std::optional<std::string> session = {};  // as --session names it
  bool json = false;
};

struct Before {
  std::optional<int> exit_code;        // it was answered, and the answer is printed
  std::optional<SessionId> continues;  // it was begun there
};

/// Whether the command was given before, and what became of it.
Result<Before> answered_before(Context& context, journal::Journal& journal,
                               const Repeatable& command) {
  auto known = journal.find_request("run", command.request_id);
  if (!known) return fail(std::move(known.error()));
  if (!*known) return Before{};
  const auto& record = **known;
  const std::string session = record.session.str();
  if (command.session && *command.session != session) {
    return fail(ErrorCode::conflict,
                fmt::format("request id '{}' was used in session {}, not in {}; leave --session "
                            "out, or use a new id",
                            command.request_id, session, *command.session));
  }
  if (record.content != command.content) {
    return fail(ErrorCode::conflict,
                fmt::format("request id '{}' was used for another prompt, in session {}; use a new "
                            "id for a new prompt",
                            command.request_id, session));
  }
  auto answer = engine::recorded_answer(journal, record.session, record.version);
  if (!answer) return fail(std::move(answer.error()));
  if (answer->completed) {
    if (command.json) {
      JsonWriter writer;
      writer.begin_object().member("session", session);
      writer.member("outcome", "completed").member("answer", answer->text);
      context.out << writer.end_object().text() << '\n';
    } else {
      tell_answer(context, answer->text);
    }
    return Before{kExitOk, {}};
  }
  if (!answer->last_turn) {
    return fail(ErrorCode::conflict,
                fmt::format("the turn of request id '{}' did not complete, and session {} has gone "
                            "on with other work; use a new request id",
                            command.request_id, session));
  }
  return Before{{}, record.session};
}

/// The first answer needs no model, no key and no writer: only a journal to read it from.
Result<Before> look_before(Context& context, const std::string& folder, const Repeatable& command) {
  auto journal = context.open_journal(folder, journal::OpenMode::read_only);
  if (!journal && journal.error().code == ErrorCode::not_found) return Before{};
  if (!journal) return fail(std::move(journal.error()));
  return answered_before(context, **journal, command);
}

/// The model of the session's last turn; "" when there is none.
Result<std::string> last_model(const Context& context, const std::string& folder,
                               const SessionId& session) {
  auto journal = context.open_journal(folder, journal::OpenMode::read_only);
  if (!journal && journal.error().code == ErrorCode::not_found) return std::string();
  if (!journal) return fail(std::move(journal.error()));
  auto state = engine::load_state(**journal, session);
  if (!state) return fail(std::move(state.error()));
  DAYBOOK_TRY(check_continuable(*state));
  if (state->turn->model.empty()) return std::string();
  return state->turn->provider + ":" + state->turn->model;
}

Result<void> check_continues(const Context& context, const SessionRun& run,
                             const Arguments& arguments) {
  const auto& state = run.turn.state;
  if (state.version == 0) return {};
  DAYBOOK_TRY(check_continuable(state));
  DAYBOOK_TRY(check_workspace(context, state));
  if (run.turn.prompt && state.turn->open) {
    return fail(ErrorCode::conflict,
                fmt::format("session {0} has an unfinished turn; finish it first with: daybook "
                            "resume {0}",
                            state.session));
  }
  const auto agent = arguments.text("--agent");
  if (agent && *agent != state.agent) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("session {} belongs to agent '{}'; leave --agent out or start a new "
                            "session",
                            state.session, state.agent));
  }
  return {};
}

Result<void> set_policy(const Context& context, const Arguments& arguments, SessionRun& run,
                        const std::string& workspace) {
  const auto& recorded = *run.turn.state.policy;
  std::vector<executor::Root> roots = {{workspace, true}};
  if (recorded.generation > 0) {
    roots.clear();
    for (const auto& root : recorded.roots) roots.push_back({root->path, root->writable});
    if (arguments.text("--workspace") && roots.front().path != workspace) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("session {} works in '{}'; leave --workspace out or start a new "
                              "session",
                              run.turn.state.session, roots.front().path));
    }
  }
  const std::string spill = spill_folder_of(run.journal_folder, run.turn.session);
  std::erase_if(roots, [](const auto& root) { return !root.writable; });
  auto all = writable_roots(context, arguments, std::move(roots));
  if (!all) return fail(std::move(all.error()));
  DAYBOOK_TRY(keep_apart(*all, run.journal_folder));
  // A journal below a writable folder is a root of its own, which file tools may not change.
  const bool within = std::any_of(all->begin(), all->end(), [&](const auto& root) {
    return is_inside(run.journal_folder, root.path);
  });
  if (within) all->push_back({std::filesystem::canonical(run.journal_folder).string(), false});
  all->push_back({spill, false});
  run.turn.policy.roots = std::move(*all);
  const bool keep = recorded.generation > 0 && !arguments.text("--approval-mode");
  run.turn.policy.mode = keep ? recorded.mode : run.config.approval_mode;
  return {};
}

Result<engine::Config> config_of(Context& context, const Arguments& arguments,
                                 const std::string& workspace) {
  auto flags = config_flags(arguments);
  if (!flags) return fail(std::move(flags.error()));
  flags->agent = arguments.text("--agent");
  return engine::load_config({context.environment, workspace, *flags});
}

/// What is asked for, before the journal is opened for it. `config` must outlive the run, and gets
/// the session's last model when none is named.
Result<SessionRun> run_of(Context& context, const Arguments& arguments, const std::string& folder,
                          const std::string& workspace, engine::Config& config) {
  auto agent = engine::find_agent(config, config.agent);
  if (!agent) return fail(std::move(agent.error()));
  auto session = arguments.text("--session") ? SessionId::parse(*arguments.text("--session"))
                                             : new_session_name();
  if (!session) return fail(std::move(session.error()));
  if (config.model.empty() && arguments.text("--session")) {
    auto last = last_model(context, folder, *session);
    if (!last) return fail(std::move(last.error()));
    config.model = std::move(*last);
  }
  auto model = engine::resolve_model(config, config.model, context.environment);
  if (!model) return fail(std::move(model.error()));
  if (model->provider.kind == "script") {
    // Recorded, and played again from wherever the session is resumed.
    model->model = std::filesystem::weakly_canonical(std::filesystem::path(context.current_folder) /
                                                     model->model);
    if (auto readable = engine::load_scenario(model->model); !readable) {
      return fail(std::move(readable.error()));
    }
  }
  auto wanted = writable_roots(context, arguments, {{workspace, true}});
  if (!wanted) return fail(std::move(wanted.error()));
  DAYBOOK_TRY(keep_apart(*wanted, folder));
  SessionRun made{folder,
                  config,
                  *model,
                  engine::TurnRequest(*session),
                  *agent,
                  config.turn_timeout_ms,
                  arguments.flag("--json")};
  made.turn.owner = context.owner;
  made.turn.max_iterations = config.max_iterations;
  return made;
}

Result<int> run(Context& context, const Arguments& arguments) {
  std::optional<Repeatable> command;
  if (const auto id = arguments.text("--request-id")) {
    DAYBOOK_TRY(check_request_id(*id));
    command = Repeatable{*id, {}, arguments.text("--session"), arguments.flag("--json")};
  }
  auto prompt = checked_prompt(context, arguments);
  if (!prompt) return fail(std::move(prompt.error()));
  auto folder = journal_folder(context, arguments);
  if (!folder) return fail(std::move(folder.error()));
  if (command) {
    command->content = Digest::of(*prompt);
    auto before = look_before(context, *folder, *command);
    if (!before) return fail(std::move(before.error()));
    if (before->exit_code) return *before->exit_code;
  }
  auto workspace =
      existing_folder(context, arguments.text("--workspace").value_or("."), "the workspace");
  if (!workspace) return fail(std::move(workspace.error()));
  auto config = config_of(context, arguments, *workspace);
  if (!config) return fail(std::move(config.error()));
  auto run = run_of(context, arguments, *folder, *workspace, *config);
  if (!run) return fail(std::move(run.error()));
  run->turn.prompt = *prompt;
  run->turn.request_content = Digest::of(*prompt);

  auto journal = context.open_journal(*folder, journal::OpenMode::create);
  if (!journal) return fail(std::move(journal.error()));
  if (command) {
    run->turn.request_id = command->request_id;
    // Again: another process may have answered it before this one was the writer.
    auto before = answered_before(context, **journal, *command);
    if (!before) return fail(std::move(before.error()));
    if (before->exit_code) return *before->exit_code;
    if (before->continues) {
      run->turn.session = *before->continues;
      run->turn.reason = schema::OwnReason::resume;
      run->turn.prompt.reset();
    }
  }
  auto state = engine::load_state(**journal, run->turn.session);
  if (!state) return fail(std::move(state.error()));
  run->turn.state = std::move(*state);
  DAYBOOK_TRY(check_continues(context, *run, arguments));
  if (run->turn.state.version > 0) {
    auto recorded = engine::find_agent(*config, run->turn.state.agent);
    if (!recorded) return fail(std::move(recorded.error()));
    run->agent = *recorded;
  }
  DAYBOOK_TRY(set_policy(context, arguments, *run, *workspace));
  run->announce = !run->json;
  return run_session(context, **journal, std::move(*run));
}

}  // namespace

Command run_command() {
  Command command{
      "run",
      "Run one turn of an agent session",
      {{"PROMPT", "what the agent should do", false}},
      {
          {"--prompt", ValueKind::text, "TEXT", "the same, as an option"},
          {"--prompt-file", ValueKind::text, "FILE", "read the prompt from a file"},
          {"--agent", ValueKind::text, "NAME", "agent profile (default cowork)"},
          {"--workspace", ValueKind::text, "DIR", "folder to work in (default: this one)"},
          {"--add-dir", ValueKind::list, "DIR", "further folder the agent may change"},
          {"--session", ValueKind::text, "NAME", "go on with this session, or name a new one"},
          {"--request-id", ValueKind::text, "ID",
           "make the command repeatable: a known id gives the first answer"},
      },
      run,
      true};
  for (auto& option : turn_options()) command.options.push_back(std::move(option));
  return command;
}

}  // namespace daybook::tools
