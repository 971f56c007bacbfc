// A span read once, for any number of replies: its words, entities and numbers, what users wrote,
// and which tool calls succeeded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/summary_gate.h"
#include "engine/text_entity.h"

namespace daybook::engine {

/// Where in a span something occurs.
enum Source : std::uint8_t {
  kFromUser = 1,
  kFromAssistant = 2,
  kFromOkCall = 4,     // in the arguments of a call that succeeded
  kFromOtherCall = 8,  // of one that failed, or whose outcome is not known
  kFromOkResult = 16,
  kFromFailedResult = 32,
  kFromPrior = 64,
  kFromInjected = 128,
};

/// 64-bit keys (never 0) with the sources they came from. Grows; nothing is removed.
class KeySet {
 public:
  explicit KeySet(std::size_t expected);
  /// Whether the key is new, or new from this source.
  bool add(std::uint64_t key, std::uint8_t source);
  /// All sources; 0: unknown.
  std::uint8_t find(std::uint64_t key) const;
  std::size_t size() const { return size_; }

 private:
  void grow();
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint8_t> sources_;
  std::size_t mask_;
  std::size_t size_ = 0;
};

enum class CallOutcome : std::uint8_t { unknown, succeeded, failed };

/// What a tool call can prove.
enum CallClass : std::uint8_t {
  kWrites = 1,
  kCommand = 2,
  kTests = 4,
  kBuilds = 8,
  kCommits = 16,
  kPushes = 32,
  kReads = 64,
};

/// A call and the result that answers it: the next one of the same tool.
struct SpanCall {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t call = kNone;  // item; kNone: a result whose call is not in the span
  std::size_t result = kNone;
  CallOutcome outcome = CallOutcome::unknown;
  std::uint8_t classes = 0;   // CallClass bits
  std::size_t begun = kNone;  // the call that began what this one asks for again
};

class PreparedSpan {
 public:
  /// Views of the items are kept.
  explicit PreparedSpan(std::span<const SpanItem> items);
  PreparedSpan(const PreparedSpan&) = delete;
  PreparedSpan& operator=(const PreparedSpan&) = delete;
  PreparedSpan(PreparedSpan&&) = default;
  PreparedSpan& operator=(PreparedSpan&&) = default;
  ~PreparedSpan() = default;

  struct Item {
    SpanKind kind = SpanKind::kUser;
    std::string_view text;  // JSON strings of calls and results with their escapes resolved
    std::string_view tool;
    std::string_view raw;  // as given
    std::uint8_t source = 0;
  };
  struct Number {
    double value = 0;
    double printed = 0;
    double half_digit = 0;
    Dimension dimension = Dimension::none;
    bool assigned = false;  // "timeout": 30
  };
  /// A word of what a user wrote, or of a prior summary.
  struct UserWord {
    std::uint32_t hash = 0;
    std::uint8_t starts = 0;  // 1: first of its clause
  };
  /// An identifier or a quantity where a tool's call or result first names it.
  struct Mention {
    Entity entity;
    std::size_t item = 0;
  };
  struct UserText {
    std::size_t item = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  std::span<const Item> items() const { return items_; }
  std::span<const SpanCall> calls() const { return calls_; }
  std::size_t bytes() const { return bytes_; }
  std::span<const Number> numbers() const { return numbers_; }
  std::span<const Mention> mentions() const { return mentions_; }

  /// The words of everything that must not be copied, one piece after the other.
  std::span<const std::uint32_t> copyable() const { return copyable_; }
  std::span<const UserWord> user_words() const { return user_words_; }
  std::span<const UserText> user_texts() const { return user_texts_; }
  /// Whether a word of this hash stands anywhere in user texts and prior summaries.
  bool user_says(std::uint64_t word) const;

  /// Sources of an entity of a summary; 0: it is not in the span. Tries, in this order, the exact
  /// key, parts of a path, rounding and units of a quantity, and the literal text.
  std::uint8_t sources_of(const Entity& entity) const;
  /// The exact key alone.
  bool knows(std::uint64_t key) const { return keys_.find(key) != 0; }

 private:
  friend class SpanBuilder;
  std::uint8_t path_sources(const Entity& entity) const;
  std::uint8_t number_sources(const Entity& entity) const;
  std::uint8_t literal_sources(const Entity& entity) const;

  std::vector<Item> items_;
  std::deque<std::string> unescaped_;
  std::vector<SpanCall> calls_;
  KeySet keys_;
  std::vector<Number> numbers_;
  std::vector<Mention> mentions_;
  std::vector<std::uint32_t> copyable_;
  std::vector<UserWord> user_words_;
  std::vector<UserText> user_texts_;
  std::size_t bytes_ = 0;
};

/// Escapes of JSON strings resolved wherever they stand, quotes left as they are: one text to
/// search instead of a tree. Not a parser: never fails.
std::string resolve_json_escapes(std::string_view text);

}  // namespace daybook::engine
