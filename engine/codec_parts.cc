#include "engine/codec_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

namespace daybook::engine {
namespace {

constexpr std::size_t kEscapeBytes = 6;  // "\u" and four hex digits

/// The number of such an escape at `at`, or 0.
unsigned escaped_unit(std::string_view text, std::size_t at) {
  const std::string_view escape = text.substr(std::min(at, text.size()), kEscapeBytes);
  if (escape.size() < kEscapeBytes || !escape.starts_with("\\u")) return 0;
  unsigned unit = 0;
  const char* end = escape.data() + escape.size();
  const auto read = std::from_chars(escape.data() + 2, end, unit, 16);
  return read.ec == std::errc() && read.ptr == end ? unit : 0;
}

bool is_first_half(unsigned unit) {
  return unit >= 0xd800 && unit < 0xdc00;
}

bool is_second_half(unsigned unit) {
  return unit >= 0xdc00 && unit < 0xe000;
}

/// JSON in which every escape of half a surrogate pair is one of U+FFFD.
std::string without_lone_surrogates(std::string_view json) {
  std::string out(json);
  for (std::size_t at = out.find('\\'); at != std::string::npos; at = out.find('\\', at)) {
    const unsigned unit = escaped_unit(out, at);
    if (unit == 0) {
      at += 2;
    } else if (is_first_half(unit) && is_second_half(escaped_unit(out, at + kEscapeBytes))) {
      at += 2 * kEscapeBytes;
    } else {
      if (is_first_half(unit) || is_second_half(unit)) out.replace(at + 2, 4, "fffd");
      at += kEscapeBytes;
    }
  }
  return out;
}

}  // namespace

void add_json_member(std::string& out, std::string_view name, std::string_view json) {
  if (!out.empty() && out.back() != '{') out.push_back(',');
  append_json_string(out, name);
  out.push_back(':');
  out.append(json);
}

void add_member(std::string& out, std::string_view name, std::string_view value) {
  add_json_member(out, name, "");
  append_json_string(out, value);
}

void append_joined(std::string& out, std::span<const std::string_view> values) {
  bool first = true;
  for (const std::string_view value : values) {
    if (!first) out.push_back(',');
    first = false;
    out.append(value);
  }
}

void add_joined(BodySink& out, std::span<const std::string_view> segments) {
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (i > 0) out.text(",");
    out.segment(segments[i]);
  }
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

void add_joined_strings(BodySink& out, std::span<const std::string_view> segments) {
  out.text("\"");
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const std::string_view part = segments[i];
    DAYBOOK_CHECK(part.size() >= 2 && part.front() == '"' && part.back() == '"');
    if (i > 0) out.text(R"(\n\n)");
    out.segment(part.substr(1, part.size() - 2));
  }
  out.text("\"");
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos;
}

void judge_arguments(Block& call, std::string text, bool may_be_cut) {
  using enum schema::ArgumentsState;
  call.text = std::move(text);
  call.arguments_state = valid;
  if (is_blank(call.text)) {
    if (may_be_cut) {
      call.arguments_state = cut;
      call.arguments_error = "the output ended before the arguments began";
    } else {
      call.text = "{}";
    }
    return;
  }
  auto parsed = parse_json(call.text);
  // The parser skips a byte order mark, which inside a request would be a syntax error.
  if (parsed && parsed->is_object() && !call.text.starts_with("\xEF\xBB\xBF")) return;
  call.arguments_state = parsed || !may_be_cut ? malformed : cut;
  call.arguments_error = parsed ? "the arguments are not a JSON object" : parsed.error().message;
}

std::string_view arguments_or_empty(const Block& call) {
  const bool usable = call.arguments_state == schema::ArgumentsState::valid && !is_blank(call.text);
  return usable ? std::string_view(call.text) : std::string_view("{}");
}

std::string wire_name(std::string_view tool) {
  constexpr std::size_t kMaxBytes = 64;
  if (tool.empty()) return "unnamed";
  std::string out(tool.substr(0, kMaxBytes));
  for (char& c : out) {
    const bool usable = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (!usable) c = '_';
  }
  return out;
}

std::string wire_id(const std::string& id) {
  const bool usable = !id.empty() && id.size() <= 64 &&
                      id.find_first_not_of(
                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                          "0123456789_-") == std::string::npos;
  return usable ? id : "call_" + Digest::of(id).hex();
}

void lay_over(Json& onto, const Json& from) {
  for (const auto& [name, value] : from.items()) {
    if (!value.is_null() || !onto.contains(name)) onto[name] = value;
  }
}

void add_merged(std::string& out, std::string_view name, Json own, std::string_view extra) {
  const auto parsed = parse_json("{" + std::string(extra) + "}");
  DAYBOOK_CHECK(parsed.has_value());  // the configuration wrote it
  if (const Json* more = member(*parsed, name); more != nullptr && more->is_object()) {
    for (const auto& [key, value] : more->items()) {
      if (!own.contains(key)) own[key] = value;
    }
  }
  if (!own.empty()) add_json_member(out, name, dump_json(own));
  for (const auto& [key, value] : parsed->items()) {
    if (key != name) add_json_member(out, key, dump_json(value));
  }
}

const Json* member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(std::string(key));
  return found == object.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> count_at(const Json& object, std::string_view key) {
  const Json* value = member(object, key);
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  if (!value->is_number_unsigned() && value->get<std::int64_t>() < 0) return std::nullopt;
  return value->get<std::uint64_t>();
}

Failure stream_cut(std::string message) {
  Failure failure;
  failure.kind = schema::FailureKind::stream_cut;
  failure.message = std::move(message);
  return failure;
}

Result<Json> parse_event(std::string_view data) {
  auto parsed = parse_json(data);
  if (parsed) return parsed;
  const std::string repaired = without_lone_surrogates(data);
  return repaired == data ? std::move(parsed) : parse_json(repaired);
}

Failure not_json(std::string_view data, const std::string& why) {
  Failure failure;
  failure.kind = schema::FailureKind::bad_response;
  failure.message = fmt::format("the endpoint sent an event that is {}", why);
  failure.raw = std::string(data.substr(0, 4096));
  return failure;
}

}  // namespace daybook::engine
