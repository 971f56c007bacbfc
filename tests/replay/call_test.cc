#include "replay/call.h"

#include <catch2/catch.hpp>

#include "schema/event.h"

using namespace daybook;
using replay::Call;

namespace {

/// A session whose events go straight into a fold.
class Tape {
 public:
  explicit Tape(const std::string& name)
      : name_(name), fold_(name, [this](Call call) { calls.push_back(std::move(call)); }) {}

  template <class PayloadT>
  std::uint64_t take(PayloadT payload, std::uint32_t turn = 1,
                     std::shared_ptr<const schema::ProvenanceT> provenance = nullptr) {
    EventDraft made = draft(std::move(payload), turn);
    made.provenance = std::move(provenance);
    Envelope envelope;
    envelope.id = {7, ++version_};
    envelope.session = name_;
    envelope.version = version_;
    envelope.recorded_at_ns = 1'000'000 * static_cast<std::int64_t>(version_);
    bytes_.push_back(encode_event(made, envelope));
    const auto event = view_event(as_bytes(bytes_.back()));
    REQUIRE(event);
    fold_.take(**event);
    return version_;
  }

  std::vector<Call> calls;

 private:
  std::string name_;
  std::uint64_t version_ = 0;
  std::vector<std::string> bytes_;
  replay::CallFold fold_;
};

schema::ModelRequestedT requested(const std::string& model, const std::string& lineage = "") {
  schema::ModelRequestedT made;
  made.provider = "work";
  made.provider_kind = "anthropic";
  made.model = model;
  made.lineage = lineage;
  made.evidence = schema::Evidence::usage_only;
  return made;
}

schema::ModelRespondedT responded(std::uint64_t output,
                                  const std::vector<std::string>& tools = {}) {
  schema::ModelRespondedT made;
  made.usage = std::make_unique<schema::UsageT>();
  made.usage->output = output;
  for (const std::string& tool : tools) {
    auto block = std::make_unique<schema::BlockT>();
    block->kind = schema::BlockKind::tool_call;
    block->tool = tool;
    made.blocks.push_back(std::move(block));
  }
  return made;
}

std::vector<std::size_t> lengths(const Call& call) {
  const auto size = [](const replay::RequestSegments::List& list) {
    return list == nullptr ? 0 : list->size();
  };
  return {size(call.request.tools), size(call.request.system), call.request.messages.size()};
}

}  // namespace

TEST_CASE("a request and its response become one call") {
  Tape tape("s1");
  schema::SessionStartedT started;
  started.workspace = "/home/ann/project";
  started.agent = "code";
  started.title = "Fix it";
  tape.take(std::move(started), 0);
  const auto request = tape.take(requested("m-1"), 3);
  auto response = responded(42, {"grep", "read_file", "grep"});
  response.served_model = "m-1-20260101";
  response.response_id = "r1";
  response.started_at = 500;
  response.first_byte_at = 600;
  response.ended_at = 700;
  response.usage->input_uncached = 10;
  response.usage->cache_read = 0;
  response.usage->web_searches = 2;
  response.usage->service_tier = "batch";
  response.usage->speed = "fast";
  response.usage->region = "us";
  response.usage->authority = schema::Authority::derived;
  const auto version = tape.take(std::move(response), 3);

  REQUIRE(tape.calls.size() == 1);
  const Call& call = tape.calls[0];
  CHECK(call.session->kind == "daybook");
  CHECK(call.session->id == "s1");
  CHECK(call.session->stored == "s1");
  CHECK(call.session->project == "/home/ann/project");
  CHECK(call.session->agent == "code");
  CHECK(call.session->title == "Fix it");
  CHECK(call.id == Uuid{7, version});
  CHECK(call.version == version);
  CHECK(call.request_version == request);
  CHECK(call.turn == 3);
  CHECK(call.provider == "work");
  CHECK(call.provider_kind == "anthropic");
  CHECK(call.requested_model == "m-1");
  CHECK(call.model() == "m-1-20260101");
  CHECK(call.response_id == "r1");
  CHECK(call.started_at == 500);
  CHECK(call.first_byte_at == 600);
  CHECK(call.ended_at == 700);
  CHECK(call.answered);
  CHECK(call.pass == 0);
  CHECK(call.tools_called == std::vector<std::string>{"grep", "read_file", "grep"});
  CHECK(call.usage.input_uncached == 10u);
  CHECK(call.usage.cache_read == 0u);             // reported, and zero
  CHECK(call.usage.cache_write == std::nullopt);  // not reported
  CHECK(call.usage.output == 42u);
  CHECK(call.usage.web_searches == 2u);
  CHECK(call.usage.service_tier == "batch");
  CHECK(call.usage.speed == "fast");
  CHECK(call.usage.region == "us");
  CHECK(call.usage.authority == schema::Authority::derived);
}

TEST_CASE("a call without an answer is a call, and may have reported usage") {
  Tape tape("s");
  tape.take(requested("m"));
  schema::ModelFailedT failed;
  failed.usage = std::make_unique<schema::UsageT>();
  failed.usage->input_uncached = 9;
  tape.take(std::move(failed));
  tape.take(requested("m"));
  tape.take(schema::ModelAbandonedT{});
  tape.take(schema::ModelAbandonedT{});  // of nothing
  REQUIRE(tape.calls.size() == 2);
  CHECK_FALSE(tape.calls[0].answered);
  CHECK(tape.calls[0].usage.input_uncached == 9u);
  CHECK_FALSE(tape.calls[1].answered);
  CHECK_FALSE(tape.calls[1].usage.any());
}

TEST_CASE("an imported session says whose log it is, and its times are the log's") {
  Tape tape("claude-1");
  schema::SessionImportedT imported;
  imported.kind = "claude-code";
  imported.log_session = "abc";
  imported.parent = "root";
  imported.relation = schema::Relation::subagent;
  imported.agent = "explore";
  tape.take(std::move(imported), 0);
  auto from = std::make_shared<schema::ProvenanceT>();
  from->kind = "claude-code";
  from->at = 77;
  tape.take(requested("m"), 1, from);
  tape.take(responded(1), 1, from);
  REQUIRE(tape.calls.size() == 1);
  const replay::CallSession& session = *tape.calls[0].session;
  CHECK(session.kind == "claude-code");
  CHECK(session.id == "abc");
  CHECK(session.stored == "claude-1");
  CHECK(session.parent == "root");
  CHECK(session.relation == schema::Relation::subagent);
  CHECK(tape.calls[0].started_at == 77);
}

TEST_CASE("a log's request was sent between the latest line that led to it and its answer") {
  Tape tape("claude-1");
  schema::SessionImportedT imported;
  imported.kind = "claude-code";
  tape.take(std::move(imported), 0);
  const auto at = [](std::int64_t when) {
    auto from = std::make_shared<schema::ProvenanceT>();
    from->at = when;
    return from;
  };
  tape.take(schema::TurnStartedT{}, 1, at(10));
  tape.take(requested("m"), 1, at(30));
  auto answer = responded(1);
  answer.started_at = 35;
  tape.take(std::move(answer), 1, at(35));
  tape.take(schema::ToolCompletedT{}, 1, at(50));
  tape.take(schema::ToolCompletedT{}, 1, at(40));
  schema::ImportedLineT other;
  other.type = "progress";
  tape.take(std::move(other), 1, at(55));
  tape.take(requested("m"), 1, at(60));
  tape.take(responded(1), 1, at(60));
  schema::ImportedLineT added;
  added.type = "user";
  tape.take(std::move(added), 1, at(65));
  tape.take(requested("m"), 1, at(70));
  tape.take(responded(1), 1, at(70));
  // Nothing new leads to this one.
  tape.take(requested("m"), 1, at(80));
  tape.take(responded(1), 1, at(80));
  REQUIRE(tape.calls.size() == 4);
  const std::int64_t bounds[][2] = {{10, 30}, {50, 60}, {65, 70}, {65, 80}};
  for (std::size_t i = 0; i < tape.calls.size(); ++i) {
    INFO("call " << i);
    CHECK_FALSE(tape.calls[i].start_exact);
    CHECK(tape.calls[i].not_before == bounds[i][0]);
    CHECK(tape.calls[i].not_after == bounds[i][1]);
  }
  CHECK(tape.calls[0].started_at == 35);
}

TEST_CASE("our own sessions know when they sent a request") {
  Tape tape("s");
  tape.take(schema::TurnStartedT{});
  tape.take(requested("m"));
  tape.take(responded(1));
  REQUIRE(tape.calls.size() == 1);
  CHECK(tape.calls[0].start_exact);
}

TEST_CASE("a request's segments grow from those of its base") {
  Tape tape("s");
  const auto segment = [](char name) {
    return schema::Segment(BlobRef::of(std::string(1, name)).fb());
  };
  auto first = requested("m");
  first.evidence = schema::Evidence::exact;
  first.tools = {segment('t')};
  first.system = {segment('s'), segment('u')};
  first.appended = {segment('a'), segment('b')};
  first.markers = {1};
  const auto base = tape.take(std::move(first));
  tape.take(responded(1));
  auto second = requested("m");
  second.evidence = schema::Evidence::exact;
  second.base = base;
  second.shared = 1;
  second.appended = {segment('c'), segment('d')};
  second.changed = {"system"};
  tape.take(std::move(second));
  tape.take(responded(1));
  auto third = requested("m");  // its base is not there
  third.evidence = schema::Evidence::rebuilt;
  third.base = 999;
  third.shared = 5;
  third.appended = {segment('e')};
  tape.take(std::move(third));
  tape.take(responded(1));

  REQUIRE(tape.calls.size() == 3);
  CHECK(lengths(tape.calls[0]) == std::vector<std::size_t>{1, 2, 2});
  CHECK(tape.calls[0].request.markers == std::vector<std::uint32_t>{1});
  CHECK(lengths(tape.calls[1]) == std::vector<std::size_t>{1, 2, 3});
  CHECK(tape.calls[1].request.tools == tape.calls[0].request.tools);  // shared, not copied
  CHECK(tape.calls[1].request.messages[0] == BlobRef::of("a"));
  CHECK(tape.calls[1].request.messages[1] == BlobRef::of("c"));
  CHECK(tape.calls[1].request.markers.empty());
  CHECK(tape.calls[1].changed == std::vector<std::string>{"system"});
  CHECK(lengths(tape.calls[2]) == std::vector<std::size_t>{0, 0, 1});
}

TEST_CASE("a request that only grows shares the list of what it grew from") {
  Tape tape("s");
  std::uint64_t base = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    auto made = requested("m");
    made.evidence = schema::Evidence::rebuilt;
    made.base = base;
    made.shared = i;
    made.appended = {schema::Segment(BlobRef::of(std::string(1 + i, 'a')).fb())};
    base = tape.take(std::move(made));
    tape.take(responded(1));
  }
  REQUIRE(tape.calls.size() == 3);
  CHECK(lengths(tape.calls[0]) == std::vector<std::size_t>{0, 0, 1});
  CHECK(lengths(tape.calls[2]) == std::vector<std::size_t>{0, 0, 3});
  CHECK(tape.calls[2].request.messages.shares(tape.calls[0].request.messages));
  CHECK(tape.calls[2].request.messages[1] == BlobRef::of("aa"));
}

TEST_CASE("a compaction marks the next call of its lineage, once") {
  Tape tape("s");
  schema::CompactionCommittedT compacted;
  compacted.tokens_before = 90'000;
  compacted.lineage = "side";
  tape.take(std::move(compacted));
  for (const char* lineage : {"", "side", "side"}) {
    tape.take(requested("m", lineage));
    tape.take(responded(1));
  }
  REQUIRE(tape.calls.size() == 3);
  CHECK_FALSE(tape.calls[0].after_compaction);
  CHECK(tape.calls[1].after_compaction);
  CHECK(tape.calls[1].compacted_from == 90'000u);
  CHECK(tape.calls[1].compacted_to == std::nullopt);
  CHECK_FALSE(tape.calls[2].after_compaction);
}

TEST_CASE("the provider's own compaction passes are calls besides") {
  const std::string raw = R"({"input_tokens":23000,"output_tokens":1000,"iterations":[)"
                          R"({"type":"compaction","input_tokens":180000,"output_tokens":3500},)"
                          R"({"type":"message","input_tokens":23000,"output_tokens":1000}]})";
  auto response = [&raw] {
    auto made = responded(1000);
    made.served_model = "claude-opus-5-5";
    made.usage->input_uncached = 23'000;
    made.usage->raw = raw;
    made.usage->region = "us";
    return made;
  };
  Tape tape("s");
  tape.take(requested("m"));
  tape.take(response());
  REQUIRE(tape.calls.size() == 2);
  CHECK(tape.calls[0].pass == 1);
  CHECK(tape.calls[0].usage.input_uncached == 180'000u);
  CHECK(tape.calls[0].usage.output == 3'500u);
  CHECK(tape.calls[0].usage.region == "us");
  CHECK(tape.calls[0].model() == "claude-opus-5-5");
  CHECK(tape.calls[0].version == tape.calls[1].version);
  CHECK(tape.calls[0].id != tape.calls[1].id);
  CHECK(tape.calls[1].pass == 0);
  CHECK(tape.calls[1].usage.input_uncached == 23'000u);

  // A reader of logs has made calls of its own of them.
  Tape imported("i");
  const auto from = std::make_shared<schema::ProvenanceT>();
  imported.take(requested("m"), 1, from);
  imported.take(response(), 1, from);
  CHECK(imported.calls.size() == 1);

  CHECK(replay::compaction_passes("").empty());
  CHECK(replay::compaction_passes(R"({"iterations":"compaction"})").empty());
  CHECK(replay::compaction_passes(R"({"iterations":[{"type":"compaction")").empty());
}
