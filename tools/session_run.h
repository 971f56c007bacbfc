// What `run` and `resume` share: a world made of the real parts, one turn driven in it, and its
// outcome told.
#pragma once

#include "engine/driver.h"
#include "tools/command.h"

namespace daybook::tools {

/// Another program's session, or a replay, cannot be continued: `conflict`.
Result<void> check_continuable(const engine::SessionState& state);

struct SessionRun {
  std::string journal_folder;
  engine::Config config;
  engine::ResolvedModel model;
  engine::TurnRequest turn;  // session, state, prompt, policy, limits; the rest is filled in
  const engine::AgentProfile* agent = nullptr;
  std::uint32_t timeout_ms = 0;  // 0: none
  bool json = false;
  bool announce = false;  // say the session's name once the turn starts
};

/// Runs until the turn ends or cannot go on, and returns the exit code. The first SIGINT or
/// SIGTERM stops the turn cleanly, the second ends the process at once.
Result<int> run_session(Context& context, journal::Journal& journal, SessionRun run);

/// The model behind a choice: a scenario's, or an HTTP endpoint's.
Result<std::unique_ptr<engine::Model>> make_model(boost::asio::io_context& io, engine::Clock& clock,
                                                  const engine::ResolvedModel& model);
engine::ModelChoice choice_of(const engine::ResolvedModel& model);

/// Who decides at this terminal: "person:root".
std::string actor_name(const Context& context);

/// Folder that holds the cut tool results of a session.
std::string spill_folder_of(const std::string& journal_folder, const SessionId& session);

/// The options that run and resume have in common, and what they mean.
std::vector<Option> turn_options();
/// Error: `invalid_argument`, a number out of its range.
Result<engine::ConfigFlags> config_flags(const Arguments& arguments);

/// The session's folder, which must be where it was.
Result<void> check_workspace(const Context& context, const engine::SessionState& state);

/// Existing folder, absolute and resolved; an error says what is wrong with it.
Result<std::string> existing_folder(const Context& context, const std::string& path,
                                    std::string_view what);

}  // namespace daybook::tools
