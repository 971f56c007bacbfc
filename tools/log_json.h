// Looking into JSON text without building a tree: a log line is looked at once, for a few of its
// members, and may hold what strict parsers refuse (half of a surrogate pair, bytes that are not
// UTF-8).
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace daybook::tools {

/// Nesting that is accepted.
inline constexpr int kMostJsonNesting = 512;

/// Whether a text that is not accepted nests deeper than that.
bool nests_too_deep(std::string_view text);

/// Whether a key is `name`. Of a name known at compile time no function is called, which counts: a
/// line's keys are compared some hundred times.
inline bool is_key(std::string_view key, std::string_view name) {
  return key.size() == name.size() && std::memcmp(key.data(), name.data(), name.size()) == 0;
}

/// Where the values of a text are, down to a few levels: found while the text is checked, so that
/// looking at them does not go through the text again. Reusable.
class JsonTape {
 public:
  /// Deep enough for the blocks of a message and the parts of a usage object.
  static constexpr std::size_t kDepth = 4;

 private:
  friend class JsonSpan;
  friend class JsonTapeWriter;
  struct Entry {
    std::string_view key;  // "" for an array's value
    std::string_view value;
    std::size_t next = 0;    // entry behind this value and all in it
    bool has_inner = false;  // what is in it is on the tape too
  };
  std::vector<Entry> entries_;
};

/// One value inside a text that outlives it. Only made from text that was checked to be JSON.
class JsonSpan {
 public:
  JsonSpan() = default;

  /// The value that is all of `text` but white space; nothing when it is not JSON. With a tape,
  /// which must outlive the value and everything taken from it, its members are found at once.
  static std::optional<JsonSpan> whole(std::string_view text, JsonTape* tape = nullptr);
  struct Start;
  /// The value that `text` starts with, whatever follows it. With a tape as above.
  static Start start_of(std::string_view text, JsonTape* tape = nullptr);
  /// Same, of text that `whole` accepted before.
  static JsonSpan trusted(std::string_view text) { return JsonSpan(text); }

  explicit operator bool() const { return !text_.empty(); }
  std::string_view raw() const { return text_; }
  bool is_object() const { return text_.starts_with('{'); }
  bool is_array() const { return text_.starts_with('['); }
  bool is_string() const { return text_.starts_with('"'); }
  bool is_null() const { return text_ == "null"; }
  bool is_true() const { return text_ == "true"; }
  bool is_number() const;

  /// The member `key`: the last one of that name, as in JSON.parse. An empty span when there is
  /// none, or when this is no object.
  JsonSpan operator[](std::string_view key) const;

  /// A string's text, escapes undone; halves of surrogate pairs and bytes that are not UTF-8
  /// become U+FFFD. "" for anything but a string.
  std::string text() const;
  /// What is between a string's quotes, as it is written. "" for anything but a string.
  std::string_view written() const {
    return is_string() ? text_.substr(1, text_.size() - 2) : std::string_view();
  }
  /// Whether this is the string `value`, which needs no escapes.
  bool is(std::string_view value) const {
    return text_.size() == value.size() + 2 && is_string() && is_key(written(), value);
  }

  /// A count: a whole number that is not negative, also as "3", 3.0 or 3e0.
  std::optional<std::uint64_t> count() const;
  std::optional<std::int64_t> integer() const;

  /// Visits (key, value); keys with escapes are given as they are written.
  template <class Visit>
  void members(Visit&& visit) const;
  /// Visits the values of an array.
  template <class Visit>
  void items(Visit&& visit) const;

 private:
  explicit JsonSpan(std::string_view text) : text_(text) {}
  JsonSpan(const JsonTape& tape, std::size_t entry)
      : text_(tape.entries_[entry].value),
        tape_(tape.entries_[entry].has_inner ? &tape : nullptr),
        entry_(entry) {}
  template <class Visit>
  void each_on_tape(const Visit& visit) const;

  std::string_view text_;
  const JsonTape* tape_ = nullptr;  // null: looked for in the text
  std::size_t entry_ = 0;
};

struct JsonSpan::Start {
  JsonSpan value;       // empty when there is none
  std::size_t end = 0;  // behind the value, or of what is wrong
};

namespace log_json {

/// Position behind the value that starts at `at`, in checked text.
std::size_t skip_value(std::string_view text, std::size_t at);
/// Position behind the string that starts at `at`.
std::size_t skip_string(std::string_view text, std::size_t at);
std::size_t skip_space(std::string_view text, std::size_t at);

}  // namespace log_json

template <class Visit>
void JsonSpan::each_on_tape(const Visit& visit) const {
  const auto& entries = tape_->entries_;
  for (std::size_t at = entry_ + 1; at < entries[entry_].next; at = entries[at].next) {
    visit(entries[at].key, JsonSpan(*tape_, at));
  }
}

template <class Visit>
void JsonSpan::members(Visit&& visit) const {
  if (!is_object()) return;
  if (tape_ != nullptr) return each_on_tape(visit);
  std::size_t at = log_json::skip_space(text_, 1);
  while (text_[at] == '"') {
    const std::size_t key_end = log_json::skip_string(text_, at);
    const std::string_view key = text_.substr(at + 1, key_end - at - 2);
    at = log_json::skip_space(text_, log_json::skip_space(text_, key_end) + 1);
    const std::size_t end = log_json::skip_value(text_, at);
    visit(key, JsonSpan(text_.substr(at, end - at)));
    at = log_json::skip_space(text_, end);
    if (text_[at] != ',') return;
    at = log_json::skip_space(text_, at + 1);
  }
}

template <class Visit>
void JsonSpan::items(Visit&& visit) const {
  if (!is_array()) return;
  if (tape_ != nullptr) {
    return each_on_tape([&](std::string_view, JsonSpan value) { visit(value); });
  }
  std::size_t at = log_json::skip_space(text_, 1);
  if (text_[at] == ']') return;
  while (true) {
    const std::size_t end = log_json::skip_value(text_, at);
    visit(JsonSpan(text_.substr(at, end - at)));
    at = log_json::skip_space(text_, end);
    if (text_[at] != ',') return;
    at = log_json::skip_space(text_, at + 1);
  }
}

}  // namespace daybook::tools
