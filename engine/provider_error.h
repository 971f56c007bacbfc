// What an endpoint's error means. One table for all: compatible servers answer in each other's
// shapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/model.h"
#include "schema/json.h"

namespace daybook::engine {

struct ProviderError {
  std::string message;  // the provider's words, or a short description of the body
  std::string type;
  std::string code;
  int status = 0;  // an HTTP status inside the error object; 0: none
  std::optional<std::int64_t> retry_after_ms;
};

/// Reads {"error":{...}}, {"error":"..."}, {"type":"error","error":{...}}, {"message":...},
/// {"detail":...}, an array of any of these, plain text and HTML. Google's `status` counts as the
/// type unless its details give a reason; so does its retry delay, and one in OpenAI's words.
ProviderError read_error(std::string_view body);
ProviderError read_error(const Json& value);

/// Whether a JSON document is an error rather than a message or a part of one.
bool is_error_object(const Json& value);

/// How messages begin of errors that came inside a stream that began well.
inline constexpr std::string_view kErrorInStream = "an error in its stream";

/// `http_status` 0: the error came inside such a stream, whose status the failure keeps; a status
/// that the error names counts for its kind alone.
Failure classify_error(int http_status, const ProviderError& error, std::string raw);
Failure classify_error(int http_status, std::string_view body);

}  // namespace daybook::engine
