#include "engine/provider_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

#include "engine/codec_parts.h"
#include "schema/utf8.h"

namespace daybook::engine {
namespace {

using schema::FailureKind;

constexpr std::size_t kMaxMessageBytes = 2000;
constexpr std::size_t kMaxRawBytes = 64 << 10;

constexpr std::array<std::string_view, 6> kNoMoney = {
    "insufficient_quota",   "billing_error",        "billing_hard_limit_reached",
    "insufficient_balance", "insufficient_credits", "exceeded_current_quota_error"};
constexpr std::array<std::string_view, 5> kOverflow = {
    "context_length_exceeded", "exceed_context_size_error", "request_too_large",
    "context_window_exceeded", "string_above_max_length"};
/// For servers that only say it in words; compared in lower case.
constexpr std::array<std::string_view, 12> kOverflowWords = {
    "prompt is too long",         "exceed context limit",
    "maximum context length",     "context length exceeded",
    "exceeds the context window", "exceeds the available context size",
    "exceeded model token limit", "exceeds the model's maximum context",
    "prompt exceeds max length",  "input is too long",
    "exceeds the maximum number", "payload size exceeds the limit"};
constexpr std::array<std::string_view, 8> kAuthentication = {
    "authentication_error", "permission_error", "invalid_api_key", "invalid_authentication_error",
    "permission_denied",    "API_KEY_INVALID",  "UNAUTHENTICATED", "PERMISSION_DENIED"};
constexpr std::array<std::string_view, 12> kPermanent = {
    "invalid_request_error", "not_found_error",   "model_not_found",     "content_policy_violation",
    "content_filter",        "unsupported_value", "invalid_prompt",      "usage_not_included",
    "cyber_policy",          "INVALID_ARGUMENT",  "FAILED_PRECONDITION", "NOT_FOUND"};

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& names, const ProviderError& error) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
    return name == error.type || name == error.code;
  });
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool says_overflow(const ProviderError& error) {
  const std::string words = lower(error.message);
  return std::any_of(kOverflowWords.begin(), kOverflowWords.end(), [&](std::string_view phrase) {
    return words.find(phrase) != std::string::npos;
  });
}

FailureKind kind_of(int status, const ProviderError& error) {
  if (holds(kNoMoney, error) || status == 402) return FailureKind::permanent;
  if (holds(kOverflow, error) || status == 413) return FailureKind::context_overflow;
  if (status == 401 || status == 403) return FailureKind::authentication;
  if (status == 429) return FailureKind::retryable_status;
  if (says_overflow(error)) return FailureKind::context_overflow;
  if (status == 408 || status == 409 || status >= 500) return FailureKind::retryable_status;
  if (holds(kAuthentication, error)) return FailureKind::authentication;
  if (status >= 400 || holds(kPermanent, error)) return FailureKind::permanent;
  // An answer that began well: rate limits, overload and faults of the server, for the most part.
  return FailureKind::retryable_status;
}

std::string as_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : dump_json(value);
}

std::string shortened(std::string_view text) {
  if (text.size() <= kMaxMessageBytes) return std::string(text);
  return std::string(text.substr(0, utf8_floor(text, kMaxMessageBytes))) + " ...";
}

std::string describe_html(std::string_view body) {
  const std::string low = lower(body);
  const std::size_t open = low.find("<title>");
  const std::size_t close = low.find("</title>");
  if (open == std::string::npos || close == std::string::npos || close < open + 7) {
    return "an HTML page without a title";
  }
  const std::string_view title = body.substr(open + 7, close - open - 7);
  return fmt::format("an HTML page titled '{}'", repair_utf8(title.substr(0, 200)));
}

/// FastAPI: a string, or a list of {"loc":[...],"msg":"..."}.
std::string detail_text(const Json& detail) {
  if (!detail.is_array() || detail.empty()) return as_text(detail);
  const std::string message = json_text(detail.front(), "msg");
  return message.empty() ? dump_json(detail) : message;
}

/// "898ms", "1.2s", "6m0s" at the beginning of the text; nothing when there is no such time.
std::optional<std::int64_t> read_duration_ms(std::string_view text) {
  constexpr double kMostMs = 86'400'000;
  double total_ms = 0;
  bool any = false;
  while (!text.empty()) {
    double value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (error != std::errc() || !(value >= 0)) break;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const bool is_ms = text.starts_with("ms");
    const double unit_ms = is_ms                   ? 1
                           : text.starts_with('s') ? 1'000
                           : text.starts_with('m') ? 60'000
                           : text.starts_with('h') ? 3'600'000
                                                   : 0;
    if (unit_ms == 0) break;
    total_ms += value * unit_ms;
    any = true;
    text.remove_prefix(is_ms ? 2 : 1);
  }
  if (!any) return std::nullopt;
  return static_cast<std::int64_t>(std::min(total_ms, kMostMs));
}

/// Google's details: the reason in place of the status, and how long to wait.
void read_details(const Json& details, ProviderError& out) {
  for (const Json& detail : details) {
    if (const std::string reason = json_text(detail, "reason"); !reason.empty()) out.type = reason;
    if (const auto ms = read_duration_ms(json_text(detail, "retryDelay"))) out.retry_after_ms = ms;
  }
}

std::optional<std::int64_t> told_wait_ms(const ProviderError& error) {
  constexpr std::string_view kWords = "try again in ";
  const std::size_t at = lower(error.message).find(kWords);
  if (error.code != "rate_limit_exceeded" || at == std::string::npos) return std::nullopt;
  return read_duration_ms(std::string_view(error.message).substr(at + kWords.size()));
}

std::string no_message(int http_status) {
  return http_status == 0 ? "it has no message"
                          : fmt::format("HTTP status {} without a message", http_status);
}

/// " (code 503)", " (overloaded_error)" or "".
std::string code_of(const ProviderError& error) {
  if (!error.code.empty()) return fmt::format(" (code {})", error.code);
  return error.type.empty() ? "" : fmt::format(" ({})", error.type);
}

}  // namespace

bool is_error_object(const Json& value) {
  if (value.is_array()) return !value.empty() && is_error_object(value.front());
  if (!value.is_object()) return false;
  const Json* error = member(value, "error");
  const bool told = error != nullptr &&
                    ((error->is_object() && !error->empty()) || !json_text(value, "error").empty());
  return told || json_text(value, "type") == "error" || json_text(value, "object") == "error";
}

ProviderError read_error(const Json& value) {
  if (value.is_array() && !value.empty()) return read_error(value.front());
  ProviderError out;
  const Json* inner = member(value, "error");
  const Json& from = inner != nullptr && inner->is_object() ? *inner : value;
  out.message = json_text(from, "message");
  out.type = json_text(from, "type");
  if (out.type.empty()) out.type = json_text(from, "status");
  if (const Json* details = member(from, "details"); details != nullptr && details->is_array()) {
    read_details(*details, out);
  }
  if (const Json* code = member(from, "code"); code != nullptr && !code->is_null()) {
    out.code = as_text(*code);
    const auto number = count_at(from, "code");
    if (number && *number >= 400 && *number < 600) out.status = static_cast<int>(*number);
  }
  if (out.message.empty() && inner != nullptr && inner->is_string()) {
    out.message = inner->get<std::string>();
  }
  if (const Json* detail = member(from, "detail"); out.message.empty() && detail != nullptr) {
    out.message = detail_text(*detail);
  }
  if (out.message.empty()) out.message = dump_json(value);
  if (!out.retry_after_ms) out.retry_after_ms = told_wait_ms(out);
  out.message = shortened(out.message);
  return out;
}

ProviderError read_error(std::string_view body) {
  if (auto parsed = parse_json(body); parsed && (parsed->is_object() || parsed->is_array())) {
    return read_error(*parsed);
  }
  ProviderError out;
  const std::string start = lower(body.substr(0, 512));
  if (start.find("<html") != std::string::npos || start.find("<!doctype") != std::string::npos) {
    out.message = describe_html(body);
  } else {
    out.message = repair_utf8(shortened(body));
  }
  return out;
}

Failure classify_error(int http_status, const ProviderError& error, std::string raw) {
  Failure failure;
  failure.http_status = http_status;
  failure.kind =
      kind_of(http_status >= 400 || error.status == 0 ? http_status : error.status, error);
  failure.message = is_blank(error.message) ? no_message(http_status) : error.message;
  if (http_status == 0) {
    failure.message = fmt::format("{}{}: {}", kErrorInStream, code_of(error), failure.message);
  }
  failure.retry_after_ms = error.retry_after_ms;
  failure.raw = std::move(raw);
  if (failure.raw.size() > kMaxRawBytes) failure.raw.resize(utf8_floor(failure.raw, kMaxRawBytes));
  return failure;
}

Failure classify_error(int http_status, std::string_view body) {
  return classify_error(http_status, read_error(body), std::string(body));
}

}  // namespace daybook::engine
