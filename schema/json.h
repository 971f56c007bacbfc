// JSON at the edges: bounded parsing and deterministic writing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "schema/result.h"

namespace daybook {

/// Keeps the order in which members were written, so that output is deterministic.
using Json = nlohmann::ordered_json;

/// Parses one JSON value. Nesting deeper than 256 is refused: writing it would exhaust the stack.
/// The error says at which byte and why.
Result<Json> parse_json(std::string_view text);

/// Compact JSON; bytes that are not UTF-8 become U+FFFD.
std::string dump_json(const Json& value);

/// Appends text as a quoted JSON string; bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

/// The string member `key` of an object, or "".
std::string json_text(const Json& object, std::string_view key);

}  // namespace daybook
