#include "schema/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "schema/utf8.h"

namespace daybook {
namespace {

constexpr int kMaxDepth = 256;

/// Deepest nesting of brackets outside strings; a bound for text that is not JSON, too.
int depth_of(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  if (depth_of(text) > kMaxDepth) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("not valid JSON: nested deeper than {} levels", kMaxDepth));
  }
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ...": only the sentence.
    std::string_view what = error.what();
    if (what.starts_with('[')) what.remove_prefix(std::min(what.find(']') + 1, what.size()));
    what.remove_prefix(std::min(what.find_first_not_of(' '), what.size()));
    return fail(ErrorCode::invalid_argument, fmt::format("not valid JSON: {}", what));
  }
}

std::string dump_json(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  const std::string repaired = is_utf8(text) ? std::string() : repair_utf8(text);
  const std::string_view source = repaired.empty() ? text : std::string_view(repaired);
  std::size_t run = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const auto c = static_cast<unsigned char>(source[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(source, run, i - run);
    run = i + 1;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += "\\u00";
        out.push_back(kHex[c >> 4]);
        out.push_back(kHex[c & 15]);
    }
  }
  out.append(source, run, source.size() - run);
  out.push_back('"');
}

std::string json_text(const Json& object, std::string_view key) {
  if (!object.is_object()) return {};
  const auto found = object.find(std::string(key));
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace daybook
