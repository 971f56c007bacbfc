// Sessions that go on from a history that another session holds: what they could have read is what
// that one left. The calls of a history count in the original.
#include <filesystem>

#include "tests/tools/both_ways.h"
#include "tests/tools/codex_counters.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

/// One call of a Claude Code log.
struct Said {
  std::string id;
  int at_s = 0;
  int read = 0;
  int written = 0;
};

/// A session's prompts and answers, each behind the one before.
std::string transcript(const std::string& session, const std::vector<Said>& calls) {
  std::string text;
  std::string parent = "null";
  const auto line = [&](const char* type, const std::string& uuid, int at_s,
                        const std::string& message) {
    text += fmt::format(
        R"({{"type":"{}","sessionId":"{}","uuid":"{}","parentUuid":{},"requestId":"r-{}",)"
        R"("timestamp":"2026-10-01T1{}:{:02}:{:02}.000Z","cwd":"/p","version":"2.0.0",)"
        R"("message":{}}})",
        type, session, uuid, parent, uuid, at_s / 3600, at_s / 60 % 60, at_s % 60, message);
    text += '\n';
    parent = '"' + uuid + '"';
  };
  for (const Said& call : calls) {
    line("user", "u-" + call.id, call.at_s,
         R"({"role":"user","content":"prompt )" + call.id + "\"}");
    line("assistant", call.id, call.at_s + 2,
         fmt::format(R"({{"id":"{}","type":"message","role":"assistant","model":"claude-sonnet-5",)"
                     R"("content":[{{"type":"text","text":"answer {}"}}],)"
                     R"("stop_reason":"end_turn","usage":{}}})",
                     call.id, call.id, claude_usage_json(10, call.read, call.written, 100)));
  }
  return text;
}

/// Logs in a folder and what they were imported into.
struct Logs {
  TempDir dir;
  Cli cli;
  std::string folder = dir.str("logs");

  explicit Logs(const std::vector<std::pair<std::string, std::string>>& files) {
    std::filesystem::create_directory(folder);
    cli.environment["TZ"] = "UTC";
    for (const auto& [name, text] : files) write_file(folder + "/" + name + ".jsonl", text);
    const CliRun imported = cli.run({"import", folder});
    INFO(imported.out << imported.err);
    REQUIRE(imported.code == 0);
  }

  CliRun run(std::vector<std::string> arguments, bool files) {
    if (files) arguments.push_back(folder);
    return cli.run(arguments);
  }
  std::vector<Json> cache(bool files, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"cache", "--json"});
    const CliRun ran = run(std::move(more), files);
    INFO(ran.out << ran.err);
    REQUIRE(ran.code == 0);
    return json_lines(ran.out);
  }
};

std::map<std::string, int> causes_of(const std::vector<Json>& lines) {
  std::map<std::string, int> made;
  for (const Json& each : lines) {
    if (each["line"] == "cause") made[each["cause"]] = each["tokens"];
  }
  return made;
}

Json session_of(const std::vector<Json>& lines, const std::string& name) {
  for (const Json& each : lines) {
    if (each["line"] == "session" && std::string(each["session"]).ends_with(name)) return each;
  }
  return {};
}

/// Two calls that leave 21,000 tokens, a minute apart.
std::vector<Said> begun() {
  return {{"m0", 0, 0, 20'000}, {"m1", 60, 20'000, 1'000}};
}

std::vector<Said> with(std::vector<Said> calls, const std::vector<Said>& more) {
  calls.insert(calls.end(), more.begin(), more.end());
  return calls;
}

TEST_CASE("forks: a resumed session loses and costs what it would have in one file") {
  const std::vector<Said> late = {{"m2", 720, 0, 22'000}, {"m3", 780, 22'000, 500}};
  Logs one({{"a", transcript("a", with(begun(), late))}});
  // Whichever name comes first.
  for (const auto& [original, resumed] : {std::pair("a", "b"), std::pair("b", "a")}) {
    Logs two({{original, transcript(original, begun())},
              {resumed, transcript(resumed, with(begun(), late))}});
    for (const bool files : {true, false}) {
      INFO((files ? "files" : "journal"));
      const auto lines = two.cache(files);
      CHECK(causes_of(lines) == std::map<std::string, int>{{"T1", 21'000}});
      CHECK(lines[0] == one.cache(files)[0]);
      CHECK(lines[0]["conserved"] == true);
      CHECK(session_of(lines, resumed)["lost"] == 21'000);
      CHECK(session_of(lines, original)["calls"] == 2);
      // A remedy pays for all that it changes, in whichever file that is.
      CHECK(two.cache(files, {"--since", "2026-10-01T10:10:00Z"})[0]["recoverable_usd"] ==
            one.cache(files, {"--since", "2026-10-01T10:10:00Z"})[0]["recoverable_usd"]);
    }
    const std::string what_if[] = {"--what-if", "1h"};
    const auto then = two.cache(false, {what_if[0], what_if[1]});
    CHECK(then[0] == one.cache(false, {what_if[0], what_if[1]})[0]);
    CHECK(then[0]["recorded_read"] == 20'000 + 22'000);
    CHECK(then[0]["changed_read"] == 20'000 + 21'000 + 22'000);
  }
}

TEST_CASE("forks: what a fork reads of its history is no first call's, and lost is nothing") {
  Logs logs({{"a", transcript("a", with(begun(), {{"m2", 90, 21'000, 500}}))},
             {"b", transcript("b", with(begun(), {{"m9", 100, 21'000, 700}}))}});
  for (const bool files : {true, false}) {
    const auto lines = logs.cache(files);
    CHECK(causes_of(lines).empty());
    CHECK(lines[0]["new_E0"] == 20'010);
    CHECK(lines[0]["contradictions"] == 0);
  }
}

TEST_CASE("forks: what others used in the meantime did not expire") {
  // 6 minutes behind the last call of its own history, 3 behind the last use of what it left.
  const Said late{"m9", 420, 0, 22'000};
  const Said between{"m2", 240, 21'000, 500};
  for (const bool fork_is_late : {true, false}) {
    Logs logs({{"a", transcript("a", with(begun(), {fork_is_late ? between : late}))},
               {"b", transcript("b", with(begun(), {fork_is_late ? late : between}))}});
    for (const bool files : {true, false}) {
      INFO(fork_is_late << files);
      const auto causes = causes_of(logs.cache(files));
      REQUIRE(causes.size() == 1);
      CHECK(causes.begin()->second == 21'000);
      CHECK_THAT(causes.begin()->first, Contains("one_of") && Contains("U1"));
    }
  }
}

TEST_CASE("forks: what another branch of the history used did not expire, up to where they part") {
  // The first fork leaves after m0 and uses its 20,000; the second after m1, 6 minutes behind that.
  const std::vector<Said> early = {begun()[0], {"m8", 240, 20'000, 500}};
  Logs logs({{"a", transcript("a", begun())},
             {"b", transcript("b", early)},
             {"c", transcript("c", with(begun(), {{"m9", 440, 0, 22'000}}))}});
  const auto files = causes_of(logs.cache(true));
  CHECK(files.at("T1") == 1'000);
  REQUIRE(files.size() == 2);
  CHECK_THAT(files.begin()->first + files.rbegin()->first, Contains("one_of{") && Contains("U1"));
  const auto journal = causes_of(logs.cache(false));
  CHECK(journal.at("T1") <= 1'010);
}

TEST_CASE("forks: transcripts decide no more of what others used than figures do") {
  // The original goes on, reading longer entries that begin with what the fork lacks.
  const std::vector<Said> original =
      with(begun(), {{"m2", 90, 21'000, 500}, {"m3", 200, 21'500, 500}});
  Logs logs({{"a", transcript("a", original)},
             {"b", transcript("b", with(begun(), {{"m9", 440, 0, 22'000}}))}});
  for (const bool files : {true, false}) {
    for (const auto& [cause, tokens] : causes_of(logs.cache(files))) {
      INFO(cause << ' ' << tokens);
      CHECK_THAT(cause, Contains("one_of{") && Contains("T1") && Contains("U1"));
    }
  }
}

TEST_CASE("forks: a first call without a time goes on from the whole history") {
  const auto undated = [](std::string text) {
    const std::size_t answer = text.rfind("\n", text.size() - 2) + 1;
    const std::size_t at = text.find(R"("timestamp")", answer);
    return text.erase(at, text.find(',', at) + 1 - at);
  };
  const std::string end = transcript("b", with(begun(), {{"m2", 720, 0, 22'000}}));
  Logs logs({{"a", transcript("a", begun())}, {"b", undated(end)}});
  for (const bool files : {true, false}) {
    const auto lines = logs.cache(files);
    INFO(lines[0].dump());
    CHECK(lines[0]["lost"] == 21'000);
    CHECK(session_of(lines, "b")["lost"] == 21'000);
  }
}

TEST_CASE("forks: one history is kept warm once, and nothing late is charged for what went on") {
  std::vector<std::pair<std::string, std::string>> files = {{"a", transcript("a", begun())}};
  const auto pings = [&] {
    Logs logs(files);
    const Json total = logs.cache(false, {"--what-if", "keep-warm=600"})[0];
    return std::pair(total["pings"].get<int>(), total["late_pings"].get<int>());
  };
  // Every 270 s within 600.
  CHECK(pings() == std::pair(0, 2));
  files.emplace_back("b", transcript("b", with(begun(), {{"m2", 720, 0, 22'000}})));
  CHECK(pings() == std::pair(2, 2));
  files.emplace_back("c", transcript("c", with(begun(), {{"m3", 730, 0, 22'000}})));
  CHECK(pings() == std::pair(2, 4));
}

TEST_CASE("forks: a copy is no call of its session, and --why says whose it is") {
  Logs logs({{"a", transcript("a", begun())},
             {"b", transcript("b", with(begun(), {{"m2", 720, 0, 22'000}}))}});
  CHECK(logs.cache(true, {"--session", "b"})[0]["calls"] == 1);
  CHECK(logs.cache(false, {"--session", "claude-b"})[0]["calls"] == 1);
  const Json call = logs.cache(true, {"--why", "b:1"})[0];
  CHECK(call["since_last_s"]["least"] == 658);  // from m1's prompt or answer to m2's
  CHECK(call["since_last_s"]["most"] == 662);
  const CliRun none = logs.run({"cache", "--why", "b:7"}, true);
  CHECK(none.code == 3);
  CHECK_THAT(none.err, Contains("there is no call 'b:7'; the nearest of its session is b:1"));
  // In the journal: the version of an answer that claude-b repeats.
  bool told = false;
  for (int version = 1; version < 20 && !told; ++version) {
    const CliRun why = logs.run({"cache", "--why", fmt::format("claude-b:{}", version)}, false);
    told = why.err.find("it is a copy of claude-a:") != std::string::npos;
  }
  CHECK(told);
  const Json lost = logs.cache(false)[1];
  CHECK(lost["cause"] == "T1");
}

// ------------------------------------------------------------------------------ Codex

struct Count {
  int at_s = 0;
  int input = 0;
  int cached = 0;
};

class Rollout {
 public:
  explicit Rollout(const std::string& thread, int at_s, const std::string& more = "") {
    meta(thread, at_s, more);
  }
  Rollout& meta(const std::string& thread, int at_s, const std::string& more = "") {
    return line(at_s, "session_meta", fmt::format(R"({{"id":"{}","cwd":"/p"{}}})", thread, more));
  }
  /// A prompt, an answer and the running totals, as of `count.at_s`, or all of `stamp_s`. Codex
  /// writes a record, if it does, before the totals.
  Rollout& call(const Count& count, int stamp_s = -1, const std::string& record_first = "") {
    input_ += count.input;
    cached_ += count.cached;
    output_ += 20;
    const auto at = [&](int behind) { return stamp_s < 0 ? count.at_s + behind : stamp_s; };
    line(at(0), "turn_context",
         fmt::format(R"({{"turn_id":"t{}","cwd":"/p","model":"gpt-5.5"}})", count.at_s));
    line(at(1), "response_item",
         fmt::format(R"({{"type":"message","role":"user","content":[{{"type":"input_text",)"
                     R"("text":"prompt {}"}}]}})",
                     count.at_s));
    line(at(2), "response_item",
         fmt::format(R"({{"type":"message","role":"assistant","content":[)"
                     R"({{"type":"output_text","text":"answer {}"}}]}})",
                     count.at_s));
    if (!record_first.empty()) record(at(3), record_first);
    return totals(at(3), codex_usage(count.input, count.cached, 20));
  }
  Rollout& record(int at_s, const std::string& payload) {
    return line(at_s, "token_usage_record", payload);
  }
  /// With the estimate of what it left, which Codex writes behind it.
  Rollout& compacted(int at_s) {
    line(at_s, "compacted",
         R"({"message":"In short.","replacement_history":[{"type":"message","role":"user",)"
         R"("content":[{"type":"input_text","text":"In short."}]}]})");
    return totals(at_s, codex_usage(900, 0, 0));
  }
  const std::string& text() const { return text_; }

 private:
  Rollout& totals(int at_s, const std::string& last) {
    return line(at_s, "event_msg", codex_token_count(codex_usage(input_, cached_, output_), last));
  }
  Rollout& line(int at_s, const char* type, const std::string& payload) {
    text_ += fmt::format(
        R"({{"timestamp":"2026-10-0{}T{:02}:{:02}:{:02}.000Z","type":"{}","payload":{}}})",
        1 + at_s / 86'400, at_s / 3600 % 24, at_s / 60 % 60, at_s % 60, type, payload);
    text_ += '\n';
    return *this;
  }

  std::string text_;
  int input_ = 0;
  int cached_ = 0;
  int output_ = 0;
};

/// Longer than anything lives in a cache.
constexpr int kPause = 2 * 86'400;

/// Whole blocks of 128 of the first two calls' tokens.
constexpr int kSecondLeft = 51'200 - 51'200 % 128;

std::string name_of(const std::string& thread) {
  return "rollout-2026-10-01T00-00-00-" + thread;
}

/// 50,000 tokens, of which the second call reads all that it can.
const std::vector<Count> kBegun = {{0, 51'200, 0}, {60, 51'200, 51'200}};

Rollout original(const std::string& thread) {
  return Rollout(thread, 0).call(kBegun[0]).call(kBegun[1]);
}

}  // namespace

TEST_CASE("forks: a Codex fork goes on from the call with which its history ends") {
  // Days after, re-stamped: what the history left has expired.
  Rollout fork("b2", kPause, R"(,"forked_from_id":"a1")");
  fork.meta("a1", kPause)
      .call(kBegun[0], kPause)
      .call(kBegun[1], kPause)
      .call({kPause + 60, 52'000, 0});
  Logs logs({{name_of("a1"), original("a1").text()}, {name_of("b2"), fork.text()}});
  Logs one({{name_of("a1"), original("a1").call({kPause + 60, 52'000, 0}).text()}});
  for (const bool files : {true, false}) {
    INFO((files ? "files" : "journal"));
    const auto lines = logs.cache(files);
    CHECK(causes_of(lines)["T1"] == kSecondLeft);
    CHECK(lines[0] == one.cache(files)[0]);
    CHECK(session_of(lines, "b2")["calls"] == 1);
    CHECK(session_of(lines, "a1")["calls"] == 2);
  }
}

TEST_CASE("forks: a Codex fork from an earlier turn goes on from there") {
  Rollout fork("b2", 200, R"(,"forked_from_id":"a1")");
  fork.meta("a1", 200).call({0, 10'240, 0}, 200).call({230, 10'400, 10'240});
  Rollout whole("a1", 0);
  whole.call({0, 10'240, 0}).call({60, 90'112, 10'240}).call({120, 90'240, 90'112});
  Logs logs({{name_of("a1"), whole.text()}, {name_of("b2"), fork.text()}});
  for (const bool files : {true, false}) {
    INFO((files ? "files" : "journal"));
    const auto lines = logs.cache(files);
    // Not the 90,240 of the parent's last call; of rebuilt texts less than a block is not known.
    CHECK(lines[0]["lost"] < 128);
    CHECK(lines[0]["new_E0"] == 10'240);
  }
}

TEST_CASE("forks: of a fork of a fork each begins where its history ends") {
  Rollout first("b2", kPause, R"(,"forked_from_id":"a1")");
  first.meta("a1", kPause).call(kBegun[0], kPause).call(kBegun[1], kPause);
  first.call({kPause + 60, 60'032, 0});
  Rollout second("c3", 2 * kPause, R"(,"forked_from_id":"b2")");
  second.meta("b2", 2 * kPause).meta("a1", 2 * kPause);
  second.call(kBegun[0], 2 * kPause).call(kBegun[1], 2 * kPause);
  second.call({kPause + 60, 60'032, 0}, 2 * kPause).call({2 * kPause + 60, 60'160, 0});
  Logs logs({{name_of("a1"), original("a1").text()},
             {name_of("b2"), first.text()},
             {name_of("c3"), second.text()}});
  for (const bool files : {true, false}) {
    INFO((files ? "files" : "journal"));
    const auto lines = logs.cache(files);
    CHECK(causes_of(lines)["T1"] == kSecondLeft + 60'032);
    CHECK(session_of(lines, "c3")["lost"] == 60'032);
  }
}

TEST_CASE("forks: a compaction at the end of the history comes before the fork's first call") {
  Rollout fork("b2", 200, R"(,"forked_from_id":"a1")");
  fork.meta("a1", 200).call(kBegun[0], 200).call(kBegun[1], 200).compacted(200);
  // What precedes the messages is read.
  fork.call({230, 10'240, 2'048});
  Logs logs({{name_of("a1"), original("a1").compacted(100).text()}, {name_of("b2"), fork.text()}});
  for (const bool files : {true, false}) {
    INFO((files ? "files" : "journal"));
    auto causes = causes_of(logs.cache(files));
    // Transcripts that are shorter than their figures say leave part of it open.
    CHECK(causes.contains("E2"));
    if (files) CHECK(causes == std::map<std::string, int>{{"E2", 8'192}});
  }
}

TEST_CASE("forks: where records count, the counters beside them end no history") {
  const auto record = [](const std::string& thread, int at_s, const std::string& id, int input) {
    return fmt::format(R"({{"thread_id":"{}","session_id":"{}","response_id":"{}{}","usage":{}}})",
                       thread, thread, id, at_s, codex_usage(input, 0, 20));
  };
  Rollout whole("a1", 0);
  whole.call({0, 51'200, 0}).record(3, record("a1", 0, "r", 51'200));
  whole.call({60, 51'300, 0}, -1, record("a1", 60, "r", 51'300));
  Rollout fork("b2", kPause, R"(,"forked_from_id":"a1")");
  fork.meta("a1", kPause).call({0, 51'200, 0}, kPause).record(kPause, record("a1", 0, "r", 51'200));
  fork.call({60, 51'300, 0}, kPause, record("a1", 60, "r", 51'300));
  fork.call({kPause + 60, 52'000, 0}, -1, record("b2", 1, "q", 52'000));
  Logs logs({{name_of("a1"), whole.text()}, {name_of("b2"), fork.text()}});
  for (const bool files : {true, false}) {
    const auto lines = logs.cache(files);
    INFO(lines[0].dump());
    CHECK(lines[0]["calls"] == 3);
    CHECK(causes_of(lines)["T1"] == 51'300 - 51'300 % 128);
  }
}

TEST_CASE("forks: what a damaged parent lacks was copied all the same") {
  Rollout fork("b2", kPause, R"(,"forked_from_id":"a1")");
  fork.meta("a1", kPause).call(kBegun[0], kPause).call(kBegun[1], kPause);
  fork.call({kPause + 60, 52'000, 0});
  const std::string whole = original("a1").text();
  const std::string first = Rollout("a1", 0).call(kBegun[0]).text();
  Logs logs({{name_of("a1"), first}, {name_of("b2"), fork.text()}});
  CHECK(session_of(logs.cache(true), "b2")["calls"] == 1);
  write_file(logs.folder + "/" + name_of("a1") + ".jsonl", whole);
  REQUIRE(logs.cli.run({"import", logs.folder}).code == 0);
  CHECK(logs.cache(false)[0]["calls"] == 3);
}

TEST_CASE("forks: without the history's file the fork begins with its first call") {
  Rollout fork("b2", kPause, R"(,"forked_from_id":"a1")");
  fork.meta("a1", kPause)
      .call(kBegun[0], kPause)
      .call(kBegun[1], kPause)
      .call({kPause + 60, 52'000, 0});
  Logs logs({{name_of("b2"), fork.text()}});
  for (const bool files : {true, false}) {
    const auto lines = logs.cache(files);
    CHECK(causes_of(lines).empty());
    CHECK(lines[0]["new_E0"] == 52'000);
  }
}

}  // namespace daybook::tests
