// The promise of the journal, on real processes: killed anywhere, resumed, nothing done twice.
#include <fmt/format.h>
#include <signal.h>

#include <catch2/catch.hpp>

#include "tests/crash/story.h"

namespace daybook::tests {
namespace {

TEST_CASE("killed at every append, a session goes on as if nothing had happened") {
  Story story;
  int point = 1;
  for (bool died = true; died; ++point) {
    for (const auto* when : {"before", "after"}) {
      const std::string kill_point = fmt::format("append:{}:{}", point, when);
      INFO(kill_point);
      const ChildExit exit = story.crash(kill_point);
      died = exit.signal == SIGKILL;
      if (!died) {
        CHECK(exit.code == 0);
        break;
      }
      const SessionView crashed = story.bench().view();
      story.check_crashed(crashed);
      story.finish("retry");
      story.check_finished(crashed);
    }
  }
  CHECK(point > 45);  // appends of the session, so that the loop cannot end early unnoticed
}

TEST_CASE("killed inside a command, its outcome is unknown until a person says") {
  Story story;
  for (const auto* call : {"call-6", "call-8", "call-9", "call-12"}) {
    for (const auto* when : {"before-", "after-"}) {
      const std::string inside = when + Story::effect_of(call);
      INFO(inside);
      REQUIRE(story.crash("", inside).signal == SIGKILL);
      const SessionView crashed = story.bench().view();
      REQUIRE(crashed.calls.at(call).open_intent);
      story.check_crashed(crashed);
      story.finish("not-applied");
      story.check_finished(crashed);
      CHECK(story.bench().view().calls.at(call).lost == (inside[0] == 'b'));
    }
  }
}

TEST_CASE("killed around the commit of a file, the change settles itself") {
  Story story;
  for (int commit = 1; commit <= 4; ++commit) {
    for (const auto* when : {"before", "after"}) {
      const std::string kill_point = fmt::format("rename:{}:{}", commit, when);
      INFO(kill_point);
      REQUIRE(story.crash(kill_point).signal == SIGKILL);
      const SessionView crashed = story.bench().view();
      story.check_crashed(crashed);
      CHECK(story.drive({"resume", "s"}).code == 0);
      story.check_finished(crashed);
    }
  }
  CHECK(story.crash("rename:5:before").code == 0);
}

}  // namespace
}  // namespace daybook::tests
