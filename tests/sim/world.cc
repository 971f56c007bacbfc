#include "tests/sim/world.h"

#include <boost/asio/post.hpp>
#include <nlohmann/json.hpp>

#include "engine/summary_gate.h"
#include "schema/json.h"

namespace daybook::tests {
namespace {

using schema::FailureKind;

constexpr const char* kToolNames[] = {"read_file", "grep",      "write_file",
                                      "run_shell", "run_shell", "no_such_tool"};

engine::Block call_block(Random& random, std::uint32_t request, std::size_t index) {
  engine::Block block;
  block.kind = schema::BlockKind::tool_call;
  block.tool = kToolNames[random.below(std::size(kToolNames))];
  block.provider_call_id = "p" + std::to_string(request) + "-" + std::to_string(index);
  block.text = R"({"path":"f)" + std::to_string(random.below(3)) + R"(","content":"r)" +
               std::to_string(request) + "c" + std::to_string(index) + R"("})";
  if (random.chance(5)) {
    block.arguments_state = schema::ArgumentsState::malformed;
    block.arguments_error = "not JSON";
    block.text = "{\"path\":";
  }
  return block;
}

/// What every request must look like: each assistant message with calls is followed by as many
/// results, and nothing else.
std::string pairing_error(const Json& body) {
  const auto& messages = body["messages"];
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i]["role"] != "assistant") {
      const bool results = messages[i]["role"] == "tool";
      if (results && (i == 0 || messages[i - 1]["role"] != "assistant")) return "results alone";
      continue;
    }
    std::size_t calls = 0;
    for (const auto& block : messages[i]["blocks"]) calls += block.contains("tool") ? 1 : 0;
    if (calls == 0) continue;
    if (i + 1 >= messages.size() || messages[i + 1]["role"] != "tool") return "calls unanswered";
    if (messages[i + 1]["results"].size() != calls) return "calls and results do not match";
  }
  return "";
}

/// Whether the head of the view became another block since that body.
bool compacted_since(const Json& body, const std::string& before) {
  const auto first = [](const Json& of) {
    const auto& message = of["messages"][0];
    return message.value("text", std::string());
  };
  const std::string now = first(body);
  auto then = parse_json(before);
  return now.starts_with("[This message stands for") && then && first(*then) != now;
}

/// A summary that the gate accepts whatever the span is: it names nothing.
const std::string kGoodSummary = [] {
  std::string text;
  for (const auto heading : engine::kSummaryHeadings) {
    text += std::string(heading) +
            "\nThe work goes on as the messages say; nothing more is known here.\n\n";
  }
  return text;
}();

class SimModel : public engine::Model {
 public:
  explicit SimModel(Process& process) : process_(process) {}

  void call(engine::ModelCall call, engine::DeltaSink,
            std::function<void(engine::ModelOutcome)> done) override {
    check(call);
    // Dead before the request left, or after it was answered and billed: the same to the journal.
    if (process_.dies_here()) {
      process_.bury([done] { done({}); });
      return;
    }
    const PlannedReply& planned = call.summary ? process_.outside.summary_for(call.request)
                                               : process_.outside.reply_to(call.request);
    engine::ModelOutcome outcome;
    if (call.attempt <= planned.failures) {
      outcome.reply = tl::unexpected(
          engine::Failure{planned.failure, 503, "simulated", "", std::int64_t{5}, {}});
    } else {
      outcome.reply = planned.reply;
    }
    done(std::move(outcome));
  }

  void cancel() override {}

 private:
  void check(const engine::ModelCall& call) {
    Outside& outside = process_.outside;
    auto body = parse_json(*call.body);
    if (!body) return outside.broke("a request is not JSON");
    if (auto error = pairing_error(*body); !error.empty()) {
      outside.broke("request " + std::to_string(call.request) + ": " + error);
    }
    if (call.summary) {
      if ((*body)["messages"].size() != 1 || !(*body)["tools"].empty()) {
        outside.broke("a request for a summary holds more than its prompt");
      }
      return;
    }
    const auto [known, fresh] = outside.bodies.emplace(call.request, *call.body);
    if (!fresh && compacted_since(*body, known->second)) known->second = *call.body;
    if (!fresh && known->second != *call.body) {
      // A turn that was stopped may have been answered otherwise; the same request must not.
      if (call.body->size() <= known->second.size()) {
        outside.broke("request " + std::to_string(call.request) + " was sent with other bytes");
      }
      known->second = *call.body;
    }
    const auto before = outside.bodies.find(call.request - 1);
    if (before == outside.bodies.end()) return;
    // Growth only at the end: all of the earlier body but its closing brackets.
    if (compacted_since(*body, before->second)) return;
    const std::string_view shared(before->second.data(), before->second.size() - 2);
    if (!call.body->starts_with(shared)) {
      outside.broke("request " + std::to_string(call.request) + " changed earlier bytes");
    }
  }

  Process& process_;
};

class SimExecutor : public executor::Executor {
 public:
  explicit SimExecutor(Process& process) : process_(process) {
    using executor::Risk;
    using schema::Effect;
    const auto add = [&](const char* name, Risk risk, Effect effect) {
      tools_.push_back({name, name, "{}", risk, effect});
    };
    add("read_file", Risk::read, Effect::read_only);
    add("grep", Risk::read, Effect::read_only);
    add("write_file", Risk::write_local, Effect::checked);
    add("run_shell", Risk::exec, Effect::uncheckable);
  }

  std::span<const executor::ToolSpec> tools() const override { return tools_; }

  Result<executor::Plan> plan(const executor::ToolRequest& request) override {
    executor::Plan plan;
    if (request.tool != "write_file") return plan;
    auto arguments = parse_json(request.arguments);
    const std::string path = (*arguments)["path"];
    const std::string content = (*arguments)["content"];
    const auto found = process_.outside.files.find(path);
    executor::FileOp op{schema::FileOpKind::create, path, {}, BlobRef::of(content)};
    if (found != process_.outside.files.end()) {
      op.kind = schema::FileOpKind::update;
      op.before = BlobRef::of(found->second);
    }
    plan.ops.push_back(std::move(op));
    plan.planned_result = "wrote " + path;
    return plan;
  }

  executor::Outcome run(const executor::ToolRequest& request, const executor::Plan& plan,
                        const executor::OutputSink&, std::stop_token) override {
    executor::Outcome outcome;
    outcome.result =
        "result of " + request.call_id + std::string(process_.outside.result_bytes, '.');
    Outside& outside = process_.outside;
    if (process_.dies_here()) return outcome;  // before the effect
    if (request.tool == "run_shell") {
      ++outside.effects[request.call_id + "#" + std::to_string(request.attempt)];
    } else if (request.tool == "write_file") {
      auto arguments = parse_json(request.arguments);
      outside.files[plan.ops[0].path] = (*arguments)["content"];
      ++outside.effects[request.call_id + "#" + std::to_string(request.attempt)];
      outcome.result = plan.planned_result;
    }
    process_.dies_here();  // after the effect, before its record
    return outcome;
  }

  executor::Settlement settle(const executor::ToolRequest&, const executor::Plan& plan) override {
    const auto found = process_.outside.files.find(plan.ops.at(0).path);
    std::optional<BlobRef> now;
    if (found != process_.outside.files.end()) now = BlobRef::of(found->second);
    if (now == plan.ops[0].after) return executor::Settlement::applied;
    return now == plan.ops[0].before ? executor::Settlement::not_applied
                                     : executor::Settlement::conflict;
  }

  void close() override {}

 private:
  Process& process_;
  std::vector<executor::ToolSpec> tools_;
};

class SimApprover : public engine::Approver {
 public:
  explicit SimApprover(Process& process) : process_(process) {}

  void ask(const engine::Question&, std::function<void(engine::Answer)> done) override {
    if (process_.dies_here()) {
      process_.bury([done] { done({}); });
      return;
    }
    using Kind = engine::Answer::Kind;
    constexpr Kind kKinds[] = {Kind::allow_once,    Kind::allow_once, Kind::allow_once,
                               Kind::allow_session, Kind::deny,       Kind::unavailable};
    done({kKinds[process_.outside.random.below(std::size(kKinds))], "person:sim", ""});
  }

  void cancel() override {}

 private:
  Process& process_;
};

class SimClock : public engine::Clock {
 public:
  explicit SimClock(Process& process) : process_(process) {}
  std::int64_t utc_ns() override { return process_.outside.now_ns += 1000; }
  std::uint64_t random() override { return process_.outside.random.next(); }
  void wait_until(std::int64_t utc_ns, std::function<void()> done) override {
    process_.outside.now_ns = std::max(process_.outside.now_ns, utc_ns);
    if (process_.outside.random.chance(20)) process_.stop("stopped while waiting");
    done();
  }
  void cancel_wait() override {}

 private:
  Process& process_;
};

}  // namespace

std::uint64_t Random::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

const PlannedReply& Outside::reply_to(std::uint32_t request) {
  const auto found = replies.find(request);
  if (found != replies.end()) return found->second;
  PlannedReply planned;
  const std::size_t calls = random.chance(60) ? 1 + random.below(4) : 0;
  engine::Block text;
  text.text = "reply " + std::to_string(request);
  planned.reply.blocks.push_back(text);
  for (std::size_t i = 0; i < calls; ++i) {
    planned.reply.blocks.push_back(call_block(random, request, i));
  }
  planned.reply.stop = calls > 0 ? schema::StopReason::tool_calls : schema::StopReason::end;
  if (random.chance(15)) {
    constexpr FailureKind kKinds[] = {FailureKind::stream_cut, FailureKind::retryable_status,
                                      FailureKind::permanent, FailureKind::context_overflow};
    planned.failures = 1 + static_cast<std::uint32_t>(random.below(3));
    planned.failure = kKinds[random.below(std::size(kKinds))];
  }
  return replies.emplace(request, std::move(planned)).first->second;
}

const PlannedReply& Outside::summary_for(std::uint32_t request) {
  const auto found = summaries.find(request);
  if (found != summaries.end()) return found->second;
  PlannedReply planned;
  engine::Block text;
  text.text = random.chance(30) ? "Now I will read on." : kGoodSummary;
  planned.reply.blocks.push_back(text);
  if (random.chance(20)) {
    constexpr FailureKind kKinds[] = {FailureKind::stream_cut, FailureKind::permanent,
                                      FailureKind::context_overflow};
    planned.failures = 1 + static_cast<std::uint32_t>(random.below(4));
    planned.failure = kKinds[random.below(std::size(kKinds))];
  }
  return summaries.emplace(request, std::move(planned)).first->second;
}

Process::Process(Outside& world, std::uint32_t crash_percent)
    : outside(world), crash_percent_(crash_percent) {}

Process::~Process() {
  graveyard_.clear();
}

bool Process::dies_here() {
  if (!crashed_ && outside.random.chance(crash_percent_)) {
    crashed_ = true;
    io.stop();
  }
  return crashed_;
}

std::unique_ptr<journal::Journal> make_sim_journal(Process& process) {
  MemoryHooks hooks;
  hooks.before_write = [&process](const journal::Append&) -> std::optional<Error> {
    if (process.dies_here()) return Error{ErrorCode::io, "the process is dead"};
    if (process.outside.random.chance(2) && process.stop) process.stop("stopped by the person");
    return std::nullopt;
  };
  hooks.complete = [&process](std::function<void()> complete) {
    if (process.dies_here()) return process.bury(std::move(complete));
    complete();
  };
  return std::make_unique<MemoryJournal>(process.outside.store, std::move(hooks));
}

std::unique_ptr<engine::Model> make_sim_model(Process& process) {
  return std::make_unique<SimModel>(process);
}
std::unique_ptr<executor::Executor> make_sim_executor(Process& process) {
  return std::make_unique<SimExecutor>(process);
}
std::unique_ptr<engine::Approver> make_sim_approver(Process& process) {
  return std::make_unique<SimApprover>(process);
}
std::unique_ptr<engine::Clock> make_sim_clock(Process& process) {
  return std::make_unique<SimClock>(process);
}

}  // namespace daybook::tests
