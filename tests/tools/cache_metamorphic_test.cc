// The analyses say the same, to the byte, however the same log lines are filed.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/support/cli.h"
#include "tests/support/temp_dir.h"
#include "tests/tools/codex_counters.h"
#include "tests/tools/log_reading.h"

namespace daybook::tests {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string>& transcripts() {
  static const std::vector<std::string> kNames = {
      "four-blocks", "ttl",   "resume-a",  "resume-b",   "replay",
      "branch",      "roots", "compacted", "same-usage", "synthetic"};
  return kNames;
}

/// The fixtures use the same ids for other responses; sessions of one program do not.
std::string text_of(const std::string& name) {
  std::string text = read_file(log_fixture("claude/" + name + ".jsonl"));
  const std::string start = "\"id\":\"m";
  const std::string by = "\"id\":\"" + name.substr(0, 6) + "-m";
  std::size_t at = 0;
  while ((at = text.find(start, at)) != std::string::npos) {
    text.replace(at, start.size(), by);
    at += by.size();
  }
  return text;
}

/// What both commands print of a folder of logs.
std::string reports_of(const fs::path& folder, const std::string& zone = "UTC") {
  Cli cli;
  cli.environment["TZ"] = zone;
  std::string all;
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"cache", "--json"}, {"cost", "--json", "--by", "session"}}) {
    std::vector<std::string> arguments = command;
    arguments.push_back(folder.string());
    const CliRun run = cli.run(arguments);
    INFO(run.err);
    all += fmt::format("{}exit code {}\n", run.out, run.code);
  }
  // How many copies were met is not the same, and is said.
  const std::size_t at = all.find(",\"copies\":");
  if (at != std::string::npos) all.erase(at, all.find(',', at + 1) - at);
  return all;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::string filed_plainly() {
  const TempDir dir;
  for (const auto& name : transcripts()) {
    write_file(dir.path() / (name + ".jsonl"), text_of(name));
  }
  const std::string reports = reports_of(dir.path());
  CHECK_THAT(reports, Catch::EndsWith("exit code 0\n"));
  return reports;
}

TEST_CASE("reports do not depend on the names and the order of files") {
  const TempDir dir;
  int number = 99;
  for (const auto& name : transcripts()) {
    write_file(dir.path() / (std::to_string(--number) + ".jsonl"), text_of(name));
  }
  CHECK(reports_of(dir.path()) == filed_plainly());
}

TEST_CASE("reports do not change when files are there twice") {
  const TempDir dir;
  for (const auto& name : transcripts()) {
    for (const std::string copy : {"", "copy-of-"}) {
      write_file(dir.path() / (copy + name + ".jsonl"), text_of(name));
    }
  }
  CHECK(reports_of(dir.path()) == filed_plainly());
}

TEST_CASE("reports do not change when a file's lines are there twice") {
  const TempDir dir;
  for (const auto& name : transcripts()) {
    write_file(dir.path() / (name + ".jsonl"), text_of(name) + text_of(name));
  }
  CHECK(reports_of(dir.path()) == filed_plainly());
}

TEST_CASE("reports do not change when files are merged") {
  const TempDir dir;
  std::string all;
  for (const auto& name : transcripts()) all += text_of(name);
  write_file(dir.path() / "all.jsonl", all);
  CHECK(reports_of(dir.path()) == filed_plainly());
}

/// Position behind the first `lines` lines; the end when there are not more.
std::size_t behind(const std::string& text, std::size_t lines) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < lines && at < text.size(); ++i) at = text.find('\n', at) + 1;
  return at;
}

/// A file cut before a line, into `name` and `rest`; whole, when it is not that long.
void write_cut(const fs::path& folder, const std::string& name, const std::string& rest,
               const std::string& text, std::size_t lines) {
  const std::size_t end = behind(text, lines);
  write_file(folder / name, text.substr(0, end));
  if (end < text.size()) write_file(folder / rest, text.substr(end));
}

constexpr std::size_t kLongest = 30;  // lines of a fixture, at most

TEST_CASE("reports do not change when files are split, at any line") {
  const std::string expected = filed_plainly();
  for (std::size_t cut = 1; cut < kLongest; ++cut) {
    INFO("cut behind line " << cut);
    const TempDir dir;
    for (const auto& name : transcripts()) {
      write_cut(dir.path(), name + ".jsonl", "rest-" + name + ".jsonl", text_of(name), cut);
    }
    CHECK(reports_of(dir.path()) == expected);
    // Both parts are there twice.
    for (const auto& name : transcripts()) {
      write_cut(dir.path(), "0-" + name + ".jsonl", "a-" + name + ".jsonl", text_of(name), cut);
    }
    CHECK(reports_of(dir.path()) == expected);
  }
}

TEST_CASE("reports do not change when files are split into their lines") {
  const TempDir dir;
  for (const auto& name : transcripts()) {
    const std::string text = text_of(name);
    for (std::size_t i = 0; behind(text, i) < text.size(); ++i) {
      const std::size_t start = behind(text, i);
      write_file(dir.path() / fmt::format("{}-{}.jsonl", 99 - i, name),
                 text.substr(start, behind(text, i + 1) - start));
    }
  }
  CHECK(reports_of(dir.path()) == filed_plainly());
}

TEST_CASE("reports are the same in every zone, but for its name") {
  const TempDir dir;
  for (const auto& name : transcripts()) {
    write_file(dir.path() / (name + ".jsonl"), text_of(name));
  }
  const std::string expected = reports_of(dir.path());
  for (const std::string zone : {"Asia/Kathmandu", "America/New_York", "Pacific/Kiritimati"}) {
    CHECK(replaced(reports_of(dir.path(), zone), "\"" + zone + "\"", "\"UTC\"") == expected);
  }
}

TEST_CASE("reports do not change when everything happens a month later, but for the dates") {
  const TempDir dir;
  for (const auto& name : transcripts()) {
    const std::string text = text_of(name);
    CHECK(text.find("2026-10-0") != std::string::npos);
    write_file(dir.path() / (name + ".jsonl"), replaced(text, "2026-10-0", "2026-11-0"));
  }
  CHECK(replaced(reports_of(dir.path()), "2026-11-0", "2026-10-0") == filed_plainly());
}

TEST_CASE("reports of Codex's logs do not depend on their names, their order or their copies") {
  const std::vector<std::string> threads = {"0a01", "0a02", "0a03", "0a04", "0a05", "0b01",
                                            "0b02", "0c01", "0d02", "2a03", "2a04", "2a05"};
  const auto filed = [&](const std::function<std::vector<std::string>(const std::string&)>& names) {
    const TempDir dir;
    for (const std::string& thread : threads) {
      const std::string file = "rollout-2026-10-02T10-00-00-" + thread + ".jsonl";
      for (const std::string& name : names(file)) {
        fs::create_directories((dir.path() / name).parent_path());
        fs::copy_file(log_fixture("codex/" + file), dir.path() / name);
      }
    }
    return reports_of(dir.path());
  };
  using Names = std::vector<std::string>;
  const std::string expected = filed([](const std::string& file) { return Names{file}; });
  int number = 99;
  CHECK(filed([&](const std::string&) { return Names{std::to_string(--number) + ".jsonl"}; }) ==
        expected);
  CHECK(filed([](const std::string& file) { return Names{file, "again/" + file}; }) == expected);
  CHECK(filed([](const std::string& file) { return Names{file, "copy-of-" + file}; }) == expected);
}

/// A Codex thread of turns, one response each; what its second loses has several causes.
struct Thread {
  std::string id;
  std::string header;
  std::vector<std::string> turns;

  Thread(std::string name, int minute) : id(std::move(name)) {
    const auto line = [&](int second, const char* type, const std::string& payload) {
      return fmt::format(
          R"({{"timestamp":"2026-10-02T10:{:02}:{:02}.000Z","type":"{}","payload":{}}})"
          "\n",
          minute, second, type, payload);
    };
    header = line(0, "session_meta", fmt::format(R"({{"id":"{}","cwd":"/p"}})", id));
    int input = 0, cached = 0;
    for (int turn = 0; turn < 5; ++turn) {
      const int read = turn == 2 ? 0 : turn * 20'480;
      input += 20'480 * (turn + 1);
      cached += read;
      const auto message = [](const char* role, const char* kind, int number) {
        return fmt::format(R"({{"type":"message","role":"{}","content":[{{"type":"{}_text",)"
                           R"("text":"part {}"}}]}})",
                           role, kind, number);
      };
      const int at = 10 * turn;
      turns.push_back(
          line(at, "turn_context",
               fmt::format(R"({{"turn_id":"{}{}","cwd":"/p","model":"gpt-5.5"}})", id, turn)) +
          line(at + 1, "response_item", message("user", "input", turn)) +
          line(at + 4, "response_item", message("assistant", "output", turn)) +
          line(at + 5, "event_msg",
               codex_token_count(codex_usage(input, cached, 9 * (turn + 1)),
                                 codex_usage(20'480 * (turn + 1), read, 9))));
    }
  }
  /// Turns `from` to before `to`.
  std::string text(std::size_t from = 0, std::size_t to = 5) const {
    std::string made = from == 0 ? header : "";
    for (std::size_t i = from; i < to; ++i) made += turns[i];
    return made;
  }
  std::string file() const { return "rollout-2026-10-02T10-00-00-" + id; }
};

TEST_CASE("reports of Codex's logs do not change when files are split or merged") {
  const Thread first("7a01", 0), second("7a02", 20);
  const auto reports = [](const std::vector<std::pair<std::string, std::string>>& files) {
    const TempDir dir;
    for (const auto& [name, text] : files) write_file(dir.path() / (name + ".jsonl"), text);
    return reports_of(dir.path());
  };
  const std::string expected =
      reports({{first.file(), first.text()}, {second.file(), second.text()}});
  CHECK_THAT(expected, Catch::Contains(R"("calls":10)"));
  CHECK(reports({{first.file(), first.text() + second.text()}}) == expected);
  for (std::size_t cut = 1; cut < 5; ++cut) {
    INFO("cut before turn " << cut);
    CHECK(reports({{first.file(), first.text(0, cut)},
                   {first.file() + "_2", first.text(cut)},
                   {second.file(), second.text()}}) == expected);
  }
}

// Without 2a01: lines of its generation tell neither a time nor, but for the header, their program.
const std::vector<std::string>& codex_threads() {
  static const std::vector<std::string> kNames = {
      "0a01", "0a02", "0a03", "0a04", "0a05", "0b01", "0b02", "0c01", "0d02", "0e01", "0e02",
      "0f01", "0f02", "0f03", "0f04", "2a02", "2a03", "2a04", "2a05", "2a06", "3a02", "3a03"};
  return kNames;
}

std::string codex_file(const std::string& thread) {
  return "rollout-2026-10-02T10-00-00-" + thread;
}

std::string codex_text(const std::string& thread) {
  return read_file(log_fixture("codex/" + codex_file(thread) + ".jsonl"));
}

TEST_CASE("reports of Codex's logs do not change when files are split, at any line") {
  const TempDir whole;
  for (const auto& thread : codex_threads()) {
    write_file(whole.path() / (codex_file(thread) + ".jsonl"), codex_text(thread));
  }
  const std::string expected = reports_of(whole.path());
  for (std::size_t cut = 1; cut < kLongest; ++cut) {
    INFO("cut behind line " << cut);
    const TempDir dir;
    for (const auto& thread : codex_threads()) {
      write_cut(dir.path(), codex_file(thread) + ".jsonl", codex_file(thread) + "_2.jsonl",
                codex_text(thread), cut);
    }
    CHECK(reports_of(dir.path()) == expected);
    // The whole file beside its parts. Of records that disagree a part may know less (0e01).
    for (const auto& thread : codex_threads()) {
      if (thread == "0e01") continue;
      write_file(dir.path() / ("whole-" + thread + ".jsonl"), codex_text(thread));
    }
    CHECK(reports_of(dir.path()) == expected);
  }
}

TEST_CASE("reports of a journal do not change when its logs are imported again") {
  const TempDir dir;
  for (const auto& name : transcripts()) {
    write_file(dir.path() / (name + ".jsonl"), text_of(name));
  }
  Cli cli;
  const auto reports = [&] {
    return cli.run({"cache", "--json"}).out + cli.run({"cost", "--json", "--by", "session"}).out;
  };
  CHECK(cli.run({"import", dir.str()}).code == 0);
  const std::string once = reports();
  CHECK(once.find("\"line\":\"total\"") != std::string::npos);
  CHECK(cli.run({"import", dir.str()}).code == 0);
  CHECK(reports() == once);
  // Copies under other names, and merged.
  std::string all;
  for (const auto& name : transcripts()) {
    fs::rename(dir.path() / (name + ".jsonl"), dir.path() / ("moved-" + name + ".jsonl"));
    all += text_of(name);
  }
  write_file(dir.path() / "all.jsonl", all);
  CHECK(cli.run({"import", dir.str()}).code == 0);
  CHECK(reports() == once);
}

using Files = std::vector<std::pair<std::string, std::string>>;  // name and text

Files operator+(Files a, const Files& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// What both commands print of a journal into which `files` were imported.
std::string journal_reports(const Files& files, bool at_once) {
  const TempDir dir;
  Cli cli;
  for (const auto& [name, text] : files) {
    write_file(dir.path() / name, text);
    if (!at_once) CHECK(cli.run({"import", dir.str(name)}).code != 1);
  }
  if (at_once) CHECK(cli.run({"import", dir.str()}).code != 1);
  const std::string all =
      cli.run({"cache", "--json"}).out + cli.run({"cost", "--json", "--by", "session"}).out;
  // Where in its session an event stands, and how often a call was told again, are facts of the
  // journal.
  return std::regex_replace(all, std::regex(R"x("(version|copies)":\d+,)x"), "");
}

/// Whether a file and its two parts give the same, wherever it is cut.
void check_cuts(const std::string& name, const std::string& rest, const std::string& text) {
  const std::string expected = journal_reports({{name, text}}, true);
  CHECK(expected.find("\"line\":\"total\"") != std::string::npos);
  for (std::size_t end = text.find('\n') + 1; end < text.size(); end = text.find('\n', end) + 1) {
    INFO(name << ", cut at " << end);
    const Files parts = {{name, text.substr(0, end)}, {rest, text.substr(end)}};
    CHECK(journal_reports(parts, true) == expected);
    CHECK(journal_reports(parts, false) == expected);
    // The rest grew after it was imported.
    const std::string line = text.substr(end, text.find('\n', end) + 1 - end);
    CHECK(journal_reports({parts[0], {rest, line}, parts[1]}, false) == expected);
  }
}

TEST_CASE("reports of a journal do not change when its logs are split at any line") {
  for (const auto& name : transcripts()) {
    check_cuts(name + ".jsonl", "rest-" + name + ".jsonl", text_of(name));
  }
  const Thread thread("7a01", 0);
  check_cuts(thread.file() + ".jsonl", thread.file() + "_2.jsonl", thread.text());
}

TEST_CASE("reports of a journal do not change when Codex's logs are split at any line") {
  // Without those of which a record behind the cut changes what was imported before it (0e01,
  // 0e02), and the one whose settings stand in a damaged line (0f04).
  std::vector<std::string> threads = codex_threads();
  std::erase_if(threads, [](const std::string& thread) {
    return thread == "0e01" || thread == "0e02" || thread == "0f04";
  });
  Files whole;
  for (const auto& thread : threads) {
    whole.emplace_back(codex_file(thread) + ".jsonl", codex_text(thread));
  }
  const std::string expected = journal_reports(whole, true);
  for (std::size_t cut = 1; cut < kLongest; ++cut) {
    INFO("cut behind line " << cut);
    Files parts;
    for (const auto& thread : threads) {
      const std::string text = codex_text(thread);
      const std::size_t end = behind(text, cut);
      parts.emplace_back(codex_file(thread) + ".jsonl", text.substr(0, end));
      if (end < text.size()) parts.emplace_back(codex_file(thread) + "_2.jsonl", text.substr(end));
    }
    CHECK(journal_reports(parts, true) == expected);
  }
}

TEST_CASE("a rollout that says the same several times may be split at any line") {
  // Compactions that tell nothing.
  const Thread thread("7a01", 0);
  std::string text = thread.text(0, 2);
  for (int turn = 2; turn < 4; ++turn) {
    text += fmt::format(R"({{"timestamp":"2026-10-02T10:00:{}8.000Z","type":"compacted",)"
                        R"("payload":{{"message":""}}}})"
                        "\n",
                        turn - 1);
    text += thread.turns[turn];
  }
  check_cuts(thread.file() + ".jsonl", thread.file() + "_2.jsonl", text);
}

TEST_CASE("a response whose first line tells the most may be split at any line") {
  std::string text;
  const auto add = [&](const std::string& type, const std::string& message) {
    static int number = 0;
    text += fmt::format(R"({{"parentUuid":{},"sessionId":"s","type":"{}","uuid":"u{}",)"
                        R"("timestamp":"2026-10-01T10:00:{:02}.000Z","message":{}}})"
                        "\n",
                        text.empty() ? "null" : fmt::format("\"u{}\"", number), type, number + 1,
                        number + 1, message);
    ++number;
  };
  const auto answer = [&](const char* tool, int output) {
    add("assistant",
        fmt::format(R"({{"id":"m1","model":"claude-sonnet-5","role":"assistant","content":)"
                    R"([{{"type":"tool_use","id":"t-{0}","name":"{0}","input":{{}}}}],)"
                    R"("usage":{{"input_tokens":900,"output_tokens":{1}}}}})",
                    tool, output));
  };
  add("user", R"({"role":"user","content":"go"})");
  answer("Bash", 8);
  answer("Grep", 1);
  answer("Read", 1);
  check_cuts("s.jsonl", "rest.jsonl", text);
}

TEST_CASE("a fork may be split at any line, and its parent, and imported file by file") {
  const auto cut = [](const std::string& thread, std::size_t lines) {
    const std::string text = codex_text(thread);
    const std::size_t end = behind(text, lines);
    Files files = {{codex_file(thread) + ".jsonl", text.substr(0, end)}};
    if (end < text.size()) files.emplace_back(codex_file(thread) + "_2.jsonl", text.substr(end));
    return files;
  };
  const std::string expected = journal_reports(cut("0b01", kLongest) + cut("0b02", kLongest), true);
  const std::string alone = journal_reports(cut("0b02", kLongest), true);
  for (std::size_t lines = 1; lines < 19; ++lines) {
    INFO("cut behind line " << lines);
    CHECK(journal_reports(cut("0b01", lines) + cut("0b02", lines), false) == expected);
    // Behind the copied history nothing says that its end was estimated.
    if (lines < 12) CHECK(journal_reports(cut("0b02", lines), true) == alone);
  }
}

TEST_CASE("reports of a journal do not change when a log is split into its lines") {
  const Thread thread("7a01", 0);
  // Each answer begins with the same item.
  const std::string text = std::regex_replace(
      thread.text(), std::regex(R"x(\{"timestamp":"([^"]*)"[^\n]*"role":"assistant")x"),
      R"({"timestamp":"$1","type":"response_item","payload":{"type":"reasoning","summary":[]}})"
      "\n$&");
  const auto parts = [&](std::size_t first) {
    Files files = {{thread.file() + ".jsonl", text.substr(0, behind(text, first))}};
    for (std::size_t i = first; behind(text, i) < text.size(); ++i) {
      const std::size_t start = behind(text, i);
      files.emplace_back(fmt::format("{}_{}.jsonl", thread.file(), i),
                         text.substr(start, behind(text, i + 1) - start));
    }
    return files;
  };
  const std::string expected = journal_reports({{thread.file() + ".jsonl", text}}, true);
  // The header and the settings alone make no session, with the prompt they do.
  for (const std::size_t first : {2, 3}) {
    INFO("a first part of " << first << " lines");
    CHECK(journal_reports(parts(first), true) == expected);
    CHECK(journal_reports(parts(first), false) == expected);
  }
}

TEST_CASE("parts of a rollout that begin in the same moment are imported in their order") {
  // The counter's moment is that of its answer; the settings' moment that of the prompt.
  const Thread thread("7a01", 0);
  const std::string text = std::regex_replace(
      thread.text(), std::regex(R"x((10:0[0-9]:[0-9])[0-9](\.000Z))x"), "$012$2");
  const std::string expected = journal_reports({{thread.file() + ".jsonl", text}}, true);
  const std::string name = thread.file();
  for (std::size_t cut = 2; cut + 1 < 21; ++cut) {
    INFO("line " << cut << " is a file of its own");
    const std::size_t at = behind(text, cut), next = behind(text, cut + 1);
    CHECK(journal_reports({{name + ".jsonl", text.substr(0, at)},
                           {name + "_9.jsonl", text.substr(at, next - at)},
                           {name + "_10.jsonl", text.substr(next)}},
                          true) == expected);
  }
}

TEST_CASE("the journal and the files count the same calls, those without figures too") {
  for (const char* name : {"claude", "codex"}) {
    INFO(name);
    const std::string logs = log_fixture(name);
    Cli cli;
    cli.run({"import", logs});
    const auto total = [&](const std::vector<std::string>& arguments) {
      return json_lines(cli.run(arguments).out).back();
    };
    const Json stored = total({"cost", "--json"});
    const Json read = total({"cost", "--json", logs});
    // A Codex log that ends in the middle of an answer: the journal waits for its figures.
    const int waiting = name == std::string("codex") ? 1 : 0;
    CHECK(stored["calls"].get<int>() + waiting == read["calls"].get<int>());
    CHECK(stored["without_usage"].get<int>() + waiting == read["without_usage"].get<int>());
    CHECK(stored["tokens"] == read["tokens"]);
  }
}

}  // namespace
}  // namespace daybook::tests
