// A very long session: the memory it takes to fold it whole, and the time to open it at its tail
// with a checkpoint. Every part runs in a process of its own, so that none uses another's memory.
#include <fmt/format.h>

#include "engine/load.h"
#include "engine/next.h"
#include "journal/rocks_journal.h"
#include "tests/bench/bench.h"
#include "tests/bench/child.h"
#include "tests/bench/session_maker.h"
#include "tests/support/journal_events.h"
#include "tests/support/temp_dir.h"

namespace daybook::bench {
namespace {

constexpr std::uint64_t kEvents = 300'000;
constexpr std::uint64_t kBytes = std::uint64_t{1} << 30;
constexpr std::size_t kCallsPerTurn = 12;
constexpr std::size_t kEventsAfterCheckpoint = 900;
constexpr double kTargetMib = 150;
constexpr double kTargetOpenMs = 50;
constexpr int kOpenings = 7;

std::unique_ptr<journal::Journal> open_journal(const std::string& folder, journal::OpenMode mode) {
  auto opened = journal::open_rocks_journal({folder, mode, "bench", {}, {}});
  DAYBOOK_CHECK(opened.has_value());
  return std::move(*opened);
}

struct Made {
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  double took_ms = 0;
};

Made make_session(const std::string& folder) {
  Made made;
  made.took_ms = time_ms([&] {
    const auto journal = open_journal(folder, journal::OpenMode::create);
    SessionMaker maker(*journal, "long");
    while (maker.bytes() < kBytes || maker.events() < kEvents) maker.work(kCallsPerTurn);
    maker.finish();
    made.events = maker.events();
    made.bytes = maker.bytes();
  });
  return made;
}

double fold_all(const std::string& folder) {
  return time_ms([&] {
    const auto journal = open_journal(folder, journal::OpenMode::read_only);
    const auto state = engine::load_state(*journal, tests::session_id("long"));
    DAYBOOK_CHECK(state.has_value() && state->version >= kEvents);
  });
}

/// Reads and checks every event, without folding.
double read_all(const std::string& folder) {
  return time_ms([&] {
    const auto journal = open_journal(folder, journal::OpenMode::read_only);
    std::uint64_t events = 0;
    const auto read = journal->read(tests::session_id("long"), 1, journal::ReadMode::strict,
                                    [&](const journal::Entry&) { return ++events > 0; });
    DAYBOOK_CHECK(read.has_value() && events >= kEvents);
  });
}

/// A checkpoint some way back, as a process leaves it that goes on after saving one.
std::size_t save_checkpoint(const std::string& folder) {
  const auto journal = open_journal(folder, journal::OpenMode::write);
  const auto session = tests::session_id("long");
  const auto head = journal->head(session);
  DAYBOOK_CHECK(head.has_value());
  const auto state =
      engine::load_state_at(*journal, session, head->version - kEventsAfterCheckpoint);
  DAYBOOK_CHECK(state.has_value());
  DAYBOOK_CHECK(engine::save_checkpoint_if_due(*journal, *state).has_value());
  return engine::pack_state(*state).size();
}

struct Opening {
  double open_ms = 0;
  double load_ms = 0;
};

Opening open_at_tail(const std::string& folder) {
  Opening opening;
  std::unique_ptr<journal::Journal> journal;
  opening.open_ms = time_ms([&] { journal = open_journal(folder, journal::OpenMode::write); });
  opening.load_ms = time_ms([&] {
    const auto state = engine::load_state(*journal, tests::session_id("long"));
    DAYBOOK_CHECK(state.has_value() && state->version >= kEvents);
    DAYBOOK_CHECK(std::holds_alternative<engine::step::Idle>(engine::next(*state, {}, {}, {})));
  });
  return opening;
}

}  // namespace

int long_session_bench() {
  const tests::TempDir dir;
  const std::string folder = dir.str("j");
  const auto made = in_child([&] { return make_session(folder); });
  fmt::print("long-session: {} events, {:.2f} GiB, written in {:.1f} s (peak {:.0f} MiB)\n",
             made.value.events, static_cast<double>(made.value.bytes) / (1 << 30),
             made.value.took_ms / 1000, made.peak_mib);
  const auto read = in_child([&] { return read_all(folder); });
  const auto fold = in_child([&] { return fold_all(folder); });
  fmt::print(
      "  fold {:.0f} ms, reading and checking alone {:.0f} ms, ratio {:.2f}; peak {:.0f} "
      "MiB against {:.0f} MiB\n",
      fold.value, read.value, fold.value / read.value, fold.peak_mib, read.peak_mib);
  const auto saved = in_child([&] { return save_checkpoint(folder); });
  std::vector<double> opens;
  std::vector<double> loads;
  std::vector<double> totals;
  double peak_mib = 0;
  for (int i = 0; i < kOpenings; ++i) {
    const auto opening = in_child([&] { return open_at_tail(folder); });
    opens.push_back(opening.value.open_ms);
    loads.push_back(opening.value.load_ms);
    totals.push_back(opening.value.open_ms + opening.value.load_ms);
    peak_mib = std::max(peak_mib, opening.peak_mib);
  }
  fmt::print(
      "  opened at its tail: journal {:.1f} ms, checkpoint of {:.1f} MiB and {} events "
      "{:.1f} ms; median of {}, peak {:.0f} MiB\n",
      median(opens), static_cast<double>(saved.value) / (1 << 20), kEventsAfterCheckpoint,
      median(loads), kOpenings, peak_mib);
  return report("  peak memory of the fold", fold.peak_mib, kTargetMib, "MiB") +
         report("  opened at its tail", median(totals), kTargetOpenMs, "ms");
}

}  // namespace daybook::bench
