// A compaction on real processes: killed at every append around it, resumed, and what is sent next
// is what an uncrashed run sends.
#include <fmt/format.h>
#include <signal.h>

#include <catch2/catch.hpp>

#include "engine/summary_gate.h"
#include "tests/crash/bench.h"

namespace daybook::tests {
namespace {

constexpr int kReads = 5;

std::string summary() {
  std::string text;
  for (const auto heading : engine::kSummaryHeadings) {
    text +=
        fmt::format("{}\nThe numbered files were read one after the other, as asked.\n\n", heading);
  }
  return fmt::format("[[summary]]\ntext = '''\n{}'''\n", text);
}

/// Reads files until the context is too long; the first summary is refused.
std::string scenario() {
  std::string toml;
  for (int i = 1; i <= kReads; ++i) {
    toml += fmt::format(
        "[[response]]\n[[response.call]]\ntool = 'read_file'\narguments = {{ path = '{}.txt' }}\n",
        i);
  }
  toml += "[[response]]\ntext = 'All are read.'\n";
  toml += "[[summary]]\ntext = 'Now I will read the next file.'\n";
  for (int i = 0; i < 3; ++i) toml += summary();
  return toml;
}

std::string bytes_of_file(int number) {
  std::string text;
  while (text.size() < 6'000) text += fmt::format("line {} of file {}\n", text.size(), number);
  return text;
}

}  // namespace

TEST_CASE("killed at every append of a compaction, a session goes on as if nothing had happened") {
  Bench bench;
  bench.more_environment = {"DAYBOOK_COMPACTION_CAP_TOKENS=6000"};
  bench.put_scenario(scenario());
  const auto prepare = [&] {
    bench.reset();
    for (int i = 1; i <= kReads; ++i) bench.put(fmt::format("{}.txt", i), bytes_of_file(i));
  };
  const auto arguments = bench.run_arguments({"--approval-mode", "bypass-approvals"});
  prepare();
  const ChildExit whole_exit = bench.run(arguments);
  INFO(whole_exit.err);
  REQUIRE(whole_exit.code == 0);
  CHECK(whole_exit.err.find("compaction 1: summary 1 was not accepted") != std::string::npos);
  CHECK(whole_exit.err.find("tokens became about") != std::string::npos);
  const SessionView whole = bench.view();
  CHECK(whole.faults.empty());
  const std::string last = whole.requests.back().body;
  CHECK(last.find("This message stands for the older part") != std::string::npos);

  int point = 1;
  for (bool died = true; died; ++point) {
    for (const auto* when : {"before", "after"}) {
      const std::string kill_point = fmt::format("append:{}:{}", point, when);
      INFO(kill_point);
      prepare();
      died = bench.start(arguments, kill_point)->wait().signal == SIGKILL;
      if (!died) break;
      CHECK(bench.check({"verify"}) == 0);
      const ChildExit again = bench.run(
          bench.view().version == 0 ? arguments : std::vector<std::string>{"resume", "s"});
      INFO(again.err);
      CHECK(again.code == 0);
      const SessionView view = bench.view();
      CHECK(view.faults == std::vector<std::string>{});
      CHECK(view.requests.back().body == last);
      CHECK(bench.check({"verify"}) == 0);
      CHECK(bench.check({"replay", "session", "s"}) == 0);
    }
  }
  CHECK(point > 20);
}

}  // namespace daybook::tests
