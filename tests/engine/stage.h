// A session played from a scenario against fakes, for tests of the driver.
#pragma once

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/driver.h"
#include "engine/load.h"
#include "engine/script_model.h"
#include "tests/support/memory_journal.h"
#include "tests/support/temp_dir.h"

namespace daybook::engine {

using tests::MemoryHooks;
using tests::MemoryJournal;
using tests::MemoryStore;

/// Time passes only when somebody waits for it.
class FakeClock : public Clock {
 public:
  std::int64_t utc_ns() override { return now_ns; }
  std::uint64_t random() override { return 0; }
  void wait_until(std::int64_t utc_ns, std::function<void()> done) override {
    if (on_wait) on_wait();
    waits_ms.push_back((utc_ns - now_ns) / 1'000'000);
    now_ns = utc_ns;
    done();
  }
  void cancel_wait() override {}
  std::int64_t now_ns = 1'000'000'000'000;
  std::vector<std::int64_t> waits_ms;
  std::function<void()> on_wait;
};

class FakeExecutor : public executor::Executor {
 public:
  FakeExecutor() {
    using executor::Risk;
    tools_ = {{"read_file", "", "{}", Risk::read, schema::Effect::read_only},
              {"run_shell", "", "{}", Risk::exec, schema::Effect::uncheckable}};
  }
  std::span<const executor::ToolSpec> tools() const override { return tools_; }
  Result<executor::Plan> plan(const executor::ToolRequest& request) override {
    if (refuse_plans) return fail(ErrorCode::invalid_argument, "no such file: " + request.call_id);
    return executor::Plan{};
  }
  executor::Outcome run(const executor::ToolRequest& request, const executor::Plan&,
                        const executor::OutputSink&, std::stop_token stop) override {
    executor::Outcome outcome;
    outcome.result = on_run ? on_run(request, stop) : "result of " + request.call_id;
    outcome.receipt.output_bytes = output_bytes;
    outcome.receipt.output_kept = output_kept;
    if (stopped) {
      outcome.receipt.exit = schema::ExitKind::user_stop;
      outcome.receipt.error = "the command was stopped";
    }
    return outcome;
  }
  executor::Settlement settle(const executor::ToolRequest&, const executor::Plan&) override {
    return executor::Settlement::conflict;
  }
  void close() override {}

  bool refuse_plans = false;
  bool stopped = false;
  std::uint64_t output_bytes = 0;
  std::uint64_t output_kept = 0;
  std::function<std::string(const executor::ToolRequest&, std::stop_token)> on_run;

 private:
  std::vector<executor::ToolSpec> tools_;
};

class FakeApprover : public Approver {
 public:
  void ask(const Question& question, std::function<void(Answer)> done) override {
    asked.push_back(question.call_id);
    done({answer, "person:ann", ""});
  }
  void cancel() override {}
  Answer::Kind answer = Answer::Kind::allow_once;
  std::vector<std::string> asked;
};

struct Names : Observer {
  void on_event(const schema::Event& event, std::span<const std::byte>) override {
    names.push_back(payload_name(event));
  }
  void on_delta(const Delta&) override {}
  void on_output(std::string_view, std::string_view) override {}
  std::vector<std::string> names;
  std::size_t count(const std::string& name) const {
    return static_cast<std::size_t>(std::count(names.begin(), names.end(), name));
  }
};

/// A session played from a scenario against fakes; the journal lasts over several turns.
struct Stage {
  tests::TempDir spill;
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  MemoryHooks hooks;
  FakeClock clock;
  FakeExecutor executor;
  FakeApprover approver;
  Names observer;
  Approver* attending = nullptr;  // in place of the fake one
  std::string spill_folder;       // in place of the folder `spill`
  SessionId session = *SessionId::parse("stage");
  schema::ApprovalMode mode = schema::ApprovalMode::bypass_approvals;
  const Codec* codec = &script_codec();
  Limits limits;
  std::uint32_t max_iterations = 10;
  // While a turn plays.
  boost::asio::io_context* io = nullptr;
  Driver* driver = nullptr;

  Result<SessionState> state() {
    MemoryJournal journal(store);
    return load_state(journal, session);
  }

  Result<TurnReport> play(const std::string& scenario, std::optional<std::string> prompt) {
    boost::asio::io_context context;
    MemoryJournal journal(store, hooks);
    auto parsed = parse_scenario(scenario, "test.toml");
    if (!parsed) return fail(std::move(parsed.error()));
    const auto model = make_script_model(std::move(*parsed), clock);
    TurnRequest turn(session);
    turn.state = *load_state(journal, session);
    turn.prompt = std::move(prompt);
    turn.model.provider = "script";
    turn.model.model = "m";
    turn.model.codec = codec;
    turn.agent = {"a", "Be good.", {"read_file", "run_shell"}};
    turn.policy = {mode, {{"/work", true}}};
    turn.max_iterations = max_iterations;
    turn.limits = limits;
    turn.spill_folder = spill_folder.empty() ? spill.str() : spill_folder;
    boost::asio::thread_pool pool(4);
    Driver each(context,
                {journal, executor, *model, clock,
                 attending == nullptr ? static_cast<Approver&>(approver) : *attending, observer,
                 [&pool](std::function<void()> work) { boost::asio::post(pool, work); }},
                std::move(turn));
    const auto guard = boost::asio::make_work_guard(context);
    std::optional<Result<TurnReport>> report;
    io = &context;
    driver = &each;
    each.start([&](Result<TurnReport> done) {
      report = std::move(done);
      context.stop();
    });
    context.run();
    pool.join();
    return std::move(*report);
  }
};

inline std::string calls(const std::string& tool, int count) {
  std::string toml = "[[response]]\n";
  for (int i = 0; i < count; ++i) toml += "[[response.call]]\ntool = \"" + tool + "\"\n";
  return toml;
}

inline const std::string kDone = "[[response]]\ntext = \"done\"\n";

}  // namespace daybook::engine
