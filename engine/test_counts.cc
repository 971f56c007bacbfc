#include "engine/test_counts.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "engine/summary_text.h"
#include "engine/word_table.h"

namespace daybook::engine {
namespace {

constexpr WordSet<64> kPass("pass passes passed passing green succeed succeeds succeeded ok");
constexpr WordSet<64> kFail("fail fails failed failing failure failures error errors broken");
constexpr WordSet<32> kBetween(
    "test tests case cases spec specs check checks of out the total unit assertions");
/// The summary's own count of something that it tells of.
constexpr WordSet<32> kOwn("new added both these those more other remaining of");

constexpr WordSet<64> kReportWords(
    "pass passes passed passing ok fail failed failing failure failures error errors skipped "
    "ignored total test tests run ran specs assertions of");

/// A piece of a sentence: a word, or what stands together without blanks.
struct Piece {
  std::string_view text;
  bool breaks = false;  // a comma or the like behind it
  long number = -1;     // -1: none
  long of = -1;         // "3/4"
};

long number_in(std::string_view text) {
  long value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && text.size() < 9 ? value : -1;
}

std::vector<Piece> pieces_of(std::string_view text) {
  std::vector<Piece> pieces;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.size(), text.find_first_of(" \t\n", at));
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
      word.remove_suffix(1);
    }
    if (word.empty()) continue;
    piece.text = word;
    const std::size_t slash = word.find('/');
    piece.number = number_in(word.substr(0, slash));
    if (slash != std::string_view::npos) {
      piece.of = number_in(word.substr(slash + 1));
      if (piece.of < 0) piece.number = -1;
    }
    pieces.push_back(piece);
  }
  return pieces;
}

/// The numbers of one report that stand beside a word of reports.
std::vector<long> numbers_of(std::string_view report) {
  constexpr std::size_t kMost = 24;  // the newest: the report's own lines are its last
  std::vector<long> numbers;
  while (!report.empty()) {
    const std::string_view line = take_line(report);
    if (line.size() > 400 || line.find_first_of("0123456789") == std::string_view::npos) continue;
    const auto pieces = pieces_of(line);
    const auto tells = [&](std::size_t i) {
      return i < pieces.size() && kReportWords.has(pieces[i].text);
    };
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].number < 0 || (!tells(i + 1) && (i == 0 || !tells(i - 1)))) continue;
      numbers.push_back(pieces[i].number);
      if (pieces[i].of >= 0) numbers.push_back(pieces[i].of);
    }
  }
  if (numbers.size() > kMost) {
    numbers.erase(numbers.begin(), numbers.end() - static_cast<std::ptrdiff_t>(kMost));
  }
  return numbers;
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
      if (pieces[at].number >= 0 && told.of < 0) {
        told.of = pieces[at].number;
      } else if (!kBetween.has(pieces[at].text)) {
        break;
      }
    }
    if (at >= pieces.size() || (!kPass.has(pieces[at].text) && !kFail.has(pieces[at].text)))
      continue;
    if (i > 0 && kOwn.has(pieces[i - 1].text)) continue;
    told.pass = kPass.has(pieces[at].text);
    const bool every = i > 0 && word_hash(pieces[i - 1].text) == word_hash("all");
    told.all = every || told.of == told.count;
    counts.push_back(told);
    i = at;
  }
  return counts;
}

TestCounts::TestCounts(const PreparedSpan& span) {
  for (const SpanCall& call : span.calls()) {
    if ((call.classes & kTests) == 0 || call.result == SpanCall::kNone) continue;
    auto numbers = numbers_of(span.items()[call.result].text);
    if (!numbers.empty()) runs_.push_back(std::move(numbers));
  }
}

bool TestCounts::holds(long number) const {
  return std::any_of(runs_.begin(), runs_.end(), [&](const std::vector<long>& run) {
    for (std::size_t a = 0; a < run.size(); ++a) {
      if (run[a] == number) return true;
      for (std::size_t b = 0; b < a; ++b) {
        if (run[a] + run[b] == number || std::labs(run[a] - run[b]) == number) return true;
      }
    }
    return false;
  });
}

}  // namespace daybook::engine
