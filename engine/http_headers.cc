#include "engine/http_headers.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <ctime>

#include "engine/curl.h"
#include "schema/utf8.h"

namespace daybook::engine {
namespace {

/// A number of `unit_ms`; nothing when the text is not a plain number. More than a day is a day.
std::optional<std::int64_t> as_ms(std::string_view text, double unit_ms) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !(value < 1e15)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(std::clamp(value * unit_ms, 0.0, 86'400'000.0));
}

}  // namespace

std::string_view header_value(const HttpHeaders& headers, std::string_view name) {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [&](const auto& header) { return header.first == name; });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<std::int64_t> retry_after_ms(const HttpHeaders& headers, std::int64_t now_ns) {
  if (auto ms = as_ms(header_value(headers, "retry-after-ms"), 1)) return ms;
  const std::string text(header_value(headers, "retry-after"));
  if (text.empty()) return std::nullopt;
  if (auto ms = as_ms(text, 1000)) return ms;
  const std::time_t at = curl().getdate(text.c_str(), nullptr);
  if (at < 0) return std::nullopt;
  const std::int64_t wait_ms = static_cast<std::int64_t>(at) * 1000 - now_ns / 1'000'000;
  return std::clamp<std::int64_t>(wait_ms, 0, 86'400'000);
}

HttpHeaders notable_headers(const HttpHeaders& headers) {
  HttpHeaders out;
  for (const auto& [name, value] : headers) {
    if (name.find("ratelimit") != std::string::npos || name == "retry-after" ||
        name == "retry-after-ms" || name == "request-id" || name == "x-request-id") {
      out.emplace_back(name, repair_utf8(value));
    }
  }
  return out;
}

std::string media_type(const HttpHeaders& headers) {
  const std::string_view value = header_value(headers, "content-type");
  std::string out(value.substr(0, value.find(';')));
  out.erase(out.find_last_not_of(" \t") + 1);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace daybook::engine
