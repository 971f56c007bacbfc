// The session that the crash tests interrupt: every kind of tool, approvals asked on a terminal,
// and commands whose effect shows as one line each in effects.log.
#pragma once

#include <string>

#include "tests/crash/bench.h"

namespace daybook::tests {

class Story {
 public:
  /// Runs it once without a crash.
  Story();

  Bench& bench() { return bench_; }
  const SessionView& whole() const { return whole_; }

  /// A fresh session, up to its death. `inside` names a place in a command, such as
  /// "after-beta"; "" none.
  ChildExit crash(const std::string& kill_point, const std::string& inside = "");

  /// A command on a terminal, questions answered.
  ChildExit drive(const std::vector<std::string>& arguments, const std::string& kill_point = "");

  /// Goes on in new processes until the session is done, saying the truth about calls whose
  /// outcome is unknown; for one without effect, `absent` ("not-applied" or "retry").
  void finish(const std::string& absent);
  /// Says it once, as `finish` does; exit code.
  int reconcile(const std::string& call, const std::string& absent);

  /// The line of effects.log that a call writes; "" for calls that are no command.
  static std::string effect_of(const std::string& call);
  int times_in_log(const std::string& effect) const;

  /// After a death: what the session must look like, whatever the moment was.
  void check_crashed(const SessionView& crashed);
  /// After `finish`: against the run without a crash.
  void check_finished(const SessionView& crashed) { check_end(crashed, true); }
  /// `last_death`: nothing but that one death cut a call.
  void check_end(const SessionView& crashed, bool last_death);

  /// No command of the session still runs.
  bool nothing_runs() const;

  std::vector<std::string> run_arguments() const;

 private:
  void check_requests(const SessionView& view) const;
  void check_tree(const SessionView& view) const;
  void prepare();

  Bench bench_;
  std::string marker_;
  SessionView whole_;
};

}  // namespace daybook::tests
