// One place on disk where sessions run as processes: a journal, a workspace, a scenario. Its
// paths are the same for every session, so that requests can be compared byte by byte.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/crash/session_view.h"
#include "tests/support/child.h"

namespace daybook::tests {

class Bench {
 public:
  Bench();
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// An empty journal and workspace.
  void reset();
  /// Keeps the journal and the workspace as they are now, and brings them back.
  void save() const;
  void restore() const;

  /// Files the next session's workspace holds, and what its model says.
  void put(const std::string& name, const std::string& bytes) const;
  void put_scenario(const std::string& toml) const;
  /// A file beside the workspace.
  std::string beside(const std::string& name) const;

  std::string workspace() const { return beside("workspace"); }
  std::string journal() const { return beside("journal"); }
  std::string file(const std::string& name) const;  // "" when it does not exist
  /// Relative path and bytes of everything in the workspace.
  std::map<std::string, std::string> tree() const;

  /// The program in the workspace; CRASH_PID is its process id for the commands it runs.
  /// A kill point makes it the program that can die, see crash_main.cc.
  std::unique_ptr<Child> start(const std::vector<std::string>& arguments,
                               const std::string& kill_point = "", bool terminal = false) const;
  ChildExit run(const std::vector<std::string>& arguments) const;

  /// "run --session s --model script:... PROMPT" with more options before the prompt.
  std::vector<std::string> run_arguments(const std::vector<std::string>& more = {}) const;

  SessionView view(const std::string& session = "s") const;
  /// A command in this process: exit code.
  int check(const std::vector<std::string>& arguments) const;

  std::vector<std::string> more_environment;

 private:
  std::filesystem::path place_;
};

}  // namespace daybook::tests
