// A session of usual length, from its events to what comes next, against only reading and checking
// the same events.
#include <fmt/format.h>

#include "engine/load.h"
#include "engine/next.h"
#include "journal/keys.h"
#include "journal/rocks_journal.h"
#include "journal/store.h"
#include "tests/bench/bench.h"
#include "tests/bench/session_maker.h"
#include "tests/support/journal_events.h"
#include "tests/support/temp_dir.h"

namespace daybook::bench {
namespace {

constexpr int kRounds = 31;
constexpr std::uint64_t kEvents = 1500;
constexpr double kTargetMs = 10;

/// XXH3 and the FlatBuffers verifier over every stored event, straight from RocksDB.
std::uint64_t read_and_check(journal::Store& store, const SessionId& session) {
  const std::string upper = journal::after_prefix(journal::event_prefix(session));
  const rocksdb::Slice upper_slice(upper);
  const auto it = store.iterate(upper_slice, true);
  std::uint64_t events = 0;
  std::string aligned;
  for (it->Seek(journal::event_prefix(session)); it->Valid(); it->Next(), ++events) {
    const auto body = journal::unseal(it->value().ToStringView());
    DAYBOOK_CHECK(body.has_value());
    aligned.assign(*body);
    DAYBOOK_CHECK(view_event(as_bytes(aligned)).has_value());
  }
  return events;
}

std::unique_ptr<journal::Journal> open_journal(const std::string& folder, journal::OpenMode mode) {
  auto opened = journal::open_rocks_journal({folder, mode, "bench", {}, {}});
  DAYBOOK_CHECK(opened.has_value());
  return std::move(*opened);
}

}  // namespace

int fold_bench() {
  const tests::TempDir dir;
  const auto session = tests::session_id("fold");
  {
    const auto journal = open_journal(dir.str("j"), journal::OpenMode::create);
    SessionMaker maker(*journal, session.str());
    while (maker.events() < kEvents - 30) maker.work(4);
    while (maker.events() < kEvents - 1) maker.work(0);
    maker.finish();
  }
  std::vector<double> folds;
  {
    const auto journal = open_journal(dir.str("j"), journal::OpenMode::read_only);
    for (int round = 0; round < kRounds; ++round) {
      folds.push_back(time_ms([&] {
        const auto state = engine::load_state(*journal, session);
        DAYBOOK_CHECK(state.has_value());
        DAYBOOK_CHECK(std::holds_alternative<engine::step::Idle>(engine::next(*state, {}, {}, {})));
      }));
    }
  }
  std::vector<double> reads;
  std::uint64_t events = 0;
  const auto store = journal::open_store(dir.str("j/db"), rocksdb::Env::Default(),
                                         journal::StoreMode::reader, false);
  DAYBOOK_CHECK(store.has_value());
  for (int round = 0; round < kRounds; ++round) {
    reads.push_back(time_ms([&] { events = read_and_check(**store, session); }));
  }
  const double first = folds.front();
  const double fold = median(folds);
  const double read = median(reads);
  fmt::print("fold: {} events from the journal to the next step, median of {}\n", events, kRounds);
  fmt::print(
      "  fold {:.2f} ms (the first time {:.2f} ms), reading and checking alone {:.2f} ms, "
      "ratio {:.2f}\n",
      fold, first, read, fold / read);
  return report("  fold", fold, kTargetMs, "ms");
}

}  // namespace daybook::bench
