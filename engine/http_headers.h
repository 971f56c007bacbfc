// What response headers say about retries and rate limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/http_client.h"

namespace daybook::engine {

/// The first header of that name, or "".
std::string_view header_value(const HttpHeaders& headers, std::string_view name);

/// From retry-after-ms, or retry-after in seconds or as an HTTP date. Never negative; absent when
/// there is none or it cannot be read.
std::optional<std::int64_t> retry_after_ms(const HttpHeaders& headers, std::int64_t now_ns);

/// Rate limit headers, retry times and the provider's request id.
HttpHeaders notable_headers(const HttpHeaders& headers);

/// "text/event-stream" of "Text/Event-Stream; charset=utf-8".
std::string media_type(const HttpHeaders& headers);

}  // namespace daybook::engine
