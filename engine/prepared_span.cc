#include "engine/prepared_span.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/span_calls.h"
#include "engine/span_result.h"

namespace daybook::engine {

// ------------------------------------------------------------------------------ keys

KeySet::KeySet(std::size_t expected) {
  const std::size_t slots = std::bit_ceil(std::max<std::size_t>(64, expected * 2));
  keys_.resize(slots);
  sources_.resize(slots);
  mask_ = slots - 1;
}

bool KeySet::add(std::uint64_t key, std::uint8_t source) {
  std::size_t slot = key & mask_;
  while (keys_[slot] != 0) {
    if (keys_[slot] == key) {
      const std::uint8_t before = sources_[slot];
      sources_[slot] = before | source;
      return (before & source) != source;
    }
    slot = (slot + 1) & mask_;
  }
  keys_[slot] = key;
  sources_[slot] = source;
  if (++size_ * 2 > mask_) grow();
  return true;
}

std::uint8_t KeySet::find(std::uint64_t key) const {
  for (std::size_t slot = key & mask_; keys_[slot] != 0; slot = (slot + 1) & mask_) {
    if (keys_[slot] == key) return sources_[slot];
  }
  return 0;
}

void KeySet::grow() {
  std::vector<std::uint64_t> keys(keys_.size() * 2);
  std::vector<std::uint8_t> sources(keys.size());
  const std::size_t mask = keys.size() - 1;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i] == 0) continue;
    std::size_t slot = keys_[i] & mask;
    while (keys[slot] != 0) slot = (slot + 1) & mask;
    keys[slot] = keys_[i];
    sources[slot] = sources_[i];
  }
  keys_.swap(keys);
  sources_.swap(sources);
  mask_ = mask;
}

// ------------------------------------------------------------------------------ building

namespace {

constexpr std::uint8_t kFromTools =
    kFromOkCall | kFromOtherCall | kFromOkResult | kFromFailedResult;
constexpr std::uint64_t kSeenKey = 0x7365656e;
constexpr std::uint64_t kUserWordKey = 0x75736572;

/// Adds a path with each of its ends and beginnings: a summary may name it from another folder.
void add_path(KeySet& keys, std::string_view text, std::uint8_t source) {
  const NormalPath normal(text);
  const std::string_view path = normal.view();
  if (path.empty() || !keys.add(path_key(path), source)) return;
  int segments = 0;
  for (std::size_t at = path.find('/'); at != std::string_view::npos && segments < 16;
       at = path.find('/', at + 1), ++segments) {
    keys.add(path_key(path.substr(at + 1)), source);
    keys.add(path_key(path.substr(0, at)), source);
  }
}

/// "timeout_ms" names a unit: what follows the last underscore, or the last capital.
Unit unit_in_name(std::string_view name) {
  std::size_t at = name.size();
  while (at > 0 && name[at - 1] != '_' && (scan::class_of(name[at - 1]) & scan::kUpper) == 0) --at;
  if (at == 0) return {};
  if (name[at - 1] != '_') --at;
  const std::string_view suffix = name.substr(at);
  return suffix.size() < 2 && suffix != "s" && suffix != "S" ? Unit{} : unit_of(suffix);
}

}  // namespace

class SpanBuilder {
 public:
  explicit SpanBuilder(PreparedSpan& span) : span_(span) {}

  void build(std::span<const SpanItem> items);

  // What scan_text calls.
  void word(const Word& word);
  void chunk(const Chunk& chunk);
  void stop(char c) {
    // Wide punctuation is of scripts that write no spaces: each mark ends a part.
    if (c == '\n' || c == '!' || c == '?' || c == ',' || c == ';' || c == '(' ||
        static_cast<unsigned char>(c) >= 0xe3) {
      ends_sentence_ = true;
    }
  }

 private:
  void add_items(std::span<const SpanItem> items);
  std::uint8_t source_of(std::size_t item, const SpanItem& given) const;
  void read(std::size_t item);
  void add_entity(const Chunk& chunk);
  void add_number(const Entity& entity);
  void mention(const Entity& entity);

  PreparedSpan& span_;
  std::size_t item_ = 0;
  std::vector<CallOutcome> outcomes_;      // by item
  std::vector<std::string_view> folders_;  // by item: that its command changed to
  std::string_view folder_;
  const char* output_ = nullptr;  // where a result's output begins, behind what tells its end
  std::uint8_t source_ = 0;
  bool copyable_ = false;
  bool user_ = false;
  bool ends_sentence_ = true;
  std::string_view last_word_;   // before the current chunk
  std::string_view chunk_word_;  // the last one seen
};

void SpanBuilder::add_items(std::span<const SpanItem> items) {
  std::vector<SpanItem> resolved(items.begin(), items.end());
  span_.items_.reserve(items.size());
  for (SpanItem& item : resolved) {
    const std::string_view raw = item.text;
    const bool json = item.kind == SpanKind::kToolCall ||
                      (item.kind == SpanKind::kToolResult && !raw.empty() &&
                       (raw.front() == '{' || raw.front() == '[' || raw.front() == '"'));
    if (json && raw.find('\\') != std::string_view::npos) {
      item.text = span_.unescaped_.emplace_back(resolve_json_escapes(raw));
    }
    span_.items_.push_back({item.kind, item.text, item.tool, raw, 0});
    span_.bytes_ += item.text.size();
  }
  span_.calls_ = pair_calls(resolved);
  outcomes_.resize(items.size(), CallOutcome::unknown);
  folders_.resize(items.size());
  for (const SpanCall& call : span_.calls_) {
    std::string_view folder;
    if (call.call != SpanCall::kNone) {
      outcomes_[call.call] = call.outcome;
      if ((call.classes & kCommand) != 0) folder = folder_of(resolved[call.call].text);
      folders_[call.call] = folder;
    }
    if (call.result == SpanCall::kNone) continue;
    outcomes_[call.result] = call.outcome;
    folders_[call.result] = folder;
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    span_.items_[i].source = source_of(i, items[i]);
  }
}

std::uint8_t SpanBuilder::source_of(std::size_t item, const SpanItem& given) const {
  const bool ok = outcomes_[item] == CallOutcome::succeeded;
  switch (given.kind) {
    case SpanKind::kUser:
      return kFromUser;
    case SpanKind::kAssistant:
      return kFromAssistant;
    case SpanKind::kToolCall:
      return ok ? kFromOkCall : kFromOtherCall;
    case SpanKind::kToolResult:
      return ok ? kFromOkResult : kFromFailedResult;
    case SpanKind::kPriorSummary:
      return kFromPrior;
    case SpanKind::kInjected:
      return kFromInjected;
  }
  return kFromInjected;
}

void SpanBuilder::build(std::span<const SpanItem> items) {
  add_items(items);
  span_.copyable_.reserve(span_.bytes_ / 6);
  for (std::size_t i = 0; i < span_.items_.size(); ++i) read(i);
}

void SpanBuilder::read(std::size_t item) {
  const PreparedSpan::Item& at = span_.items_[item];
  item_ = item;
  source_ = at.source;
  folder_ = folders_[item];
  output_ = at.kind == SpanKind::kToolResult ? read_result_head(at.text).output.data() : nullptr;
  user_ = at.kind == SpanKind::kUser || at.kind == SpanKind::kPriorSummary;
  copyable_ = !user_;
  ends_sentence_ = true;
  last_word_ = chunk_word_ = {};
  const std::size_t begin = span_.user_words_.size();
  scan_text(at.text, *this);
  // The transcript that is summed up names the tools.
  if (!at.tool.empty()) {
    span_.keys_.add(
        scan::mix(text_hash(at.tool), static_cast<std::uint64_t>(EntityKind::symbol)) | 1, source_);
  }
  if (user_) span_.user_texts_.push_back({item, begin, span_.user_words_.size()});
}

void SpanBuilder::word(const Word& word) {
  const std::uint64_t hash = word_hash(word.text);
  if (copyable_) {
    span_.copyable_.push_back(static_cast<std::uint32_t>(hash >> 32) | 1U);
  } else {
    span_.user_words_.push_back({static_cast<std::uint32_t>(hash >> 32) | 1U,
                                 static_cast<std::uint8_t>(ends_sentence_ ? 1 : 0)});
    span_.keys_.add(scan::mix(hash, kUserWordKey) | 1, kFromUser);
    ends_sentence_ = false;
  }
  // Names of code, so that a summary may take them out of a longer expression.
  const bool camel = (word.tail_mask & scan::kUpper) != 0 && (word.mask & scan::kLower) != 0;
  if (camel || (word.mask & scan::kUnderscore) != 0) {
    span_.keys_.add(
        scan::mix(text_hash(word.text), static_cast<std::uint64_t>(EntityKind::symbol)) | 1,
        source_);
  }
  chunk_word_ = word.text;
}

void SpanBuilder::chunk(const Chunk& chunk) {
  add_entity(chunk);
  last_word_ = chunk_word_;
}

void SpanBuilder::add_entity(const Chunk& chunk) {
  if (user_ && chunk.joins != 0 && chunk.text.back() == '.') ends_sentence_ = true;
  if (chunk.joins == 0 && (chunk.mask & scan::kDigit) == 0) return;
  // Output names the same files again and again; what a path is does not depend on what follows.
  if ((chunk.mask & scan::kSlash) != 0 &&
      !span_.keys_.add(scan::mix(text_hash(chunk.text) ^ text_hash(folder_), kSeenKey) | 1,
                       source_)) {
    return;
  }
  const Entity entity = classify(chunk, false);
  switch (entity.kind) {
    case EntityKind::none:
    case EntityKind::symbol:
      if (entity.key != 0) span_.keys_.add(entity.key, source_);
      return;
    case EntityKind::path:
      add_path(span_.keys_, entity.text, source_);
      // Named from the folder that the command changed to; a summary may name it from above.
      if (!folder_.empty() && !entity.text.starts_with('/')) {
        add_path(span_.keys_, fmt::format("{}/{}", folder_, entity.text), source_);
      }
      return;
    case EntityKind::number:
    case EntityKind::quantity:
      add_number(entity);
      return;
    default:
      if (span_.keys_.add(entity.key, source_)) mention(entity);
  }
}

void SpanBuilder::mention(const Entity& entity) {
  // "Wall time: 0.4 seconds" is the program's word, not the work's.
  if (output_ != nullptr && entity.text.data() < output_) return;
  if ((source_ & kFromTools) != 0) span_.mentions_.push_back({entity, item_});
}

void SpanBuilder::add_number(const Entity& entity) {
  PreparedSpan::Number number{entity.value, entity.printed, entity.half_digit, entity.dimension,
                              false};
  // key: 30, key=30, "key": 30. The word before the number's own.
  const char* const before = last_word_.data() + last_word_.size();
  if (!last_word_.empty() && before < entity.text.data() && entity.text.data() - before <= 4) {
    const std::string_view between(before, static_cast<std::size_t>(entity.text.data() - before));
    number.assigned = between.find_first_of(":=") != std::string_view::npos;
    const Unit unit = number.assigned ? unit_in_name(last_word_) : Unit{};
    if (unit.size != 0 && entity.kind == EntityKind::number) {
      number.dimension = unit.dimension;
      number.value = entity.printed * unit.size;
    }
  }
  const bool known = !span_.keys_.add(number_key(entity.printed), source_);
  if (number.dimension != Dimension::none) {
    if (!span_.keys_.add(quantity_key(number.dimension, number.value), source_)) return;
  } else if (known && !number.assigned) {
    return;
  }
  span_.numbers_.push_back(number);
  if (entity.dimension != Dimension::none) mention(entity);
}

PreparedSpan::PreparedSpan(std::span<const SpanItem> items) : keys_(0) {
  std::size_t bytes = 0;
  for (const auto& item : items) bytes += item.text.size();
  keys_ = KeySet(bytes / 32);
  SpanBuilder(*this).build(items);
}

// ------------------------------------------------------------------------------ asking

bool PreparedSpan::user_says(std::uint64_t word) const {
  return keys_.find(scan::mix(word, kUserWordKey) | 1) != 0;
}

std::uint8_t PreparedSpan::path_sources(const Entity& entity) const {
  const NormalPath normal(entity.text);
  const std::string_view path = normal.view();
  if (const std::uint8_t found = keys_.find(path_key(path)); found != 0) return found;
  // A known folder and a path known from there: "/home/a/project" and "src/x.cc".
  int segments = 0;
  for (std::size_t at = path.find('/'); at != std::string_view::npos && segments < 16;
       at = path.find('/', at + 1), ++segments) {
    const std::uint8_t head = keys_.find(path_key(path.substr(0, at)));
    const std::uint8_t tail = keys_.find(path_key(path.substr(at + 1)));
    if (head != 0 && tail != 0 && path.find('/', at + 1) != std::string_view::npos) return tail;
  }
  return 0;
}

std::uint8_t PreparedSpan::number_sources(const Entity& entity) const {
  if (entity.kind == EntityKind::number) return keys_.find(number_key(entity.printed));
  for (const Number& number : numbers_) {
    if (number.dimension == entity.dimension &&
        std::abs(number.value - entity.value) <= entity.half_digit * 1.0001 &&
        std::abs(number.value - entity.value) <= 0.05 * std::abs(entity.value)) {
      return kFromOkResult;
    }
    // "timeout": 30 and "30 s".
    if (number.assigned && number.dimension == Dimension::none &&
        number.printed == entity.printed) {
      return kFromOkResult;
    }
  }
  return 0;
}

std::uint8_t PreparedSpan::literal_sources(const Entity& entity) const {
  const auto is_word = [](char c) { return (scan::class_of(c) & scan::kWord) != 0; };
  for (const Item& item : items_) {
    for (std::size_t at = item.text.find(entity.text); at != std::string_view::npos;
         at = item.text.find(entity.text, at + 1)) {
      const std::size_t end = at + entity.text.size();
      const bool starts = at == 0 || !is_word(entity.text.front()) || !is_word(item.text[at - 1]);
      // The beginning of a hash is the hash.
      const bool ends = end == item.text.size() || entity.kind == EntityKind::hash ||
                        !is_word(entity.text.back()) || !is_word(item.text[end]);
      if (starts && ends) return item.source;
    }
  }
  return 0;
}

std::uint8_t PreparedSpan::sources_of(const Entity& entity) const {
  std::uint8_t found = keys_.find(entity.key);
  if (found != 0) return found;
  switch (entity.kind) {
    case EntityKind::none:
      return 0;
    case EntityKind::number:
    case EntityKind::quantity:
      return number_sources(entity);
    case EntityKind::path:
      found = path_sources(entity);
      break;
    default:
      break;
  }
  return found != 0 ? found : literal_sources(entity);
}

// ------------------------------------------------------------------------------ escapes

namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Four hexadecimal digits, or -1.
std::int32_t code_unit(std::string_view text) {
  if (text.size() < 4) return -1;
  std::int32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const int digit = hex_value(text[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto tail = [&](int shift) {
    out += static_cast<char>(0x80 | ((code >> static_cast<unsigned>(shift)) & 0x3f));
  };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

/// The character of a \u escape with four digits at `at` (behind the 'u'); returns the bytes read.
std::size_t append_escaped(std::string& out, std::string_view text) {
  const std::int32_t first = code_unit(text);
  if (first < 0) return 0;
  auto code = static_cast<std::uint32_t>(first);
  std::size_t used = 4;
  if (code >= 0xd800 && code < 0xdc00 && text.substr(4).starts_with("\\u")) {
    const std::int32_t second = code_unit(text.substr(6));
    if (second >= 0xdc00 && second < 0xe000) {
      code = 0x10000 + ((code - 0xd800) << 10) + (static_cast<std::uint32_t>(second) - 0xdc00);
      used = 10;
    }
  }
  append_utf8(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
  return used;
}

}  // namespace

std::string resolve_json_escapes(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t slash = text.find('\\', at);
    if (slash == std::string_view::npos || slash + 1 >= text.size()) {
      out.append(text, at);
      break;
    }
    out.append(text, at, slash - at);
    const char c = text[slash + 1];
    at = slash + 2;
    if (c == 'n' || c == 'r' || c == 't' || c == 'b' || c == 'f') {
      out += c == 'n' ? '\n' : ' ';
    } else if (c == 'u') {
      at += append_escaped(out, text.substr(at));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace daybook::engine
