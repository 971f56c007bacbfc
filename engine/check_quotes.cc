// G8: what is quoted as the user's must be the user's.
#include <algorithm>
#include <array>

#include "engine/summary_text.h"
#include "engine/word_table.h"

namespace daybook::engine {
namespace {

constexpr WordSet<64> kAttributions(
    "user users asked said wrote requested told instructed demanded human owner customer "
    "asks wants says nutzer benutzer nutzerin benutzerin anwender kunde verlangt sagte "
    "bat schrieb fordert utilisateur usuario");

struct Quote {
  std::string_view text;
  bool attributed = false;  // said to be a user's; else merely in a section of demands
};

struct AttributionSink {
  bool found = false;
  void word(const Word& word) { found = found || kAttributions.has(word.text); }
  void chunk(const Chunk&) {}
  void stop(char) {}
};

bool attributes(std::string_view line) {
  AttributionSink sink;
  scan_text(line, sink);
  return sink.found || line.find("用户") != std::string_view::npos ||
         line.find("要求") != std::string_view::npos;
}

struct Marks {
  std::string_view open;
  std::string_view close;
};
constexpr std::array<Marks, 7> kMarks = {
    {{"\"", "\""}, {"“", "”"}, {"„", "“"}, {"«", "»"}, {"»", "«"}, {"「", "」"}, {"『", "』"}}};

/// The quoted pieces of a line; quotes between backticks are code.
void quotes_of_line(std::string_view line, bool attributed, std::vector<Quote>& quotes) {
  bool code = false;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '`') code = !code;
    std::size_t step = 1;
    for (const auto& marks : kMarks) {
      if (code || !line.substr(at).starts_with(marks.open)) continue;
      const std::size_t from = at + marks.open.size();
      const std::size_t to = line.find(marks.close, from);
      if (to == std::string_view::npos) break;
      quotes.push_back({line.substr(from, to - from), attributed});
      step = to + marks.close.size() - at;
      break;
    }
    at += step;
  }
}

/// All quotes of the section that stand for a user's words.
void quotes_of_section(std::string_view body, bool demands, std::vector<Quote>& quotes) {
  bool fenced = false;
  while (!body.empty()) {
    std::string_view line = trimmed(take_line(body));
    if (line.starts_with("```")) fenced = !fenced;
    if (fenced) continue;
    if (line.starts_with("- ") || line.starts_with("* ")) line = trimmed(line.substr(2));
    if (line.starts_with("> ")) {
      if (demands || attributes(line)) quotes.push_back({line.substr(2), true});
      continue;
    }
    const bool attributed = attributes(line);
    if (attributed || demands) quotes_of_line(line, attributed, quotes);
  }
}

/// Splits at ellipses: each piece must stand in one message.
std::vector<std::string_view> pieces_of(std::string_view quote) {
  std::vector<std::string_view> pieces;
  while (!quote.empty()) {
    const std::size_t dots = std::min(quote.find("..."), quote.find("…"));
    pieces.push_back(quote.substr(0, dots));
    quote = dots == std::string_view::npos ? std::string_view{} : quote.substr(dots + 3);
  }
  return pieces;
}

struct QuoteWords {
  std::vector<std::uint32_t> all;       // in order
  std::vector<std::uint32_t> distinct;  // sorted
  void word(const Word& word) {
    const std::uint64_t hash = word_hash(word.text);
    all.push_back(static_cast<std::uint32_t>(hash >> 32) | 1U);
  }
  void chunk(const Chunk&) {}
  void stop(char) {}
};

/// Negations as the shortened hashes of span words.
bool is_short_negation(std::uint32_t hash) {
  static const std::vector<std::uint32_t> kShort = [] {
    std::vector<std::uint32_t> all;
    for (const std::string_view word :
         {"not",   "no",   "never", "t",      "cannot", "without", "avoid",
          "nicht", "kein", "keine", "keinen", "nie",    "niemals", "ohne",
          "不",    "没",   "未",    "勿",     "别",     "无",      "禁"}) {
      all.push_back(static_cast<std::uint32_t>(word_hash(word) >> 32) | 1U);
    }
    return all;
  }();
  return std::find(kShort.begin(), kShort.end(), hash) != kShort.end();
}

/// The best match of a quote in one text: the most distinct words within a window of twice the
/// quote's length, and the window.
struct Match {
  std::size_t words = 0;
  std::size_t first = 0;  // positions in the text's words
  std::size_t last = 0;
};

Match best_match(const QuoteWords& quote, std::span<const PreparedSpan::UserWord> text) {
  Match best;
  const std::size_t reach = quote.all.size() * 2 + 4;
  std::vector<std::size_t> seen(quote.distinct.size(), 0);  // last position + 1
  std::vector<std::pair<std::size_t, std::size_t>> window;  // hits: position, distinct index
  std::size_t oldest = 0;
  std::size_t inside = 0;  // distinct words whose last position is in the window
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto found =
        std::lower_bound(quote.distinct.begin(), quote.distinct.end(), text[at].hash);
    if (found == quote.distinct.end() || *found != text[at].hash) continue;
    const auto index = static_cast<std::size_t>(found - quote.distinct.begin());
    while (oldest < window.size() && window[oldest].first + reach <= at) {
      const auto [position, gone] = window[oldest++];
      if (seen[gone] == position + 1) {
        seen[gone] = 0;
        --inside;
      }
    }
    inside += seen[index] == 0 ? 1U : 0U;
    seen[index] = at + 1;
    window.emplace_back(at, index);
    // Words that came again later do not make the window longer.
    while (oldest < window.size() && seen[window[oldest].second] != window[oldest].first + 1) {
      ++oldest;
    }
    if (inside > best.words) best = {inside, window[oldest].first, at};
  }
  return best;
}

/// Whether the user's clause says no more often, or less often, than the quote.
bool turns_meaning(const QuoteWords& quote, std::span<const PreparedSpan::UserWord> text,
                   const Match& match) {
  std::size_t from = match.first;
  // "do not push" quoted as "push": look back within the clause.
  for (int words = 0; words < 2 && from > 0 && text[from].starts == 0; ++words) --from;
  const auto begin = text.begin() + static_cast<std::ptrdiff_t>(from);
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(match.last) + 1;
  const auto said =
      std::count_if(begin, end, [](const auto& word) { return is_short_negation(word.hash); });
  const auto quoted = std::count_if(quote.all.begin(), quote.all.end(), is_short_negation);
  return said != quoted;
}

QuoteWords words_of(std::string_view text) {
  QuoteWords words;
  scan_text(text, words);
  words.distinct = words.all;
  std::sort(words.distinct.begin(), words.distinct.end());
  words.distinct.erase(std::unique(words.distinct.begin(), words.distinct.end()),
                       words.distinct.end());
  return words;
}

bool is_users(const GateContext& context, const QuoteWords& quote) {
  const auto all = context.span.user_words();
  const double wanted = context.limits.min_quote_match * static_cast<double>(quote.distinct.size());
  for (const auto& text : context.span.user_texts()) {
    const auto words = all.subspan(text.begin, text.end - text.begin);
    const Match match = best_match(quote, words);
    if (static_cast<double>(match.words) + 1e-9 < wanted) continue;
    if (!turns_meaning(quote, words, match)) return true;
  }
  return false;
}

/// Quotes of a program's output among the demands: believed when they are in the transcript.
bool stands_somewhere(const PreparedSpan& span, std::string_view quote) {
  return std::any_of(span.items().begin(), span.items().end(), [&](const auto& item) {
    return item.kind != SpanKind::kInjected && item.text.find(quote) != std::string_view::npos;
  });
}

}  // namespace

void check_quotes(const GateContext& context) {
  constexpr std::size_t kMostQuotes = 64;  // keeps the time linear
  std::vector<Quote> quotes;
  for (const Section& section : context.summary.sections) {
    quotes_of_section(section.body, states_demands(section.heading), quotes);
  }
  if (context.summary.headings_found == 0) {
    quotes_of_section(context.summary.text, false, quotes);
  }
  if (quotes.size() > kMostQuotes) quotes.resize(kMostQuotes);
  for (const Quote& quote : quotes) {
    for (const std::string_view piece : pieces_of(quote.text)) {
      const QuoteWords words = words_of(piece);
      if (words.all.size() < context.limits.min_quote_words) continue;
      if (is_users(context, words)) continue;
      if (!quote.attributed && stands_somewhere(context.span, trimmed(piece))) continue;
      context.add(GateCode::kInventedUserQuote, excerpt(quote.text));
      break;
    }
  }
}

}  // namespace daybook::engine
