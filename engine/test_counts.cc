#include "engine/test_counts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "engine/summary_text.h"
#include "engine/word_table.h"

namespace daybook::engine {
namespace {

constexpr WordSet<64> kPass(
    "pass passes passed passing green succeed succeeds succeeded ok bestanden bestehen grün");
constexpr WordSet<64> kFail(
    "fail fails failed failing failure failures error errors broken fehlgeschlagen");
constexpr WordSet<32> kBetween(
    "test tests case cases spec specs check checks of out the total unit assertions von der den "
    "wurden sind haben");
/// The summary's own count of something that it tells of.
constexpr WordSet<32> kOwn("new added both these those more other remaining of");

constexpr WordSet<64> kReportWords(
    "pass passes passed passing ok fail failed failing failure failures error errors skipped "
    "ignored total test tests run ran runs specs of");

/// A piece of a sentence: a word, or what stands together without blanks and quotes.
struct Piece {
  std::string_view text;
  bool breaks = false;  // a comma or the like behind it
  bool colon = false;
  long number = -1;  // -1: none
  long of = -1;      // "3/4"
};

long number_in(std::string_view text) {
  long value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && text.size() < 9 ? value : -1;
}

/// Where no digits stand for it.
constexpr WordTable kNumberWords({
    WordRow<long>{"two", 2},
    {"zwei", 2},
    {"three", 3},
    {"drei", 3},
    {"four", 4},
    {"vier", 4},
    {"five", 5},
    {"fünf", 5},
    {"six", 6},
    {"sechs", 6},
    {"seven", 7},
    {"sieben", 7},
    {"eight", 8},
    {"acht", 8},
    {"nine", 9},
    {"neun", 9},
    {"ten", 10},
    {"zehn", 10},
    {"eleven", 11},
    {"elf", 11},
    {"twelve", 12},
    {"zwölf", 12},
    {"thirteen", 13},
    {"dreizehn", 13},
    {"fourteen", 14},
    {"vierzehn", 14},
    {"fifteen", 15},
    {"fünfzehn", 15},
    {"sixteen", 16},
    {"sechzehn", 16},
    {"seventeen", 17},
    {"siebzehn", 17},
    {"eighteen", 18},
    {"achtzehn", 18},
    {"nineteen", 19},
    {"neunzehn", 19},
    {"twenty", 20},
    {"zwanzig", 20},
});

std::vector<Piece> pieces_of(std::string_view text) {
  std::vector<Piece> pieces;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.size(), text.find_first_of(" \t\n\"", at));
    std::string_view word = text.substr(at, end - at);
    at = end + 1;
    while (!word.empty() &&
           std::string_view("(\"*`[").find(word.front()) != std::string_view::npos) {
      word.remove_prefix(1);
    }
    Piece piece;
    while (!word.empty() &&
           std::string_view(",.;:)\"*`]").find(word.back()) != std::string_view::npos) {
      piece.breaks = piece.breaks || word.back() == ',' || word.back() == ';';
      piece.colon = piece.colon || word.back() == ':';
      word.remove_suffix(1);
    }
    if (word.empty()) continue;
    piece.text = word;
    const std::size_t slash = word.find('/');
    piece.number = number_in(word.substr(0, slash));
    if (slash != std::string_view::npos) {
      piece.of = number_in(word.substr(slash + 1));
      if (piece.of < 0) piece.number = -1;
    } else if (piece.number < 0) {
      const long* const told = kNumberWords.find(word);
      if (told != nullptr) piece.number = *told;
    }
    pieces.push_back(piece);
  }
  return pieces;
}

/// What the number at `i` counts: by the word before a colon, else by the word behind it. Nothing
/// when neither is one of reports.
std::optional<std::string_view> counted_by(const std::vector<Piece>& pieces, std::size_t i) {
  const auto tells = [&](std::size_t at) {
    return at < pieces.size() && kReportWords.has(pieces[at].text);
  };
  if (i > 0 && pieces[i - 1].colon && tells(i - 1)) return pieces[i - 1].text;
  if (!pieces[i].breaks && tells(i + 1)) {
    // "2 tests failed"
    const bool thing = kBetween.has(pieces[i + 1].text) && !pieces[i + 1].breaks;
    return thing && tells(i + 2) ? pieces[i + 2].text : pieces[i + 1].text;
  }
  if (i > 0 && !pieces[i - 1].breaks && tells(i - 1)) return pieces[i - 1].text;
  return std::nullopt;
}

/// The numbers of one report that stand beside a word of reports.
std::vector<TestCounts::Number> numbers_of(std::string_view report) {
  using Of = TestCounts::Number::Of;
  constexpr std::size_t kMost = 24;  // the newest: the report's own lines are its last
  std::vector<TestCounts::Number> numbers;
  while (!report.empty()) {
    const std::string_view line = take_line(report);
    if (line.size() > 400 || line.find_first_of("0123456789") == std::string_view::npos) continue;
    const auto pieces = pieces_of(line);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].number < 0) continue;
      // "3 of 4 tests passed": the three did.
      const bool part = i + 2 < pieces.size() && word_hash(pieces[i + 1].text) == word_hash("of") &&
                        pieces[i + 2].number >= 0;
      const auto word = counted_by(pieces, part ? i + 2 : i);
      if (!word) continue;
      const Of of = kPass.has(*word) ? Of::passed : kFail.has(*word) ? Of::failed : Of::all;
      numbers.push_back({pieces[i].number, of});
      if (pieces[i].of >= 0) numbers.push_back({pieces[i].of, Of::all});
      if (!part) continue;
      i += 2;
      numbers.push_back({pieces[i].number, Of::all});
    }
  }
  if (numbers.size() > kMost) {
    numbers.erase(numbers.begin(), numbers.end() - static_cast<std::ptrdiff_t>(kMost));
  }
  return numbers;
}

using Of = TestCounts::Number::Of;

/// Whether one report holds the number, as what passed or failed where it tells that.
bool in_report(const std::vector<TestCounts::Number>& report, long number, Of what) {
  const bool tells =
      what != Of::all &&
      std::any_of(report.begin(), report.end(), [&](const auto& one) { return one.of == what; });
  // Most reports say nothing of what did not happen.
  if (what == Of::failed && number == 0 && !tells) return true;
  const auto counts = [&](const TestCounts::Number& one) { return !tells || one.of == what; };
  const Of other = what == Of::passed ? Of::failed : Of::passed;
  for (std::size_t a = 0; a < report.size(); ++a) {
    if (report[a].value == number && counts(report[a])) return true;
    for (std::size_t b = 0; b < report.size(); ++b) {
      if (a == b) continue;
      if (counts(report[a]) && counts(report[b]) && report[a].value + report[b].value == number) {
        return true;
      }
      // All less the others.
      const bool rest = !tells || (report[a].of == Of::all && report[b].of == other);
      if (rest && report[a].value - report[b].value == number) return true;
    }
  }
  return false;
}

/// Whether one report may count as many tests in all: told so, or the sum of two of its numbers, or
/// what was skipped taken off.
bool is_total(const std::vector<TestCounts::Number>& report, long number) {
  const bool failures = std::any_of(report.begin(), report.end(), [](const auto& one) {
    return one.of == Of::failed && one.value > 0;
  });
  for (std::size_t a = 0; a < report.size(); ++a) {
    const bool whole = report[a].of == Of::all || (report[a].of == Of::passed && !failures);
    if (whole && report[a].value == number) return true;
    for (std::size_t b = 0; b < report.size(); ++b) {
      if (a == b) continue;
      if (report[a].value + report[b].value == number) return true;
      const bool skipped = report[a].of == Of::all && report[b].of == Of::all;
      if (skipped && report[a].value - report[b].value == number) return true;
    }
  }
  return false;
}

}  // namespace

namespace {

/// "7 个测试全部通过", "2 个失败", "7 个测试中 6 个通过": words are not set apart.
void add_chinese_counts(std::string_view clause, std::vector<ToldCount>& counts) {
  constexpr std::array<std::string_view, 12> kThings = {" ",    "个",   "项", "条", "测试", "用例",
                                                        "全部", "全都", "都", "均", "已",   "里"};
  long of = -1;
  for (std::size_t at = 0; (at = clause.find_first_of("0123456789", at)) != clause.npos;) {
    const std::size_t end = std::min(clause.size(), clause.find_first_not_of("0123456789", at));
    ToldCount told{number_in(clause.substr(at, end - at)), of, false, false};
    std::string_view rest = clause.substr(end);
    for (bool taken = true; taken;) {
      taken = false;
      for (const std::string_view thing : kThings) {
        if (!rest.starts_with(thing)) continue;
        told.all = told.all || thing == "全部" || thing == "全都" || thing == "都";
        rest.remove_prefix(thing.size());
        taken = true;
      }
    }
    at = end;
    of = rest.starts_with("中") ? told.count : -1;
    told.pass = rest.starts_with("通过");
    told.all = told.all || told.of == told.count;
    if (told.count >= 0 && (told.pass || rest.starts_with("失败"))) counts.push_back(told);
  }
}

}  // namespace

std::vector<ToldCount> told_counts(std::string_view clause) {
  constexpr std::size_t kReach = 6;  // pieces from the number to what it counts
  std::vector<ToldCount> counts;
  const auto pieces = pieces_of(clause);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].number < 0) continue;
    ToldCount told{pieces[i].number, pieces[i].of, false, false};
    std::size_t at = i + 1;
    for (; at < pieces.size() && at <= i + kReach; ++at) {
      if (pieces[at - 1].breaks) at = pieces.size();
      if (at >= pieces.size()) break;
      // "3 of 4", not "(exit 1): 3".
      if (pieces[at].number >= 0 && told.of < 0 && at > i + 1) {
        told.of = pieces[at].number;
      } else if (!kBetween.has(pieces[at].text)) {
        break;
      }
    }
    if (at >= pieces.size() || (!kPass.has(pieces[at].text) && !kFail.has(pieces[at].text)))
      continue;
    if (i > 0 && kOwn.has(pieces[i - 1].text)) continue;
    told.pass = kPass.has(pieces[at].text);
    static constexpr WordSet<16> kEvery("all alle");
    const bool every = i > 0 && kEvery.has(pieces[i - 1].text);
    told.all = every || told.of == told.count;
    counts.push_back(told);
    i = at;
  }
  add_chinese_counts(clause, counts);
  return counts;
}

TestCounts::TestCounts(const PreparedSpan& span) {
  for (const SpanCall& call : span.calls()) {
    if ((call.classes & kTests) == 0 || call.result == SpanCall::kNone) continue;
    auto numbers = numbers_of(span.items()[call.result].text);
    const std::size_t begun = call.begun == SpanCall::kNone ? call.call : call.begun;
    if (!numbers.empty()) runs_.push_back({begun, std::move(numbers)});
  }
}

bool TestCounts::any_of(std::span<const std::size_t> calls) const {
  return std::any_of(runs_.begin(), runs_.end(), [&](const Report& report) {
    return report.call != SpanCall::kNone &&
           std::find(calls.begin(), calls.end(), report.call) != calls.end();
  });
}

bool TestCounts::holds(const ToldCount& told, std::span<const std::size_t> calls) const {
  return std::any_of(runs_.begin(), runs_.end(), [&](const Report& report) {
    const bool meant =
        calls.empty() || std::find(calls.begin(), calls.end(), report.call) != calls.end();
    return meant && in_report(report.numbers, told.count, told.pass ? Of::passed : Of::failed) &&
           (told.of < 0 || is_total(report.numbers, told.of));
  });
}

bool counts_tests(std::string_view report) {
  return !numbers_of(report).empty();
}

}  // namespace daybook::engine
