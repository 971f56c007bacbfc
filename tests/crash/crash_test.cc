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

/// A moment to die at first, and what is left to do then.
struct FirstDeath {
  const char* kill_point;
  const char* inside;
  const char* waits;  // call that must be reconciled before anything else; "" none
};

TEST_CASE("killed again while it is resumed, a session still comes to its end") {
  Story story;
  for (const FirstDeath& first :
       {FirstDeath{"append:4:after", "", ""},   // three reads started
        FirstDeath{"rename:4:before", "", ""},  // half a patch
        FirstDeath{"", "after-delta", "call-9"}, FirstDeath{"", "before-gamma", "call-12"}}) {
    REQUIRE(story.crash(first.kill_point, first.inside).signal == SIGKILL);
    const SessionView crashed = story.bench().view();
    story.bench().save();
    bool died = true;
    int point = 1;
    for (; died && point <= 4; ++point) {
      for (const auto* when : {"before", "after"}) {
        const std::string second = fmt::format("append:{}:{}", point, when);
        INFO(first.kill_point << first.inside << ", then " << second);
        story.bench().restore();
        const ChildExit exit = story.drive({"resume", "s"}, second);
        died = exit.signal == SIGKILL;
        if (!died) {
          CHECK(exit.code == 5);
          break;
        }
        CHECK(story.nothing_runs());
        story.finish("retry");
        // What the second death cut is open in its own way: only the first one is known here.
        story.check_end(crashed, false);
      }
    }
    CHECK(died == (std::string(first.waits) == ""));
  }
}

TEST_CASE("killed while it is reconciled, a decision is recorded whole or not at all") {
  Story story;
  for (const auto* inside : {"before-beta", "after-beta"}) {
    REQUIRE(story.crash("", inside).signal == SIGKILL);
    const SessionView crashed = story.bench().view();
    story.bench().save();
    for (const bool resumed_first : {false, true}) {
      for (const auto* when : {"before", "after"}) {
        INFO(inside << ' ' << resumed_first << ' ' << when);
        story.bench().restore();
        if (resumed_first) REQUIRE(story.drive({"resume", "s"}).code == 5);
        const std::string truth = inside[0] == 'b' ? "not-applied" : "applied";
        const std::vector<std::string> command = {"reconcile", "s", "call-8", "--outcome", truth};
        const auto before = story.bench().view();
        const std::string point = fmt::format("append:1:{}", when);
        REQUIRE(story.drive(command, point).signal == SIGKILL);
        const auto after = story.bench().view();
        CHECK(after.faults.empty());
        CHECK(after.calls.at("call-8").outcomes == (when == std::string("after") ? 1 : 0));
        if (when == std::string("before")) CHECK(after.version == before.version);
        CHECK(story.bench().run(command).code == 0);
        const auto other = story.bench().run({"reconcile", "s", "call-8", "--outcome", "retry"});
        CHECK(other.code == 4);
        CHECK(other.err.find("call-8 of session s is reconciled already, as " + truth) !=
              std::string::npos);
        story.finish("not-applied");
        story.check_finished(crashed);
      }
    }
  }
}

}  // namespace
}  // namespace daybook::tests
