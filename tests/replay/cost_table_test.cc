#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "replay/call_table.h"
#include "tests/replay/price_support.h"

using namespace daybook;
using namespace daybook::replay;
using namespace daybook::tests;

namespace {

std::shared_ptr<const CallSession> session(const std::string& id,
                                           schema::Relation relation = schema::Relation::none) {
  CallSession made;
  made.kind = "claude-code";
  made.id = id;
  made.relation = relation;
  return std::make_shared<const CallSession>(std::move(made));
}

Call call(std::uint64_t id, std::shared_ptr<const CallSession> in, std::uint64_t output,
          std::int64_t started_at = 100) {
  Call made;
  made.id = {1, id};
  made.session = std::move(in);
  made.requested_model = "m";
  made.usage = split(5, 0, 0, 0, output);
  made.started_at = started_at;
  return made;
}

/// Everything that a report can see of a table, whatever order it was filled in.
std::string seen(const CallTable& table) {
  std::vector<std::string> lines;
  for (const StoredCall& it : table.calls()) {
    const CallUsage usage = table.usage_of(it);
    lines.push_back(std::to_string(it.id.lo) + " " + std::to_string(it.started_at) + " " +
                    table.session_of(it).id + " " + table.names_of(it).model + " " +
                    table.tools_of(it) + " " + std::to_string(usage.output.value_or(0)) + " " +
                    std::to_string(static_cast<int>(it.authority)));
  }
  std::ranges::sort(lines);
  std::string out;
  for (const auto& line : lines) out += line + "\n";
  return out;
}

}  // namespace

TEST_CASE("of copies the one with the highest output counts, dated by the earliest") {
  CallTable table;
  table.add(call(1, session("a"), 1, 300));
  table.add(call(1, session("b"), 260, 200));
  table.add(call(1, session("c"), 20, 0));
  table.add(call(1, session("d"), 30, 100));
  table.settle();
  REQUIRE(table.size() == 1);
  CHECK(table.copies() == 3);
  const StoredCall& kept = table.calls()[0];
  CHECK(table.usage_of(kept).output == 260u);
  CHECK(table.session_of(kept).id == "b");
  CHECK(kept.started_at == 100);
}

TEST_CASE("equal outputs: exact figures, then a session of its own, then the name") {
  const auto winner = [](const Call& a, const Call& b) {
    CallTable there, back;
    there.add(a), there.add(b);
    back.add(b), back.add(a);
    there.settle(), back.settle();
    REQUIRE(seen(there) == seen(back));
    return there.session_of(there.calls()[0]).id;
  };
  Call derived = call(1, session("a"), 9);
  derived.usage.authority = schema::Authority::derived;
  CHECK(winner(derived, call(1, session("b", schema::Relation::subagent), 9)) == "b");
  CHECK(winner(call(1, session("a", schema::Relation::subagent), 9), call(1, session("b"), 9)) ==
        "b");
  CHECK(winner(call(1, session("b"), 9), call(1, session("a"), 9)) == "a");
  // An output that was not reported is less than one of zero.
  Call silent = call(1, session("a"), 0);
  silent.usage.output.reset();
  CHECK(winner(silent, call(1, session("b"), 0)) == "b");
}

TEST_CASE("equal copies stay with an original that ended before what was made of it") {
  // Call 1 is in all, call 2 in all but the fork; the fork's and the resumed one's own come later.
  std::vector<Call> calls;
  for (const char* name : {"z-original", "a-fork", "b-resumed"}) {
    calls.push_back(call(1, session(name), 9, 10));
  }
  for (const char* name : {"z-original", "b-resumed"}) {
    calls.push_back(call(2, session(name), 9, 20));
  }
  calls.push_back(call(3, session("a-fork"), 9, 30));
  calls.push_back(call(4, session("b-resumed"), 9, 40));
  const auto homes = [](const std::vector<Call>& all) {
    CallTable table;
    for (const Call& one : all) table.add(one);
    table.settle();
    std::map<std::uint64_t, std::string> found;
    for (const StoredCall& it : table.calls()) found[it.id.lo] = table.session_of(it).id;
    return found;
  };
  const std::map<std::uint64_t, std::string> expected = {
      {1, "z-original"}, {2, "z-original"}, {3, "a-fork"}, {4, "b-resumed"}};
  CHECK(homes(calls) == expected);
  std::ranges::reverse(calls);
  CHECK(homes(calls) == expected);
  // The original went on, too, but before the fork did.
  calls.push_back(call(5, session("z-original"), 9, 25));
  CHECK(homes(calls)[1] == "z-original");
}

TEST_CASE("equal copies are the original session's: it began first, or else ended first") {
  std::mt19937 random(11);
  // What resumed the original has its calls and one more, whatever the names are.
  for (const auto& [original, later] : {std::pair("a", "b"), std::pair("b", "a")}) {
    std::vector<Call> calls;
    for (std::uint64_t id = 1; id <= 3; ++id) {
      const auto at = static_cast<std::int64_t>(id * 10);
      calls.push_back(call(id, session(original), 5, at));
      calls.push_back(call(id, session(later), 5, at));
    }
    calls.push_back(call(9, session(later), 5, 90));
    // One that began later and ended sooner is no original either.
    calls.push_back(call(2, session("0"), 5, 20));
    for (int round = 0; round < 10; ++round) {
      std::ranges::shuffle(calls, random);
      CallTable table;
      for (const Call& one : calls) table.add(one);
      table.settle();
      for (const StoredCall& kept : table.calls()) {
        CHECK(table.session_of(kept).id == (kept.id.lo == 9 ? later : original));
      }
      CHECK(table.copies_in(original) == 0);
      CHECK(table.copies_in(later) == 3);
      CHECK(table.copies_in("0") == 1);
    }
  }
}

TEST_CASE("order and repetition of copies change nothing") {
  std::mt19937 random(3);
  std::vector<Call> (*make)() = [] {
    std::vector<Call> calls;
    std::mt19937 numbers(5);
    const char* names[] = {"p", "q", "r"};
    for (int i = 0; i < 400; ++i) {
      const auto relation = numbers() % 2 == 0 ? schema::Relation::none : schema::Relation::fork;
      Call one = call(numbers() % 60, session(names[numbers() % 3], relation), numbers() % 3,
                      numbers() % 5);
      one.requested_model = names[numbers() % 3];
      one.usage.authority = static_cast<schema::Authority>(numbers() % 4);
      if (numbers() % 2 == 0) one.tools_called = {"grep", names[numbers() % 3]};
      if (numbers() % 4 == 0) one.usage.output.reset();
      calls.push_back(std::move(one));
    }
    return calls;
  };
  CallTable first;
  for (const Call& one : make()) first.add(one);
  first.settle();
  for (int round = 0; round < 10; ++round) {
    std::vector<Call> calls = make();
    std::shuffle(calls.begin(), calls.end(), random);
    CallTable table;
    for (const Call& one : calls) table.add(one);
    for (const Call& one : calls) table.add(one);
    table.settle();
    CHECK(seen(table) == seen(first));
  }
}

TEST_CASE("tools of a call are a set") {
  CallTable table;
  Call one = call(1, session("a"), 1);
  one.tools_called = {"run_shell", "read_file", "run_shell"};
  table.add(one);
  table.add(call(2, session("a"), 1));
  CHECK(table.tools_of(table.calls()[0]) == "read_file+run_shell");
  CHECK(table.tools_of(table.calls()[1]).empty());
}

TEST_CASE("what was reported comes back, and what was not stays absent") {
  CallTable table;
  Call one = call(1, session("a"), 0);
  one.usage = partly_split(3, 4, 9);
  one.usage.web_searches = 2;
  one.usage.service_tier = "flex";
  one.usage.authority = schema::Authority::lower_bound;
  one.usage.output.reset();
  table.add(one);
  CHECK(table.usage_of(table.calls()[0]) == one.usage);
  one.id = {9, 9};
  one.usage.cache_read = ~std::uint64_t{0};
  table.add(one);
  CHECK_FALSE(class_counts(table.usage_of(table.calls()[1])).plausible);
}

TEST_CASE("250,000 calls take less than 40 MB") {
  CallTable table;
  const auto in = session("a");
  for (std::uint64_t i = 0; i < 250'000; ++i) {
    Call one = call(i, in, i % 100);
    one.tools_called = {"read_file"};
    table.add(one);
  }
  CHECK(table.size() == 250'000);
  CHECK(table.memory() < 40'000'000);
}
