#include "engine/text_entity.h"

#include <algorithm>
#include <bit>

#include "engine/word_table.h"

namespace daybook::engine {
namespace {

using scan::class_of;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_letter(char c) {
  return (class_of(c) & (scan::kLower | scan::kUpper | scan::kHigh)) != 0;
}

std::string_view trim(std::string_view text) {
  const auto leading = [](char c) { return c == ':' || c == '+' || c == '@'; };
  const auto trailing = [](char c) {
    return c == '.' || c == ':' || c == '-' || c == '+' || c == '@' || c == '#' || c == '~' ||
           c == '$' || c == ',';
  };
  while (!text.empty() && leading(text.front())) text.remove_prefix(1);
  while (!text.empty() && trailing(text.back())) text.remove_suffix(1);
  return text;
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < 36; ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_hex(text[i])) return false;
  }
  return true;
}

/// Seven digits and more of hexadecimal that is neither a word nor a decimal number.
bool is_hex_hash(std::string_view text) {
  if (text.size() < 7 || text.size() > 128) return false;
  bool digit = false;
  bool letter = false;
  for (const char c : text) {
    if (!is_hex(c)) return false;
    (is_digit(c) ? digit : letter) = true;
  }
  return digit && letter;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

/// Names of standards look like ticket numbers.
constexpr WordSet<32> kStandards("utf sha iso rfc md aes http gpt ipv xxh");

bool is_ticket(std::string_view text) {
  if (text.front() == '#') return text.size() <= 8 && all_digits(text.substr(1));
  const std::size_t dash = text.find('-');
  if (dash < 2 || dash > 10) return false;
  const std::string_view prefix = text.substr(0, dash);
  const bool upper = std::all_of(prefix.begin(), prefix.end(),
                                 [](char c) { return (c >= 'A' && c <= 'Z') || is_digit(c); });
  return upper && !is_digit(prefix.front()) && text.size() - dash <= 8 &&
         all_digits(text.substr(dash + 1)) && !kStandards.has(prefix);
}

/// Digits in groups, set apart by dots, dashes or colons: at least two groups, and enough that it
/// is no decimal number and no range.
bool is_version(std::string_view text) {
  const bool v = text.front() == 'v' || text.front() == 'V';
  if (v) text.remove_prefix(1);
  if (text.empty() || !is_digit(text.front())) return false;
  std::size_t dots = 0;
  std::size_t others = 0;
  std::size_t digits = 0;
  for (const char c : text) {
    if (is_digit(c)) {
      ++digits;
    } else if (c == '.') {
      ++dots;
    } else if (c == '-' || c == ':' || c == 'T' || c == 'Z' || c == '+') {
      ++others;
    } else if (!(dots >= 2 && (is_letter(c) || c == '_'))) {
      return false;  // letters only behind a full version: 1.2.3-rc1
    }
  }
  if (v) return true;
  return dots >= 2 || (others >= 2 && digits >= 8);
}

bool is_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon < 2) return false;
  const std::string_view port = text.substr(colon + 1);
  if (port.size() < 2 || port.size() > 5 || !all_digits(port)) return false;
  const std::string_view host = text.substr(0, colon);
  if (host.find(':') != std::string_view::npos || host.find('/') != std::string_view::npos) {
    return false;
  }
  if (has_file_extension(host)) return false;
  if (host == "localhost" || host.find('.') != std::string_view::npos) return true;
  return port.size() >= 4 && is_letter(host.front());
}

/// A slash can be prose ("read/write"); a path has something that prose does not.
bool looks_like_path(std::string_view text, bool in_code) {
  const auto is_slash = [](char c) { return c == '/' || c == '\\'; };
  const auto slashes = std::count_if(text.begin(), text.end(), is_slash);
  if (text.size() < 3 || static_cast<std::size_t>(slashes) == text.size()) return false;
  const bool digits_only =
      std::all_of(text.begin(), text.end(), [&](char c) { return is_digit(c) || is_slash(c); });
  if (digits_only) return false;
  const char first = text.front();
  if (first == '/' || first == '\\' || first == '~' || first == '.') return true;
  if (text.size() > 3 && text[1] == ':' && is_slash(text[2])) return true;
  const std::size_t last = text.find_last_of("/\\");
  const std::string_view name = text.substr(last + 1);
  if (name.find('.') != std::string_view::npos && !all_digits(name)) return true;
  if (name.empty()) return slashes > 1 || in_code;
  return in_code || slashes >= 3 || text.find('_') != std::string_view::npos;
}

std::string_view longest_word(std::string_view text) {
  std::string_view best;
  std::size_t at = 0;
  while (at < text.size()) {
    if ((class_of(text[at]) & scan::kWord) == 0) {
      ++at;
      continue;
    }
    const std::size_t from = at;
    while (at < text.size() && (class_of(text[at]) & scan::kWord) != 0) ++at;
    if (at - from > best.size()) best = text.substr(from, at - from);
  }
  return best;
}

bool is_symbol(std::string_view text, const Chunk& chunk, bool strict) {
  if (text.starts_with("--")) return text.size() > 3 && is_letter(text[2]);
  const std::size_t underscore = text.find('_', 1);
  if (underscore != std::string_view::npos && underscore + 1 < text.size()) return true;
  if (text.find("::") != std::string_view::npos) return true;
  const char* const after = text.data() + text.size();
  if (after + 1 < chunk.limit && after[0] == '(' && after[1] == ')') return is_letter(text[0]);
  if (strict && !chunk.in_code) return false;
  bool lower = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = class_of(text[i]);
    if (lower && c == scan::kUpper) return true;
    lower = lower || c == scan::kLower;
  }
  return false;
}

constexpr WordTable kUnits({
    WordRow<Unit>{"ns", {Dimension::time, 1e-9}},
    {"us", {Dimension::time, 1e-6}},
    {"µs", {Dimension::time, 1e-6}},
    {"ms", {Dimension::time, 1e-3}},
    {"msec", {Dimension::time, 1e-3}},
    {"millisecond", {Dimension::time, 1e-3}},
    {"milliseconds", {Dimension::time, 1e-3}},
    {"millisekunden", {Dimension::time, 1e-3}},
    {"s", {Dimension::time, 1}},
    {"sec", {Dimension::time, 1}},
    {"secs", {Dimension::time, 1}},
    {"second", {Dimension::time, 1}},
    {"seconds", {Dimension::time, 1}},
    {"sekunde", {Dimension::time, 1}},
    {"sekunden", {Dimension::time, 1}},
    {"min", {Dimension::time, 60}},
    {"mins", {Dimension::time, 60}},
    {"minute", {Dimension::time, 60}},
    {"minutes", {Dimension::time, 60}},
    {"minuten", {Dimension::time, 60}},
    {"h", {Dimension::time, 3600}},
    {"hr", {Dimension::time, 3600}},
    {"hrs", {Dimension::time, 3600}},
    {"hour", {Dimension::time, 3600}},
    {"hours", {Dimension::time, 3600}},
    {"stunde", {Dimension::time, 3600}},
    {"stunden", {Dimension::time, 3600}},
    {"d", {Dimension::time, 86400}},
    {"day", {Dimension::time, 86400}},
    {"days", {Dimension::time, 86400}},
    {"tag", {Dimension::time, 86400}},
    {"tage", {Dimension::time, 86400}},
    {"tagen", {Dimension::time, 86400}},
    {"week", {Dimension::time, 604800}},
    {"weeks", {Dimension::time, 604800}},
    {"woche", {Dimension::time, 604800}},
    {"wochen", {Dimension::time, 604800}},
    {"b", {Dimension::bytes, 1}},
    {"byte", {Dimension::bytes, 1}},
    {"bytes", {Dimension::bytes, 1}},
    {"kb", {Dimension::bytes, 1e3}},
    {"mb", {Dimension::bytes, 1e6}},
    {"gb", {Dimension::bytes, 1e9}},
    {"tb", {Dimension::bytes, 1e12}},
    {"kib", {Dimension::bytes, 1024}},
    {"mib", {Dimension::bytes, 1048576}},
    {"gib", {Dimension::bytes, 1073741824}},
    {"tib", {Dimension::bytes, 1099511627776}},
    {"hz", {Dimension::frequency, 1}},
    {"khz", {Dimension::frequency, 1e3}},
    {"mhz", {Dimension::frequency, 1e6}},
    {"ghz", {Dimension::frequency, 1e9}},
    {"percent", {Dimension::percent, 1}},
    {"prozent", {Dimension::percent, 1}},
    {"usd", {Dimension::money, 1}},
    {"eur", {Dimension::money, 1}},
    {"euro", {Dimension::money, 1}},
    {"dollars", {Dimension::money, 1}},
    {"req", {Dimension::rate, 1}},
    {"rps", {Dimension::rate, 1}},
    {"qps", {Dimension::rate, 1}},
    {"x", {Dimension::factor, 1}},
});

constexpr WordSet<256> kExtensions(
    "c h cc cpp cxx hpp cs css csv cfg conf cmake db diff docx env exe fbs gif go gz htm "
    "html ini ipynb java jpg js json jsonl jsx kt lock log lua md mjs mod pdf php png "
    "proto ps1 py rb rs rst scala scss sh sql sqlite sum svelte svg swift tar tf toml ts "
    "tsv tsx txt vue xlsx xml yaml yml zig zip");

struct Suffix {
  Unit unit;
  std::uint64_t noun = 0;
  std::size_t length = 0;  // bytes from the end of the number
};

/// Things that are counted, and their singular.
constexpr WordTable kNouns({
    WordRow<std::uint64_t>{"test", word_hash("test")},
    {"tests", word_hash("test")},
    {"token", word_hash("token")},
    {"tokens", word_hash("token")},
    {"file", word_hash("file")},
    {"files", word_hash("file")},
    {"line", word_hash("line")},
    {"lines", word_hash("line")},
    {"row", word_hash("row")},
    {"rows", word_hash("row")},
    {"event", word_hash("event")},
    {"events", word_hash("event")},
    {"request", word_hash("request")},
    {"requests", word_hash("request")},
    {"session", word_hash("session")},
    {"sessions", word_hash("session")},
    {"thread", word_hash("thread")},
    {"threads", word_hash("thread")},
    {"worker", word_hash("worker")},
    {"workers", word_hash("worker")},
    {"attempt", word_hash("attempt")},
    {"attempts", word_hash("attempt")},
    {"case", word_hash("case")},
    {"cases", word_hash("case")},
    {"error", word_hash("error")},
    {"errors", word_hash("error")},
    {"failure", word_hash("failure")},
    {"failures", word_hash("failure")},
    {"warning", word_hash("warning")},
    {"warnings", word_hash("warning")},
    {"commit", word_hash("commit")},
    {"commits", word_hash("commit")},
    {"call", word_hash("call")},
    {"calls", word_hash("call")},
    {"user", word_hash("user")},
    {"users", word_hash("user")},
    {"record", word_hash("record")},
    {"records", word_hash("record")},
    {"message", word_hash("message")},
    {"messages", word_hash("message")},
    {"page", word_hash("page")},
    {"pages", word_hash("page")},
    {"item", word_hash("item")},
    {"items", word_hash("item")},
    {"connection", word_hash("connection")},
    {"connections", word_hash("connection")},
    {"character", word_hash("character")},
    {"characters", word_hash("character")},
    {"column", word_hash("column")},
    {"columns", word_hash("column")},
    {"word", word_hash("word")},
    {"words", word_hash("word")},
    {"retry", word_hash("retry")},
    {"retries", word_hash("retry")},
});

Suffix chinese_unit(std::string_view after) {
  struct Row {
    std::string_view name;
    Unit unit;
  };
  static constexpr Row kRows[] = {
      {"毫秒", {Dimension::time, 1e-3}}, {"微秒", {Dimension::time, 1e-6}},
      {"秒", {Dimension::time, 1}},      {"分钟", {Dimension::time, 60}},
      {"小时", {Dimension::time, 3600}}, {"天", {Dimension::time, 86400}},
      {"字节", {Dimension::bytes, 1}},   {"倍", {Dimension::factor, 1}},
      {"元", {Dimension::money, 1}},
  };
  for (const auto& row : kRows) {
    if (after.starts_with(row.name)) return {row.unit, 0, row.name.size()};
  }
  return {};
}

/// The unit or counted noun that starts `after`, which follows a number directly.
Suffix read_unit(std::string_view after) {
  std::size_t at = 0;
  if (!after.empty() && (after[0] == ' ' || after[0] == '-')) at = 1;
  if (after.starts_with("\xc2\xa0")) at = 2;
  std::string_view rest = after.substr(at);
  if (rest.empty()) return {};
  if (rest[0] == '%') return {{Dimension::percent, 1}, 0, at + 1};
  if (static_cast<unsigned char>(rest[0]) >= 0xe3) {
    Suffix found = chinese_unit(rest);
    if (found.length != 0) found.length += at;
    return found;
  }
  std::size_t end = 0;
  while (end < rest.size() && end < 16 && is_letter(rest[end])) ++end;
  const std::string_view name = rest.substr(0, end);
  if (name.empty()) return {};
  // One letter set apart is more often a name than a unit; seconds and bytes are not.
  if (at != 0 && name.size() == 1 && name != "s" && name != "h" && name != "B") return {};
  Unit unit = unit_of(name);
  if (unit.size != 0) {
    std::size_t length = at + end;
    if (rest.substr(end).starts_with("/s")) {
      unit.dimension = Dimension::rate;
      length += 2;
    }
    return {unit, 0, length};
  }
  const std::uint64_t* noun = kNouns.find(name);
  return noun == nullptr ? Suffix{} : Suffix{{}, *noun, at + end};
}

/// A chunk that starts with a digit, or with '$' and a digit.
Entity classify_number(std::string_view text, const char* limit) {
  Entity entity;
  const bool dollars = text.front() == '$';
  const char* const begin = text.data();
  const std::string_view digits = text.substr(dollars ? 1 : 0);
  const ParsedNumber number = parse_number(digits);
  if (number.used == 0) return entity;
  const char* const end = digits.data() + number.used;
  const std::string_view after(end, static_cast<std::size_t>(limit - end));
  const bool whole = number.used == digits.size();
  Suffix suffix;
  double factor = 1;
  if (dollars) {
    suffix.unit = {Dimension::money, 1};
  } else if (!whole && digits.size() == number.used + 1 && digits.back() == 'k') {
    factor = 1e3;
    suffix.length = 1;
  } else if (!whole && digits.size() == number.used + 1 && digits.back() == 'M') {
    factor = 1e6;
    suffix.length = 1;
  } else {
    suffix = read_unit(after);
    // Whatever else belongs to the chunk makes it something else: 12:30, 3-4, 2nd.
    if (!whole && number.used + suffix.length < digits.size()) return entity;
    if (!whole && suffix.length == 0) return entity;
  }
  entity.text = {begin, static_cast<std::size_t>(end - begin) + suffix.length};
  entity.unit = {end, suffix.length};
  entity.printed = number.value * factor;
  entity.noun = suffix.noun;
  entity.dimension = suffix.unit.dimension;
  const double size = suffix.unit.size == 0 ? 1 : suffix.unit.size;
  entity.value = entity.printed * size;
  entity.half_digit = number.half_digit * factor * size;
  entity.kind = entity.dimension == Dimension::none ? EntityKind::number : EntityKind::quantity;
  entity.key = entity.kind == EntityKind::number ? number_key(entity.printed)
                                                 : quantity_key(entity.dimension, entity.value);
  return entity;
}

Entity literal(EntityKind kind, std::string_view text, std::string_view keyed) {
  return {.kind = kind,
          .text = text,
          .key = scan::mix(text_hash(keyed), static_cast<std::uint64_t>(kind)) | 1,
          .unit = {}};
}

Entity path_entity(std::string_view text) {
  Entity entity;
  const NormalPath normal(text);
  if (normal.view().empty()) return entity;
  entity.kind = EntityKind::path;
  entity.text = text;
  entity.key = path_key(normal.view());
  return entity;
}

/// Chunks with something between their words.
Entity classify_joined(std::string_view text, const Chunk& chunk, bool strict) {
  if (text.find("://") != std::string_view::npos) {
    while (text.ends_with('/')) text.remove_suffix(1);
    return literal(EntityKind::url, text, text);
  }
  if (is_uuid(text)) return literal(EntityKind::uuid, text, text);
  if (text.starts_with("sha256:") && is_hex_hash(text.substr(7))) text.remove_prefix(7);
  if (is_hex_hash(text)) return literal(EntityKind::hash, text, text);
  if (text.size() > 1 && is_ticket(text)) return literal(EntityKind::ticket, text, text);
  if (is_host_port(text)) return literal(EntityKind::host_port, text, text);
  if (is_version(text)) {
    const std::string_view bare = text.substr(text[0] == 'v' || text[0] == 'V' ? 1 : 0);
    return literal(EntityKind::version, text, bare);
  }
  if ((chunk.mask & scan::kSlash) != 0) {
    if (strict ? looks_like_path(text, chunk.in_code) : text.size() > 1) return path_entity(text);
    return {};
  }
  const std::size_t colon = text.find(':');
  if (has_file_extension(text.substr(0, colon))) return path_entity(text);
  return {};
}

}  // namespace

bool is_hard(const Entity& entity) {
  using enum EntityKind;
  return entity.kind != none && entity.kind != number && entity.kind != symbol;
}

Entity classify(const Chunk& chunk, bool strict) {
  if (chunk.joins == 0 && (chunk.mask & (scan::kDigit | scan::kUnderscore)) == 0 &&
      (!strict || (!chunk.in_code && *(chunk.text.data() + chunk.text.size() - 1) != '('))) {
    const char* const after = chunk.text.data() + chunk.text.size();
    const bool called = strict && after + 1 < chunk.limit && after[0] == '(' && after[1] == ')';
    if (!called) return {};
  }
  const std::string_view text = trim(chunk.text);
  if (text.empty()) return {};
  const bool digit_first =
      is_digit(text[0]) ||
      (text.size() > 1 && (text[0] == '$' || text[0] == '~') && is_digit(text[1]));
  if (chunk.joins != 0 || chunk.mask != scan::kDigit) {
    Entity found = classify_joined(text, chunk, strict);
    if (found.kind != EntityKind::none) return found;
  }
  if (digit_first) {
    return classify_number(text[0] == '~' ? text.substr(1) : text, chunk.limit);
  }
  if (strict && is_symbol(text, chunk, strict)) {
    return literal(EntityKind::symbol, text, text.starts_with("--") ? text : longest_word(text));
  }
  if (!strict && text.starts_with("--")) return literal(EntityKind::symbol, text, text);
  return {};
}

ParsedNumber parse_number(std::string_view text) {
  ParsedNumber number;
  std::size_t at = 0;
  double value = 0;
  while (at < text.size() && at < 24) {
    const char c = text[at];
    const bool separator =
        (c == ',' || c == '_') && at > 0 && at + 1 < text.size() && is_digit(text[at + 1]);
    if (is_digit(c)) {
      value = value * 10 + (c - '0');
    } else if (!separator) {
      break;
    }
    ++at;
  }
  if (at == 0) return number;
  double digit = 1;
  if (at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1])) {
    ++at;
    for (; at < text.size() && is_digit(text[at]); ++at) {
      digit /= 10;
      value += digit * (text[at] - '0');
    }
  }
  number.used = at;
  number.value = value;
  number.half_digit = digit / 2;
  return number;
}

Unit unit_of(std::string_view name) {
  if (name == "m") return {Dimension::time, 60};  // metres are rare here, "5m" is not
  const Unit* found = kUnits.find(name);
  return found == nullptr ? Unit{} : *found;
}

std::uint64_t quantity_key(Dimension dimension, double value) {
  // Single precision: conversions of units leave errors in the last digits.
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return scan::mix(bits, 0x7175616e00ULL + static_cast<std::uint64_t>(dimension)) | 1;
}

std::uint64_t number_key(double value) {
  return quantity_key(Dimension::none, value);
}

NormalPath::NormalPath(std::string_view path) {
  const std::size_t anchor = path.find("#L");
  if (anchor != std::string_view::npos) path = path.substr(0, anchor);
  for (int part = 0; part < 2; ++part) {  // line, column
    const std::size_t colon = path.rfind(':');
    if (colon == std::string_view::npos || colon == 0 || !all_digits(path.substr(colon + 1))) break;
    path = path.substr(0, colon);
  }
  if (path.size() > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')) {
    path.remove_prefix(2);
  }
  if (path.size() > kPathBytes) path = path.substr(path.size() - kPathBytes);
  while (path.starts_with("./") || path.starts_with("~/") || path.starts_with(".\\")) {
    path.remove_prefix(2);
  }
  for (const char c : path) {
    const char slash = c == '\\' ? '/' : c;
    if (slash == '/' && (size_ == 0 || bytes_[size_ - 1] == '/')) continue;
    bytes_[size_++] = slash;
  }
  while (size_ > 0 && bytes_[size_ - 1] == '/') --size_;
}

bool has_file_extension(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || name.size() - dot > 11) return false;
  return kExtensions.has(name.substr(dot + 1));
}

}  // namespace daybook::engine
