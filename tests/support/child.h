// A program as a child process, on a terminal of its own if need be.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace daybook::tests {

struct ChildSpec {
  std::vector<std::string> argv;         // argv[0] is a path
  std::vector<std::string> environment;  // NAME=value; all of it
  std::string folder;
  bool terminal = false;  // a new pseudo-terminal as controlling terminal; without it none
};

struct ChildExit {
  int code = -1;   // -1: a signal ended it
  int signal = 0;  // that signal
  std::string out;
  std::string err;
  std::string terminal;  // what appeared there
};

/// Standard output and error go to memory, standard input is empty. A child that does not end
/// within a minute, and one whose Child goes, is killed.
class Child {
 public:
  explicit Child(const ChildSpec& spec);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  void type(const std::string& keys) const;
  /// Reads the terminal until it has shown `text`; false when the child ended before.
  bool shows(const std::string& text);

  /// What to type when the terminal shows a prompt, given what appeared since the last one.
  using Reply = std::function<std::string(const std::string& shown)>;
  ChildExit wait(const Reply& reply = {});

 private:
  bool pump(int timeout_ms);

  pid_t pid_ = -1;
  int exited_ = -1;    // readable when the process has ended
  int terminal_ = -1;  // the master's side
  int other_side_ = -1;
  int out_ = -1;
  int err_ = -1;
  bool reaped_ = false;
  std::string shown_;
};

}  // namespace daybook::tests
