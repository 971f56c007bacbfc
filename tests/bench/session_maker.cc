#include "tests/bench/session_maker.h"

#include <fmt/format.h>

#include "tests/support/journal_events.h"

namespace daybook::bench {
namespace {

constexpr std::size_t kPool = 1 << 20;
constexpr std::size_t kAppendBytes = 2 << 20;
constexpr std::size_t kCutResult = 10'000;
constexpr char kUsage[] =
    R"({"input_tokens":812,"cache_read_input_tokens":48213,"cache_creation_input_tokens":1044,)"
    R"("cache_creation":{"ephemeral_5m_input_tokens":1044},"output_tokens":211})";

void must(Result<journal::Appended> done) {
  DAYBOOK_CHECK(done.has_value());
}

schema::UsageT usage() {
  schema::UsageT usage;
  usage.input_uncached = 812;
  usage.cache_read = 48'213;
  usage.cache_write = 1044;
  usage.output = 211;
  usage.raw = kUsage;
  return usage;
}

}  // namespace

Words::Words() {
  std::uint64_t seed = 1;
  while (pool_.size() < kPool) {
    seed = seed * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
    pool_ +=
        fmt::format("{}{} ", (seed >> 33) % 7 == 0 ? "std::vector_" : "word", (seed >> 40) % 5000);
  }
}

std::string Words::text(std::size_t size) {
  std::string out = fmt::format("{} ", ++next_);
  while (out.size() < size) {
    const std::size_t from = next_ * 7919 % (kPool / 2);
    out.append(pool_, from, size - out.size());
  }
  return out;
}

SessionMaker::SessionMaker(journal::Journal& journal, const std::string& name)
    : journal_(journal),
      pen_(tests::pen_for(tests::session_id(name))),
      codec_(*engine::find_codec("anthropic")) {
  schema::OwnerAcquiredT owner;
  owner.owner = "pid 4711 on host (daybook run)";
  add(std::move(owner));
  schema::SessionStartedT started;
  started.agent = "code";
  started.workspace = "/home/someone/project";
  started.title = "Make the parser faster";
  add(std::move(started));
  schema::PolicyChangedT policy;
  policy.generation = 1;
  policy.mode = schema::ApprovalMode::bypass_approvals;
  auto& root = policy.roots.emplace_back(std::make_unique<schema::RootT>());
  root->path = "/home/someone/project";
  root->writable = true;
  add(std::move(policy));
}

template <class PayloadT>
std::uint64_t SessionMaker::add(PayloadT payload) {
  batch_.add(draft(std::move(payload), turn_));
  return ++version_;
}

void SessionMaker::begin(std::size_t prompt_size) {
  ++turn_;
  schema::TurnStartedT turn;
  turn.turn = turn_;
  turn.provider = "anthropic";
  turn.provider_kind = codec_.kind();
  turn.model = "claude-sonnet-4-5";
  turn.max_iterations = 100'000;
  engine::Message& prompt = pending_.emplace_back();
  prompt.text = words_.text(prompt_size);
  turn.prompt = batch_.content(prompt.text);
  add(std::move(turn));
}

void SessionMaker::request() {
  schema::ModelRequestedT event;
  event.request = ++requests_;
  event.attempt = 1;
  event.provider = "anthropic";
  event.provider_kind = codec_.kind();
  event.model = "claude-sonnet-4-5";
  event.endpoint_digest = std::make_unique<schema::Digest>(Digest::of("endpoint").fb());
  event.head = batch_.content(R"("model":"claude-sonnet-4-5","max_tokens":32000,"stream":true)");
  event.base = last_request_;
  event.shared = messages_;
  for (const auto& message : std::exchange(pending_, {})) {
    std::string segment = codec_.render_message(message);
    batched_ += segment.size();
    event.appended.emplace_back(batch_.blob(std::move(segment)).fb());
    ++messages_;
  }
  event.markers = {messages_ - 1};
  event.marker_ttl = schema::CacheTtl::minutes_5;
  event.body_digest = std::make_unique<schema::Digest>(Digest::of("body").fb());
  event.body_size = 200'000;
  last_request_ = add(std::move(event));
}

void SessionMaker::respond(std::string text, bool calls) {
  engine::Message& message = pending_.emplace_back();
  message.role = engine::Role::assistant;
  schema::ModelRespondedT event;
  auto& block = event.blocks.emplace_back(std::make_unique<schema::BlockT>());
  block->text = batch_.content(text);
  message.blocks.emplace_back().text = std::move(text);
  if (calls) {
    arguments_ = fmt::format(R"({{"path":"src/parser/module_{}.cc","start_line":1}})", requests_);
    engine::Block& call = message.blocks.emplace_back();
    call.kind = schema::BlockKind::tool_call;
    call.provider_call_id = fmt::format("toolu_01XyZAbCdEfGhIj{:07}", requests_);
    call.tool = "read_file";
    call.text = arguments_;
    auto& to = event.blocks.emplace_back(std::make_unique<schema::BlockT>());
    to->kind = call.kind;
    to->text = batch_.content(call.text);
    to->call_id = fmt::format("call-{}", ++calls_);
    to->provider_call_id = call.provider_call_id;
    to->tool = call.tool;
  }
  event.stop = calls ? schema::StopReason::tool_calls : schema::StopReason::end;
  event.stop_raw = calls ? "tool_use" : "end_turn";
  event.usage = std::make_unique<schema::UsageT>(usage());
  event.response_id = fmt::format("msg_01AbCdEfGhIjKl{:08}", requests_);
  event.served_model = "claude-sonnet-4-5-20250929";
  std::string raw = fmt::format(R"({{"id":"{}","content":[{}],"usage":{}}})", event.response_id,
                                codec_.render_message(message), kUsage);
  batched_ += raw.size();
  event.raw = batch_.content(raw);
  event.started_at = event.first_byte_at = event.ended_at = 1'760'000'000'000'000'000;
  add(std::move(event));
}

void SessionMaker::fill(schema::ReceiptT& receipt, std::size_t size) {
  receipt.cwd_before = receipt.cwd_after = "/home/someone/project";
  receipt.started_at = receipt.ended_at = 1'760'000'000'000'000'000;
  receipt.duration_ns = 1'200'000;
  receipt.output = std::make_unique<schema::Stream>(size, size, Digest::of(arguments_).fb());
}

void SessionMaker::run_call() {
  const std::string call_id = fmt::format("call-{}", calls_);
  const auto digest = Digest::of(arguments_).fb();
  schema::ToolDecidedT decided;
  decided.call_id = call_id;
  decided.tool = "read_file";
  decided.arguments_digest = std::make_unique<schema::Digest>(digest);
  decided.decided_by = "rule:read-only";
  decided.policy_generation = 1;
  add(std::move(decided));
  schema::ToolDispatchedT dispatched;
  dispatched.call_id = call_id;
  dispatched.tool = "read_file";
  dispatched.attempt = 1;
  dispatched.arguments_digest = std::make_unique<schema::Digest>(digest);
  dispatched.effect = schema::Effect::read_only;
  dispatched.policy_generation = 1;
  dispatched.provider = "direct";
  dispatched.enforcement = "none";
  dispatched.cwd = "/home/someone/project";
  add(std::move(dispatched));

  schema::ToolCompletedT completed;
  completed.call_id = call_id;
  const bool cut = calls_ % 10 == 0;
  std::string result = words_.text(cut ? kCutResult : 1024 + calls_ * 997 % 7168);
  completed.receipt = std::make_unique<schema::ReceiptT>();
  fill(*completed.receipt, result.size());
  batched_ += result.size();
  completed.result = batch_.content(result);
  if (cut) {
    std::string full = words_.text(3 * kCutResult);
    batched_ += full.size();
    completed.full_output = std::make_unique<schema::BlobRef>(batch_.blob(std::move(full)).fb());
    completed.spill_path = "/home/someone/.local/share/daybook/spill/" + call_id;
  }
  add(std::move(completed));
  engine::Message& message = pending_.emplace_back();
  message.role = engine::Role::tool;
  message.results.push_back({fmt::format("toolu_01XyZAbCdEfGhIj{:07}", requests_), "read_file",
                             std::move(result), false});
}

void SessionMaker::end(std::size_t answer_size) {
  request();
  const std::string answer = words_.text(answer_size);
  respond(answer, false);
  schema::TurnEndedT ended;
  ended.turn = turn_;
  ended.answer = batch_.content(answer);
  add(std::move(ended));
  flush_if_big();
}

void SessionMaker::work(std::size_t calls) {
  begin(300);
  for (std::size_t i = 0; i < calls; ++i) {
    request();
    respond(words_.text(150 + requests_ * 31 % 500), true);
    run_call();
    flush_if_big();
  }
  end(800);
}

void SessionMaker::chat(std::size_t size) {
  begin(size);
  end(size);
}

void SessionMaker::flush_if_big() {
  if (batched_ > kAppendBytes) journal_.append(take(), must);
}

journal::Append SessionMaker::take() {
  journal::Batch batch = std::exchange(batch_, {});
  const bool first = pen_.head().version == 0;
  journal::Append append = first ? pen_.acquire(std::move(batch)) : pen_.next(std::move(batch));
  for (const auto& event : append.events) bytes_ += event.size();
  for (const auto& blob : append.blobs) bytes_ += blob.bytes.size();
  batched_ = 0;
  return append;
}

void SessionMaker::finish() {
  add(schema::OwnerReleasedT{});
  must(append_and_wait(journal_, take()));
}

}  // namespace daybook::bench
