// What the engine adds to a model request: the time from a model's answer until it is durable, and
// from there to the next request handed to the model. The model answers at once and calls a tool
// that does not exist; recording its refusal is left out. Beside it, what cannot be saved: one copy
// of the body, and a sync for the intent and one for the answer.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <ctime>
#include <optional>

#include "engine/asio_clock.h"
#include "engine/driver.h"
#include "engine/load.h"
#include "journal/rocks_journal.h"
#include "tests/bench/bench.h"
#include "tests/bench/session_maker.h"
#include "tests/support/journal_events.h"
#include "tests/support/temp_dir.h"

namespace daybook::bench {
namespace {

constexpr std::size_t kMessageBytes = 2048;
constexpr std::uint32_t kRequests = 41;
constexpr int kAppends = 2;
constexpr double kTargetMs = 2;

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

/// Runs while neither model nor tool is at work.
class Stopwatch {
 public:
  void start() {
    wall_ = now_ms();
    cpu_ = cpu_ms();
  }
  void stop() {
    wall_sum_ += now_ms() - wall_;
    cpu_sum_ += cpu_ms() - cpu_;
  }
  void lap() {
    walls.push_back(std::exchange(wall_sum_, 0));
    cpus.push_back(std::exchange(cpu_sum_, 0));
  }

  std::vector<double> walls;
  std::vector<double> cpus;

 private:
  double wall_ = 0;
  double cpu_ = 0;
  double wall_sum_ = 0;
  double cpu_sum_ = 0;
};

/// Tells where an answer and where a refusal is durable.
class Watcher : public engine::Observer {
 public:
  explicit Watcher(Stopwatch& watch) : watch_(watch) {}
  void on_event(const schema::Event& event, std::span<const std::byte>) override {
    if (event.payload_type() == schema::Payload::ModelResponded) watch_.stop();
    if (event.payload_type() == schema::Payload::ToolDecided) watch_.start();
  }
  void on_delta(const engine::Delta&) override {}
  void on_output(std::string_view, std::string_view) override {}

 private:
  Stopwatch& watch_;
};

/// Answers at once.
class InstantModel : public engine::Model {
 public:
  explicit InstantModel(Stopwatch& watch) : watch_(watch) {}

  void call(engine::ModelCall call, engine::DeltaSink,
            std::function<void(engine::ModelOutcome)> done) override {
    watch_.stop();
    watch_.lap();
    ++requests_;
    if (requests_ == kRequests) body = *call.body;
    call.body.reset();
    engine::ModelOutcome outcome{reply(), {}, 0, 0, 0};
    watch_.start();
    done(std::move(outcome));
  }
  void cancel() override {}

  std::string body;  // of the last request

 private:
  engine::Reply reply() {
    engine::Reply reply;
    reply.blocks.emplace_back().text = words_.text(kMessageBytes);
    if (requests_ >= kRequests) return reply;
    reply.stop = schema::StopReason::tool_calls;
    auto& call = reply.blocks.emplace_back();
    call.kind = schema::BlockKind::tool_call;
    call.provider_call_id = fmt::format("toolu_{}", requests_);
    call.tool = "no_such_tool";
    call.text = "{}";
    return reply;
  }

  Stopwatch& watch_;
  Words words_;
  std::uint32_t requests_ = 0;
};

class NoTools : public executor::Executor {
 public:
  std::span<const executor::ToolSpec> tools() const override { return {}; }
  Result<executor::Plan> plan(const executor::ToolRequest&) override { return executor::Plan{}; }
  executor::Outcome run(const executor::ToolRequest&, const executor::Plan&,
                        const executor::OutputSink&, std::stop_token) override {
    return {};
  }
  executor::Settlement settle(const executor::ToolRequest&, const executor::Plan&) override {
    return executor::Settlement::conflict;
  }
  void close() override {}
};

class Nobody : public engine::Approver {
 public:
  void ask(const engine::Question&, std::function<void(engine::Answer)> done) override { done({}); }
  void cancel() override {}
};

struct Measured {
  double first_ms = 0;  // of a process: from the start of the turn to its first request
  double wall_ms = 0;
  double cpu_ms = 0;
  double copy_ms = 0;
  std::size_t body_bytes = 0;
};

engine::TurnRequest turn_of(engine::SessionState state) {
  engine::TurnRequest turn(tests::session_id("turns"));
  turn.state = std::move(state);
  turn.prompt = "go on";
  turn.owner = "bench";
  turn.model.provider = "anthropic";
  turn.model.codec = engine::find_codec("anthropic");
  turn.model.model = turn.model.params.model = "claude-sonnet-4-5";
  turn.agent = {"bench", "Be good.", {}};
  turn.policy = {schema::ApprovalMode::bypass_approvals, {{"/work", true}}};
  turn.max_iterations = 2 * kRequests;
  turn.limits.compaction.enabled = false;  // the point is a history that only grows
  return turn;
}

Measured run_turn(const std::string& folder) {
  boost::asio::io_context io;
  const auto post = [&io](std::function<void()> work) { boost::asio::post(io, std::move(work)); };
  auto journal = journal::open_rocks_journal({folder, journal::OpenMode::write, "bench", post, {}});
  DAYBOOK_CHECK(journal.has_value());
  auto state = engine::load_state(**journal, tests::session_id("turns"));
  DAYBOOK_CHECK(state.has_value());
  const auto clock = engine::make_asio_clock(io);
  Stopwatch watch;
  Watcher watcher(watch);
  InstantModel model(watch);
  NoTools tools;
  Nobody nobody;
  engine::Driver driver(io,
                        {**journal, tools, model, *clock, nobody, watcher,
                         [](std::function<void()> work) { work(); }},
                        turn_of(std::move(*state)));
  const auto guard = boost::asio::make_work_guard(io);
  std::optional<Result<engine::TurnReport>> report;
  watch.start();
  driver.start([&](Result<engine::TurnReport> done) {
    report = std::move(done);
    io.stop();
  });
  io.run();
  DAYBOOK_CHECK(report && *report && (*report)->kind == engine::TurnReport::Kind::completed);
  std::vector<double> copies;
  for (std::uint32_t i = 0; i < kRequests; ++i) {
    copies.push_back(time_ms([&] {
      const std::string copy = model.body;
      DAYBOOK_CHECK(copy.back() == '}');
    }));
  }
  const double first = watch.walls.front();
  watch.walls.erase(watch.walls.begin());
  watch.cpus.erase(watch.cpus.begin());
  return {first, median(watch.walls), median(watch.cpus), median(copies), model.body.size()};
}

Measured at_messages(std::size_t messages) {
  const tests::TempDir dir;
  {
    auto journal =
        journal::open_rocks_journal({dir.str("j"), journal::OpenMode::create, "bench", {}, {}});
    DAYBOOK_CHECK(journal.has_value());
    SessionMaker maker(**journal, "turns");
    for (std::size_t i = 0; i < messages / 2; ++i) maker.chat(kMessageBytes);
    maker.finish();
  }
  const Measured measured = run_turn(dir.str("j"));
  DAYBOOK_CHECK(measured.body_bytes > messages * kMessageBytes);
  return measured;
}

/// One sync of about what an append writes, into a file that has its blocks already.
double sync_ms() {
  const tests::TempDir dir;
  const int fd = open(dir.str("raw").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  DAYBOOK_CHECK(fd >= 0);
  const std::string zeros(4 << 20, '\0');
  DAYBOOK_CHECK(write(fd, zeros.data(), zeros.size()) == static_cast<ssize_t>(zeros.size()));
  DAYBOOK_CHECK(fsync(fd) == 0);
  const std::string bytes(kMessageBytes + 1024, 'x');
  std::vector<double> times;
  for (off_t i = 0; i < 201; ++i) {
    times.push_back(time_ms([&] {
      DAYBOOK_CHECK(pwrite(fd, bytes.data(), bytes.size(), i * 4096) ==
                    static_cast<ssize_t>(bytes.size()));
      DAYBOOK_CHECK(fdatasync(fd) == 0);
    }));
  }
  close(fd);
  return median(times);
}

}  // namespace

int turn_overhead_bench() {
  fmt::print(
      "turn-overhead: what a model request costs besides the model, with messages of {} bytes, "
      "median of {}; {} durable appends each\n",
      kMessageBytes, kRequests - 1, kAppends);
  fmt::print("  {:>8} {:>9} {:>9} {:>9} {:>12} {:>16} {:>15}\n", "messages", "body MiB", "wall ms",
             "CPU ms", "body copy ms", "raw syncs ms", "first call ms");
  Measured at_1000;
  std::vector<Measured> all;
  for (const std::size_t messages : {100UL, 300UL, 1000UL, 3000UL}) {
    const Measured m = at_messages(messages);
    fmt::print("  {:>8} {:>9.2f} {:>9.2f} {:>9.2f} {:>12.2f} {:>16.2f} {:>15.2f}\n", messages,
               static_cast<double>(m.body_bytes) / (1 << 20), m.wall_ms, m.cpu_ms, m.copy_ms,
               kAppends * sync_ms(), m.first_ms);
    if (messages == 1000) at_1000 = m;
    all.push_back(m);
  }
  const double growth =
      (all.back().cpu_ms - all.front().cpu_ms) / (all.back().copy_ms - all.front().copy_ms);
  return report("  at 1,000 messages", at_1000.wall_ms, kTargetMs, "ms a request") +
         report("  growth of the CPU time", growth, 1, "copies of the body");
}

}  // namespace daybook::bench
