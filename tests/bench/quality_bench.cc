// Gate, facts and scores of one compaction of 100 KB, everything counted, against two raw passes
// over the same bytes: a hash, and the scanner alone.
#include <fmt/format.h>

#include <deque>
#include <random>

#include "engine/prepared_span.h"
#include "engine/summary_gate.h"
#include "replay/summary_score.h"
#include "schema/ids.h"
#include "tests/bench/bench.h"
#include "tests/support/compaction_case.h"

namespace daybook::bench {
namespace {

constexpr std::size_t kSpanBytes = 100'000;
constexpr int kRounds = 41;
constexpr double kTargetMs = 1;  // 1,000 compactions a second

/// A span with the pieces of real ones: a hand-written compaction, and around it output of
/// builds, searches and programs, and code.
struct BigSpan {
  std::deque<std::string> texts;
  std::vector<engine::SpanItem> items;
  std::size_t bytes = 0;
};

std::string output(std::mt19937& random, std::size_t bytes) {
  static const char* const kNames[] = {"session", "buffer", "writer", "index", "cache", "policy"};
  const auto name = [&] { return kNames[random() % 6]; };
  std::string text;
  while (text.size() < bytes) {
    const auto n = random();
    switch (n % 5) {
      case 0:
        text += fmt::format("src/{}/{}_{}.cc:{}:  if ({}.size() > {}) return false;\n", name(),
                            name(), name(), n % 900, name(), n % 64);
        break;
      case 1:
        text += fmt::format("[{:3}/412] Building CXX object {}/CMakeFiles/{}.dir/{}.cc.o\n",
                            n % 412, name(), name(), name());
        break;
      case 2:
        text += fmt::format("INFO 2026-03-14 12:{:02}:{:02} {} flushed {} rows in {} ms\n", n % 60,
                            n % 59, name(), n % 5000, n % 300);
        break;
      case 3:
        text += fmt::format("  const auto {}_{} = make_{}(options, {}ULL);  // the {} of it\n",
                            name(), name(), name(), n % 100'000, name());
        break;
      default:
        text += fmt::format("the {} waits for the {} because it holds the only {}\n", name(),
                            name(), name());
    }
  }
  return text;
}

void make_span(BigSpan& span, const tests::CompactionCase& one, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::size_t left = kSpanBytes;
  for (const auto& item : one.span) left -= item.text.size();
  // Four more results behind every piece, until the span is full.
  const std::size_t per_result = left / (one.span.size() * 4) + 1;
  for (const auto& item : one.span) {
    span.items.push_back(item);
    for (int i = 0; i < 4 && left > 0; ++i) {
      const std::size_t size = std::min(left, per_result);
      const auto& command =
          span.texts.emplace_back(fmt::format("{{\"command\":\"grep -rn x{} src\"}}", left));
      const auto& text = span.texts.emplace_back(output(random, size));
      span.items.push_back({engine::SpanKind::kToolCall, command, "run_shell", true});
      span.items.push_back({engine::SpanKind::kToolResult, text, "run_shell", true});
      left -= size;
    }
  }
  for (const auto& item : span.items) span.bytes += item.text.size();
}

struct NoSink {
  std::size_t words = 0;
  void word(const engine::Word&) { ++words; }
  void chunk(const engine::Chunk&) {}
  void stop(char) {}
};

}  // namespace

int quality_bench() {
  const auto& cases = tests::compaction_cases();
  std::vector<double> whole;
  std::vector<double> gate;
  std::vector<double> prepared;
  std::vector<double> hash;
  std::vector<double> scan;
  std::size_t facts = 0;
  std::size_t bytes = 0;
  std::size_t words = 0;
  std::uint64_t digest = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto& one = *cases[static_cast<std::size_t>(round) % cases.size()];
    BigSpan big;
    make_span(big, one, static_cast<std::uint32_t>(round));
    bytes += big.bytes;
    hash.push_back(time_ms([&] {
      for (const auto& item : big.items) digest ^= xxh3_64(as_bytes(item.text));
    }));
    scan.push_back(time_ms([&] {
      NoSink sink;
      for (const auto& item : big.items) engine::scan_text(item.text, sink);
      words += sink.words;
    }));
    gate.push_back(time_ms([&] {
      const auto result = engine::judge_summary(big.items, {one.summary}, engine::kSummaryHeadings,
                                                engine::GateLimits{});
      words += result.entities;
    }));
    whole.push_back(time_ms([&] {
      const engine::PreparedSpan span(big.items);
      const auto result = engine::judge_summary(span, {one.summary}, engine::kSummaryHeadings,
                                                engine::GateLimits{});
      const auto set = replay::extract_facts(span, one.continuation, replay::FactLimits{});
      facts += set.facts.size();
      words += replay::score_text(span, set, one.summary).entities + result.entities;
    }));
    const engine::PreparedSpan span(big.items);
    const auto set = replay::extract_facts(span, one.continuation, replay::FactLimits{});
    prepared.push_back(time_ms([&] {
      words +=
          engine::judge_summary(span, {one.summary}, engine::kSummaryHeadings, engine::GateLimits{})
              .entities;
      words += replay::score_text(span, set, one.summary).entities;
    }));
  }
  const double mb = static_cast<double>(bytes) / kRounds / 1e6;
  fmt::print("quality: spans of {:.0f} KB with {} facts on average, median of {}, one core\n",
             mb * 1e3, facts / kRounds, kRounds);
  const auto row = [&](const char* what, double ms) {
    fmt::print("  {:<34} {:>7.3f} ms {:>8.0f} a second {:>8.0f} MB/s, {:.1f} times the scan\n",
               what, ms, 1e3 / ms, mb / ms * 1e3, ms / median(scan));
  };
  row("hash alone (XXH3)", median(hash));
  row("scan alone (words and chunks)", median(scan));
  row("span and gate", median(gate));
  row("another summary of the same span", median(prepared));
  row("span, gate, facts and scores", median(whole));
  // Keeps the passes from being optimised away.
  DAYBOOK_CHECK(words > 0 && digest != 0);
  return report("  a compaction of 100 KB, all of it", median(whole), kTargetMs, "ms");
}

}  // namespace daybook::bench
