#include "executor/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "tests/support/commands.h"

using namespace daybook;
using namespace daybook::executor;
using namespace daybook::tests;

namespace {

/// Fields of /proc/PID/stat after the name: the state, the parent.
std::pair<char, pid_t> state_and_parent(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(in, line);
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  char state = 0;
  pid_t parent = 0;
  fields >> state >> parent;
  return {state, parent};
}

bool comes_to(pid_t pid, char state) {
  return eventually([&] { return state_and_parent(pid).first == state; });
}

}  // namespace

TEST_CASE("the last reports arrive when an order crosses with the end", "[process]") {
  const UniqueFd folder(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  SpawnSpec spec;
  spec.program = "/bin/sleep";
  spec.argv = {"sleep", unique_marker()};
  spec.cwd_fd = folder.get();
  auto supervisor = Supervisor::start(spec, short_ladder());
  REQUIRE(supervisor);
  // It wakes up to a target that has ended and two orders, and leaves after the first.
  const pid_t target = (*supervisor)->target();
  const pid_t itself = state_and_parent(target).second;
  ::kill(itself, SIGSTOP);
  REQUIRE(comes_to(itself, 'T'));
  ::kill(target, SIGKILL);
  REQUIRE(comes_to(target, 'Z'));
  (*supervisor)->stop();
  (*supervisor)->finish();
  ::kill(itself, SIGCONT);
  REQUIRE(comes_to(itself, 'Z'));
  std::vector<ReportKind> kinds;
  while (kinds.empty() || (kinds.back() != ReportKind::done && kinds.back() != ReportKind::lost)) {
    pollfd readable{(*supervisor)->fd(), POLLIN, 0};
    REQUIRE(::poll(&readable, 1, 20'000) == 1);
    if (const auto report = (*supervisor)->next()) kinds.push_back(report->kind);
  }
  CHECK(kinds == std::vector<ReportKind>{ReportKind::exited, ReportKind::done});
}
