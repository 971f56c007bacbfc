#include "tests/support/cache_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace daybook::tests {
namespace {

constexpr std::int64_t kEpoch = 1'780'000'000'000'000'000;

/// The client of one session: what it would send next.
class Client {
 public:
  explicit Client(const FaultPlan& plan) : plan_(plan), random_(plan.seed), provider_(plan.table) {
    const std::size_t size = plan.small ? 60 : 900;
    for (const char* name : {"edit", "grep", "list", "read", "shell"}) {
      tools_.push_back(fmt::format(R"({{"name":"{}","description":"{}","schema":{{"a":1,"b":2}}}})",
                                   name, words(size)));
    }
    system_ = words(plan.small ? 100 : 5000) + " Now it is 2026-05-01T10:00:00Z. id " +
              "0f8fad5b-d9cb-469f-a165-70867728950e in /home/ada/project. mode plain. " +
              words(plan.small ? 20 : 400);
    model_ = plan.model;
  }

  SessionRun run() {
    for (int turn = 0; turn < plan_.turns; ++turn) {
      const bool here = turn == plan_.fault_turn;
      grow(turn, here);
      change_the_unseen(turn);
      if (here) {
        run_.fault_call = run_.calls.size();
        break_request();
      }
      send(turn, here);
    }
    return std::move(run_);
  }

 private:
  struct Message {
    std::string text;
    std::string without_thinking;
    bool person = false;
  };

  bool has(const std::string& fault) const { return plan_.faults.contains(fault); }

  std::string words(std::size_t bytes) {
    static const char* kWords[] = {"table", "river",  "clause", "merge",  "pointer", "window",
                                   "lamp",  "socket", "garden", "branch", "vector",  "stone"};
    std::string text;
    while (text.size() < bytes) {
      text += kWords[random_() % 12];
      text += random_() % 7 == 0 ? ". " : " ";
    }
    return text;
  }

  std::string message(const std::string& role, const std::string& type, std::size_t bytes) {
    const char* field = type == "text" ? "text" : "content";
    return fmt::format(R"({{"role":"{}","content":[{{"type":"{}","{}":"{}"}}]}})", role, type,
                       field, words(bytes));
  }

  /// A tool loop, or with a plain user turn, of a few messages.
  void grow(int turn, bool here) {
    const std::size_t size = plan_.small ? 30 : 1500 + random_() % 2500;
    if (turn == 0) {
      messages_.push_back({message("user", "text", size), "", true});
      return;
    }
    if (here && has("P6.lookback")) {
      for (int i = 0; i < 30; ++i) add_pair(300);
    }
    if (has("S1")) {
      thinking_pair(size);
      if (here) messages_.push_back({message("user", "text", 200), "", true});
      return;
    }
    add_pair(size);
  }

  void add_pair(std::size_t size) {
    messages_.push_back({message("assistant", "text", size / 3 + 40), "", false});
    messages_.push_back({message("user", "tool_result", size), "", false});
  }

  void thinking_pair(std::size_t size) {
    const std::string thought = words(size / 2 + 40);
    const std::string said = words(size / 3 + 40);
    const std::string rest = fmt::format(R"({{"type":"text","text":"{}"}})", said);
    const std::string frame = R"({{"role":"assistant","content":[{}{}]}})";
    messages_.push_back(
        {fmt::format(fmt::runtime(frame),
                     fmt::format(R"({{"type":"thinking","thinking":"{}"}},)", thought), rest),
         fmt::format(fmt::runtime(frame), "", rest), false});
    messages_.push_back({message("user", "tool_result", size), "", false});
  }

  void replace(std::string& text, const std::string& what, const std::string& by) {
    const std::size_t at = text.find(what);
    if (at != std::string::npos) text.replace(at, what.size(), by);
  }

  void break_prefix() {
    if (has("P2.added")) tools_.insert(tools_.begin() + 2, R"({"name":"fetch","description":"x"})");
    if (has("P2.removed")) tools_.erase(tools_.begin() + 1);
    if (has("P2.reordered")) std::swap(tools_[1], tools_[3]);
    if (has("P2.schema")) replace(tools_[2], R"("a":1)", R"("a":7)");
    if (has("P2.keyorder")) replace(tools_[2], R"("a":1,"b":2)", R"("b":2,"a":1)");
    if (has("P3.clock")) replace(system_, "T10:00:00Z", "T10:07:31Z");
    if (has("P3.uuid")) replace(system_, "0f8fad5b-d9cb", "77ab31c5-04e2");
    if (has("P3.path")) replace(system_, "/home/ada/project", "/home/ada/worktree");
    if (has("P3.other")) replace(system_, "mode plain", "mode fancy");
    if (has("P1")) model_ = "claude-opus-4-8";
    if (has("P8.key")) key_ = "other";
    if (has("P8.tier")) tier_ = "priority";
    if (has("P8.workspace")) workspace_ = "w2";
    if (has("P8.region")) region_ = "eu";
    if (has("P8.provider")) route_ = plan_.provider + "-2";
    for (const char* name : {"tool_choice", "thinking", "verbosity", "format", "betas",
                             "context_management", "image", "speed"}) {
      if (has(std::string("P5.") + name)) settings_[name] = "\"new\"";
    }
  }

  void break_messages() {
    if (has("P4.mutated")) replace(messages_[3].text, "content\":[", "content\":[ ");
    if (has("P4.mutated")) replace(messages_[3].text, "\"text\":\"", "\"text\":\"changed ");
    if (has("P4.mutated0")) replace(messages_[0].text, "\"text\":\"", "\"text\":\"10:07 ");
    if (has("P4.deleted")) messages_.erase(messages_.begin() + 3, messages_.begin() + 5);
    if (has("P4.inserted")) {
      messages_.insert(messages_.begin() + 3, {message("user", "text", 90), "", false});
    }
    if (has("P4.reordered")) std::swap(messages_[3], messages_[5]);
    if (has("P4.reserialized")) replace(messages_[3].text, R"({"role":)", R"({ "role":)");
    if (has("E2")) {
      const Message last = messages_.back();
      messages_.erase(messages_.begin() + 1, messages_.end());
      messages_.push_back({message("user", "text", 2500), "", true});
      messages_.push_back(last);
    }
    if (has("E3")) {
      messages_.erase(messages_.begin() + 5, messages_.end());
      messages_.push_back({message("user", "text", 1500), "", true});
    }
  }

  /// What no provider caches by.
  void change_the_unseen(int turn) {
    if (has("benign.max_tokens")) settings_["max_tokens"] = std::to_string(1000 + turn);
    if (has("benign.metadata")) settings_["metadata"] = fmt::format(R"({{"user_id":"{}"}})", turn);
    if (has("benign.stop")) settings_["stop_sequences"] = fmt::format(R"(["END{}"])", turn);
    if (has("benign.stream")) settings_["stream"] = turn % 2 == 0 ? "true" : "false";
    if (has("benign.temperature")) settings_["temperature"] = fmt::format("0.{}", turn);
  }

  void break_request() {
    break_prefix();
    break_messages();
    if (has("T1")) now_s_ += plan_.table.life_s + 20;
    if (has("U1")) provider_.evict_all();
  }

  std::vector<std::pair<std::size_t, bool>> breakpoints(std::size_t first_message,
                                                        std::size_t blocks, bool here) {
    const bool hour = plan_.hour || (here && has("P6.ttl_flip"));
    std::vector<std::pair<std::size_t, bool>> marks = {{first_message - 1, hour}};
    if (has("benign.no_system_marker")) marks.clear();
    // Between its old place and the next: still within reach.
    if (has("benign.moved_marker") && here && first_message > 1) marks[0].first = first_message - 2;
    const std::size_t before = first_message + sent_messages_ - 1;
    const bool rolling = sent_messages_ > 0 && before < blocks - 1 && before >= first_message;
    if (rolling && !(here && has("P6.lookback"))) marks.emplace_back(before, hour);
    marks.emplace_back(blocks - 1, hour);
    if (!here) return marks;
    if (has("P6.missing")) marks.clear();
    if (has("P6.count")) {
      marks = {{0, hour}, {1, hour}, {2, hour}, {3, hour}, {blocks - 1, hour}};
    }
    if (has("P6.ttl_order")) marks = {{0, false}, {blocks - 1, true}};
    return marks;
  }

  ProviderRequest request(bool here) {
    ProviderRequest made;
    for (const auto& tool : tools_) made.blocks.push_back({0, tool, "", false});
    made.blocks.push_back({1, fmt::format(R"({{"type":"text","text":"{}"}})", system_), "", false});
    const std::size_t first = made.blocks.size();
    for (const auto& each : messages_) {
      made.blocks.push_back({2, each.text, each.without_thinking, each.person});
    }
    if (plan_.table.kind == ProviderTable::Kind::breakpoints) {
      made.breakpoints = breakpoints(first, made.blocks.size(), here);
    }
    made.settings = settings_;
    made.route = route_;
    made.model = model_;
    made.workspace = workspace_;
    made.region = region_;
    made.key = key_;
    made.tier = tier_;
    return made;
  }

  void send(int turn, bool here) {
    ProviderRequest made = request(here);
    const bool next_here = turn + 1 == plan_.fault_turn;
    if (here && has("C1")) now_s_ = last_start_s_ + 1;
    made.start_s = now_s_;
    made.first_byte_s = now_s_ + 4;
    double end_s = now_s_ + 12;
    if (next_here && has("T2")) end_s = now_s_ + plan_.table.life_s + 10;
    last_start_s_ = now_s_;
    now_s_ = end_s + 8;
    const ProviderUsage usage = provider_.serve(made);
    replay::CacheCall call = call_of(made, usage, plan_, *run_.texts);
    call.end = kEpoch + static_cast<std::int64_t>(end_s * 1e9);
    call.version = static_cast<std::uint64_t>(turn) + 1;
    call.id = fmt::format("call {}", turn + 1);
    call.after_compaction = here && has("E2");
    if (here && has("U2")) {
      // A total, and nothing of what it is made of.
      call.usage.input_total = *call.input();
      call.usage.input_uncached.reset();
      call.usage.cache_read.reset();
      call.usage.cache_write.reset();
      call.usage.cache_write_5m.reset();
      call.usage.cache_write_1h.reset();
    }
    run_.usages.push_back(usage);
    run_.calls.push_back(std::move(call));
    sent_messages_ = messages_.size();
  }

  const FaultPlan& plan_;
  std::mt19937 random_;
  CacheProvider provider_;
  SessionRun run_;
  std::vector<std::string> tools_;
  std::string system_;
  std::vector<Message> messages_;
  std::map<std::string, std::string> settings_;
  std::string route_ = plan_.provider, model_, workspace_ = "w1", region_ = "us", key_ = "k",
              tier_ = "standard";
  std::size_t sent_messages_ = 0;
  double now_s_ = 100;
  double last_start_s_ = 0;
};

}  // namespace

FaultPlan plan_for_fault(const std::string& fault, unsigned seed) {
  FaultPlan plan;
  plan.seed = seed;
  plan.faults = {fault};
  if (fault == "P5.verbosity" || fault == "P8.key" || fault == "P8.tier") {
    plan.provider = "openai";
    plan.model = "gpt-5.6-sol";
    plan.table = ProviderTable::openai();
  }
  if (fault == "P5.format" && seed % 2 == 0) {
    plan.provider = "openai";
    plan.model = "gpt-5.2";
    plan.table = ProviderTable::openai_before();
  }
  if (fault == "S1") {
    plan.model = "claude-haiku-4-5";
    plan.table.drops_thinking = true;
    plan.table.shortest = 4096;
  }
  if (fault == "P7") plan.small = true;
  plan.hour = fault == "P6.ttl_order";
  return plan;
}

SessionRun run_session(const FaultPlan& plan) {
  return Client(plan).run();
}

replay::SegmentBytes SessionRun::bytes() const {
  return [all = texts](const BlobRef& ref) -> std::optional<std::string> {
    const auto found = all->find(ref.digest);
    return found == all->end() ? std::nullopt : std::optional(found->second);
  };
}

replay::CacheCall call_of(const ProviderRequest& request, const ProviderUsage& usage,
                          const FaultPlan& plan, Texts& texts) {
  replay::CacheCall call;
  call.session = "s";
  call.scope = {request.route, request.model,     request.key,
                request.tier,  request.workspace, request.region};
  call.provider_kind = plan.provider;
  for (const auto& [name, value] : request.settings) call.params.push_back({name, value});
  for (const ProviderBlock& block : request.blocks) {
    replay::CacheSegment segment;
    segment.area = static_cast<replay::CacheArea>(block.part);
    segment.content = segment.raw = Digest::of(block.text);
    segment.bytes = block.text.size();
    segment.plain_user = block.from_person;
    if (!block.without_thinking.empty()) {
      segment.stripped = Digest::of(block.without_thinking);
      segment.stripped_bytes = block.without_thinking.size();
    }
    texts[segment.raw] = block.text;
    call.segments.push_back(segment);
  }
  for (const auto& [block, hour] : request.breakpoints) {
    call.marks.push_back({static_cast<std::uint32_t>(block),
                          hour ? schema::CacheTtl::hour_1 : schema::CacheTtl::minutes_5});
  }
  call.start = kEpoch + static_cast<std::int64_t>(request.start_s * 1e9);
  call.first_byte = kEpoch + static_cast<std::int64_t>(request.first_byte_s * 1e9);
  call.end = call.first_byte;
  call.usage.cache_read = usage.read;
  if (plan.table.kind == ProviderTable::Kind::breakpoints) {
    call.usage.input_uncached = usage.uncached();
    call.usage.cache_write = usage.written_5m + usage.written_1h;
    call.usage.cache_write_5m = usage.written_5m;
    call.usage.cache_write_1h = usage.written_1h;
  } else {
    call.usage.input_total = usage.total;
    if (plan.table.reports_writes) call.usage.cache_write = usage.written_5m;
  }
  return call;
}

replay::CacheCall rebuilt(replay::CacheCall call) {
  call.evidence = schema::Evidence::rebuilt;
  replay::SegmentList shown;
  for (const replay::CacheSegment& segment : call.segments) {
    if (segment.area != replay::CacheArea::tools) shown.push_back(segment);
  }
  call.segments = std::move(shown);
  call.marks.clear();
  call.params.clear();
  call.scope.key.clear();
  call.scope.workspace.clear();
  call.scope.region.clear();
  return call;
}

replay::CacheCall usage_only(replay::CacheCall call) {
  call = rebuilt(std::move(call));
  call.evidence = schema::Evidence::usage_only;
  call.segments.clear();
  return call;
}

std::vector<replay::CallVerdict> judge(const SessionRun& run, schema::Evidence evidence,
                                       const replay::CacheRuleBook& book, std::size_t resumed_at) {
  replay::CacheAttributor attributor(book, run.bytes());
  std::vector<replay::CacheCall> calls = run.calls;
  if (evidence == schema::Evidence::rebuilt) std::ranges::transform(calls, calls.begin(), rebuilt);
  if (evidence == schema::Evidence::usage_only) {
    std::ranges::transform(calls, calls.begin(), usage_only);
  }
  std::vector<replay::CallVerdict> verdicts;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    replay::CacheCall copy = calls[i];
    if (i >= resumed_at) calls[i].session += "-resumed";
    verdicts.push_back(attributor.take(std::move(calls[i])));
    if (i >= resumed_at || resumed_at >= calls.size()) continue;
    copy.original = std::make_shared<const replay::OriginalCall>(
        replay::OriginalCall{copy.session, copy.lineage, copy.version});
    copy.session += "-resumed";
    attributor.adopt(std::move(copy));
  }
  return verdicts;
}

std::optional<replay::CauseSet> main_cause(const replay::CallVerdict& verdict) {
  std::map<replay::CauseSet, std::uint64_t> sums;
  for (const auto& portion : verdict.lost) {
    if (!portion.causes.contains(replay::Leaf::granularity)) {
      sums[portion.causes] += portion.tokens;
    }
  }
  const auto most =
      std::ranges::max_element(sums, {}, [](const auto& item) { return item.second; });
  return most == sums.end() ? std::nullopt : std::optional(most->first);
}

}  // namespace daybook::tests
