// Requests that grow from one another: what they share is neither copied nor worked out again, and
// that changes no result.
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "replay/cache_complete.h"
#include "replay/cache_sim.h"

using namespace daybook;
using replay::CacheArea;
using replay::CacheCall;
using replay::CacheSegment;
using replay::GrowingList;
using replay::SegmentList;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

CacheSegment segment(int number, CacheArea area = CacheArea::messages) {
  CacheSegment made;
  made.area = area;
  made.content = made.raw = Digest::of("segment " + std::to_string(number));
  made.bytes = 100 + static_cast<std::uint64_t>(number);
  made.plain_user = number % 5 == 0;
  if (number % 3 == 1) {
    made.stripped = Digest::of("stripped " + std::to_string(number));
    made.stripped_bytes = 40;
  }
  return made;
}

CacheCall call_of(SegmentList segments, const char* provider, const char* model) {
  CacheCall call;
  call.session = "s";
  call.scope.provider = call.provider_kind = provider;
  call.scope.model = model;
  call.segments = std::move(segments);
  return call;
}

/// The same segments, sharing nothing.
SegmentList apart(const SegmentList& list) {
  return SegmentList(std::span<const CacheSegment>(list.begin(), list.end()));
}

}  // namespace

TEST_CASE("lists that grow from one another share memory, and branches do not see each other") {
  GrowingList<int> one;
  one.push_back(1);
  one.push_back(2);
  GrowingList<int> longer = one;
  longer.push_back(3);
  CHECK(longer.shares(one));
  GrowingList<int> again = one;
  again.push_back(3);  // sent again
  CHECK(again.shares(longer));
  GrowingList<int> branch = one;
  branch.push_back(4);
  CHECK_FALSE(branch.shares(longer));
  CHECK(std::vector<int>(one.begin(), one.end()) == std::vector<int>{1, 2});
  CHECK(std::vector<int>(longer.begin(), longer.end()) == std::vector<int>{1, 2, 3});
  CHECK(std::vector<int>(branch.begin(), branch.end()) == std::vector<int>{1, 2, 4});
}

TEST_CASE("what is laid out once is not laid out again, and comes out as if it were") {
  const auto& book = replay::CacheRuleBook::shipped();
  SegmentList list;
  list.push_back(segment(1000, CacheArea::tools));
  list.push_back(segment(1001, CacheArea::system));
  std::optional<replay::Prompt> last;
  for (int i = 0; i < 60; ++i) {
    list.push_back(segment(i));
    // The first strips reasoning before the last message of a person, and so changes what was.
    for (const char* model : {"claude-haiku-4-5", "claude-opus-5"}) {
      const CacheCall call = call_of(list, "anthropic", model);
      const replay::Prompt prompt = layout(call, book.rules(call), {});
      const CacheCall alone = call_of(apart(list), "anthropic", model);
      const replay::Prompt fresh = layout(alone, book.rules(alone), {});
      REQUIRE(std::ranges::equal(prompt.points, fresh.points));
      if (model != std::string("claude-opus-5")) continue;
      CHECK((!last || prompt.points.shares(last->points)));
      last = prompt;
    }
  }
}

TEST_CASE("calls of a transcript share their segments, completed ones too") {
  const auto& book = replay::CacheRuleBook::shipped();
  replay::RequestCompleter completer(book);
  SegmentList list;
  SegmentList before;
  for (int i = 0; i < 20; ++i) {
    list.push_back(segment(i));
    CacheCall call = call_of(list, "anthropic", "claude-opus-5");
    call.evidence = schema::Evidence::rebuilt;
    call.usage.input_total = 5'000 + 100 * static_cast<std::uint64_t>(i);
    completer.complete(call);
    REQUIRE(call.segments.size() == list.size() + 1);
    CHECK(call.segments.front().area == CacheArea::tools);
    CHECK(call.marks.back().segment + 1 == call.segments.size());
    CHECK((i == 0 || call.segments.shares(before)));
    before = call.segments;
  }
}

TEST_CASE("where any prefix counts, using one is using all that it begins with") {
  const auto& book = replay::CacheRuleBook::shipped();
  const CacheCall some = call_of({}, "kimi", "kimi-k3");
  const replay::CacheRules& rules = book.rules(some);
  REQUIRE(rules.lookup == replay::CacheLookup::prefix);
  const auto life = static_cast<std::int64_t>(rules.ttl_s.most) * kSecond;
  std::mt19937 random(7);
  const auto below = [&](std::uint32_t end) { return static_cast<std::int64_t>(random() % end); };
  for (int round = 0; round < 40; ++round) {
    replay::CacheStore store;
    const replay::TokenScale scale;
    // Every prefix with its own use and the moment from which it can be read, all noted each time.
    std::map<Digest, std::pair<std::int64_t, std::int64_t>> noted;
    std::vector<SegmentList> sent(1);
    std::int64_t now = 1'000 * life;
    int number = 0;
    for (int step = 0; step < 60; ++step) {
      SegmentList list = sent[random() % sent.size()];
      if (below(3) == 0) list.shorten(random() % (list.size() + 1));
      for (auto more = below(3); more > 0; --more) list.push_back(segment(++number));
      if (list.empty()) continue;
      now += below(5) == 0 ? life : 1 + below(9) * kSecond;
      const std::int64_t first_byte = now + below(20) * kSecond;
      const replay::Prompt prompt = layout(call_of(list, "kimi", "kimi-k3"), rules, {});
      const auto read = store.read(prompt, rules, {now, now}, {.ignore_minimum = true}, scale);
      std::optional<std::size_t> expected;
      for (std::size_t i = 0; i < prompt.points.size(); ++i) {
        const auto found = noted.find(prompt.points[i].cache);
        if (found == noted.end()) continue;
        if (now - found->second.first < life && found->second.second <= now) expected = i;
      }
      REQUIRE(read.point == expected);
      store.write(prompt, rules, {now, now}, first_byte, read);
      for (const auto& point : prompt.points) {
        const auto [found, fresh] = noted.try_emplace(point.cache, now, first_byte);
        auto& [used, readable] = found->second;
        readable = fresh || now - used >= life ? first_byte : std::min(readable, first_byte);
        used = now;
      }
      sent.push_back(list);
    }
  }
}
