#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "executor/supervisor_tree.h"
#include "tests/support/commands.h"

namespace daybook::tests {

int count_marked(const std::string& marker) {
  int count = 0;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    // A process that ends meanwhile makes the read fail; unlike an iterator, this does not throw.
    std::ostringstream bytes;
    bytes << std::ifstream(entry.path() / "cmdline", std::ios::binary).rdbuf();
    const std::string line = bytes.str();
    const char state = executor::tree::state_of(static_cast<pid_t>(std::stoi(name)));
    const bool lives = state != 0 && state != 'Z' && state != 'X';
    if (lives && line.find('\0' + marker + '\0') != std::string::npos) ++count;
  }
  return count;
}

std::string unique_marker() {
  static std::atomic<int> next{1};
  // As seconds for sleep: long enough never to end by itself, and different in every process.
  return std::to_string(1'000'000 + ::getpid()) + "." + std::to_string(next++);
}

}  // namespace daybook::tests
