// A session that was compacted a hundred times, against itself after the first time; and the report
// of a replay of 10,000 summaries, against folding its events alone.
#include <fmt/format.h>

#include "replay/recorded_compaction.h"
#include "replay/replay_report.h"
#include "tests/bench/bench.h"
#include "tests/engine/stage.h"

namespace daybook::bench {
namespace {

using engine::Stage;

constexpr int kCompactions = 100;
constexpr int kRounds = 51;
constexpr double kMostGrowth = 1.5;
constexpr std::uint32_t kCases = 20;
constexpr std::uint32_t kArms = 5;
constexpr std::uint32_t kReplicates = 100;
constexpr double kReportMs = 2'000;

std::string summary() {
  std::string text;
  for (const auto heading : engine::kSummaryHeadings) {
    text += fmt::format("{}\nThe numbered pieces are read one after the other, as asked for.\n\n",
                        heading);
  }
  return text;
}

/// Plays until there were more compactions than are looked at.
void play(Stage& stage) {
  stage.limits.compaction.window = 8'000;
  stage.limits.compaction.reply = 1'000;
  stage.max_iterations = 10'000;
  stage.executor.on_run = [](const auto& request, std::stop_token) {
    std::string text;
    while (text.size() < 5'000) text += "a line of " + request.call_id + " with port 8080\n";
    return text;
  };
  std::string scenario;
  for (int i = 0; i < 6 * kCompactions; ++i) scenario += engine::calls("read_file", 1);
  scenario += engine::kDone;
  for (int i = 0; i < 3 * kCompactions; ++i) {
    scenario += fmt::format("[[summary]]\ntext = '''\n{}'''\n", summary());
  }
  const auto report = stage.play(scenario, "Read all the pieces one after the other.");
  DAYBOOK_CHECK(report && report->answer == "done");
}

/// Median time to build the request that follows compaction `number`.
double build_ms(Stage& stage, std::uint32_t number) {
  engine::MemoryJournal journal(stage.store);
  std::uint64_t version = 0;
  DAYBOOK_CHECK(journal.read(stage.session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    const auto* e = entry.event->payload_as_CompactionCommitted();
    if (e != nullptr && e->number() == number) version = entry.version;
    return version == 0;
  }));
  DAYBOOK_CHECK(version != 0);
  const auto state = engine::load_state_at(journal, stage.session, version);
  DAYBOOK_CHECK(state.has_value());
  engine::ModelChoice choice;
  choice.codec = &engine::script_codec();
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    engine::RequestBuilder builder(journal);
    times.push_back(time_ms([&] {
      static_cast<void>(engine::due_compaction(*state, stage.limits.compaction));
      DAYBOOK_CHECK(builder.build(*state, choice, {}).has_value());
    }));
  }
  return median(times);
}

/// A replay in which every summary is there already.
void write_replay(journal::Journal& journal, const SessionId& session,
                  const std::vector<replay::RecordedCompaction>& cases) {
  journal::SessionWriter pen(session, {}, [tick = std::int64_t{0}]() mutable {
    ++tick;
    return journal::Stamp{tick, static_cast<std::uint64_t>(tick), 1};
  });
  journal::Batch batch;
  schema::OwnerAcquiredT owner;
  owner.owner = "bench";
  batch.add(draft(std::move(owner)));
  schema::ReplayStartedT started;
  for (std::uint32_t arm = 0; arm < kArms; ++arm) {
    auto& to = started.arms.emplace_back(std::make_unique<schema::ReplayArmT>());
    to->name = fmt::format("arm-{}", arm);
    to->mechanical = true;
  }
  for (std::uint32_t i = 0; i < kCases; ++i) {
    auto& to = started.cases.emplace_back(std::make_unique<schema::ReplayCaseT>());
    to->session = cases.at(i).session.str();
    to->version = cases.at(i).version;
  }
  started.replicates = kReplicates;
  batch.add(draft(std::move(started)));
  DAYBOOK_CHECK(journal::append_and_wait(journal, pen.acquire(std::move(batch))));
  for (std::uint32_t item = 0; item < kCases; ++item) {
    journal::Batch more;
    for (std::uint32_t n = 0; n < kArms * kReplicates; ++n) {
      schema::ReplayAttemptedT attempt;
      attempt.arm = n % kArms;
      attempt.item = item;
      attempt.replicate = n / kArms + 1;
      attempt.attempt = 1;
      attempt.last = true;
      attempt.gate_version = engine::kGateVersion;
      attempt.verdict = n % 7 == 0 ? schema::GateVerdict::unusable : schema::GateVerdict::usable;
      attempt.summary = more.content(summary() + fmt::format("Attempt {}.\n", n));
      more.add(draft(std::move(attempt)));
    }
    DAYBOOK_CHECK(journal::append_and_wait(journal, pen.next(std::move(more))));
  }
}

int report_bench(Stage& stage) {
  engine::MemoryJournal journal(stage.store);
  const auto cases = replay::recorded_compactions(journal, stage.session);
  DAYBOOK_CHECK(cases && cases->size() >= kCases);
  const auto session = *SessionId::parse("replay");
  write_replay(journal, session, *cases);
  const auto prices = replay::PriceBook::shipped();
  const double fold =
      time_ms([&] { DAYBOOK_CHECK(replay::load_replay(journal, session).has_value()); });
  double whole = 0;
  std::size_t done = 0;
  whole = time_ms([&] {
    const auto report = replay::make_report(journal, session, prices);
    DAYBOOK_CHECK(report.has_value());
    done = report->done;
  });
  fmt::print(
      "report: {} summaries of {} compactions, {:.0f} ms, {:.1f} times folding them ({:.0f} "
      "ms)\n",
      done, kCases, whole, whole / fold, fold);
  return report("report on 10,000 summaries", whole, kReportMs, "ms");
}

}  // namespace

int compaction_bench() {
  Stage stage;
  play(stage);
  const double first = build_ms(stage, 1);
  const double late = build_ms(stage, kCompactions);
  fmt::print("request after compaction 1: {:.3f} ms, after compaction {}: {:.3f} ms\n", first,
             kCompactions, late);
  const int failed = report("growth of the time to build a request over 100 compactions",
                            late / first, kMostGrowth, "times");
  return failed + report_bench(stage);
}

}  // namespace daybook::bench
