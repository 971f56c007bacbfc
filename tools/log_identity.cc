#include "tools/log_identity.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <memory>

namespace daybook::tools {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new()) {
    DAYBOOK_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }
  void update(std::string_view bytes) {
    DAYBOOK_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  std::vector<std::uint8_t> finish() {
    std::vector<std::uint8_t> digest(32);
    unsigned size = 0;
    DAYBOOK_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1 && size == 32);
    return digest;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

/// Days since 1970-01-01 of a date in the Gregorian calendar.
std::int64_t days_from_civil(std::int64_t year, std::int64_t month, std::int64_t day) {
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const std::int64_t day_of_era =
      year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

/// Takes numbers and separators off the front of a time.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}
  bool digits(std::size_t count, std::int64_t& value) {
    if (text_.size() < count) return false;
    value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (text_[i] < '0' || text_[i] > '9') return false;
      value = value * 10 + (text_[i] - '0');
    }
    text_.remove_prefix(count);
    return true;
  }
  bool one_of(std::string_view set) {
    if (text_.empty() || set.find(text_[0]) == std::string_view::npos) return false;
    text_.remove_prefix(1);
    return true;
  }
  /// Fraction of a second in ns; digits beyond the ninth are dropped.
  std::int64_t fraction() {
    std::int64_t value = 0;
    std::int64_t unit = 100'000'000;
    while (!text_.empty() && text_[0] >= '0' && text_[0] <= '9') {
      value += (text_[0] - '0') * unit;
      unit /= 10;
      text_.remove_prefix(1);
    }
    return value;
  }
  char next() const { return text_.empty() ? '\0' : text_[0]; }
  bool done() const { return text_.empty(); }

 private:
  std::string_view text_;
};

std::string_view prefix_of(LogKind kind) {
  switch (kind) {
    case LogKind::claude_code:
      return "claude-";
    case LogKind::codex:
      return "codex-";
    case LogKind::openworker:
      return "openworker-";
    case LogKind::atif:
      return "atif-";
    case LogKind::daybook:
      return "";
  }
  return "";
}

bool is_date(std::int64_t year, std::int64_t month, std::int64_t day) {
  constexpr std::array<std::int64_t, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month < 1 || month > 12 || day < 1) return false;
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return day <= kDays[static_cast<std::size_t>(month - 1)] + (leap && month == 2 ? 1 : 0);
}

}  // namespace

Uuid log_event_id(LogKind kind, std::string_view role, std::string_view stable_id,
                  std::uint64_t occurrence) {
  std::string key;
  key.reserve(48 + stable_id.size());
  key.append(name_of(kind)).append(1, '\0').append(role).append(1, '\0').append(stable_id);
  key.append(1, '\0').append(std::to_string(occurrence));
  const Digest digest = Digest::of(key);
  return {(digest.hi & ~std::uint64_t{0xf000}) | 0x8000,
          0x8000'0000'0000'0000 | (digest.lo & 0x3fff'ffff'ffff'ffff)};
}

std::vector<std::uint8_t> sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

std::vector<std::uint8_t> payload_sha256(std::string_view record) {
  Sha256 hash;
  JsonSpan::trusted(record).members([&](std::string_view key, JsonSpan value) {
    if (key == "timestamp" || key == "ordinal") return;
    hash.update(key);
    hash.update(":");
    hash.update(value.raw());
    hash.update(",");
  });
  return hash.finish();
}

std::optional<std::int64_t> log_time(std::string_view text) {
  Cursor at(text);
  std::int64_t year = 0;
  std::int64_t month = 0;
  std::int64_t day = 0;
  std::int64_t hour = 0;
  std::int64_t minute = 0;
  std::int64_t second = 0;
  if (!at.digits(4, year) || !at.one_of("-") || !at.digits(2, month) || !at.one_of("-") ||
      !at.digits(2, day) || !at.one_of("Tt ") || !at.digits(2, hour) || !at.one_of(":") ||
      !at.digits(2, minute)) {
    return {};
  }
  if (at.one_of(":") && !at.digits(2, second)) return {};
  const std::int64_t fraction = at.one_of(".,") ? at.fraction() : 0;
  if (year < 1970 || year > 2200 || !is_date(year, month, day) || hour > 23 || minute > 59 ||
      second > 60) {
    return {};
  }
  std::int64_t offset_min = 0;
  if (at.next() == '+' || at.next() == '-') {
    const std::int64_t sign = at.next() == '-' ? -1 : 1;
    std::int64_t hours = 0;
    std::int64_t minutes = 0;
    at.one_of("+-");
    if (!at.digits(2, hours)) return {};
    at.one_of(":");
    if (!at.done() && !at.digits(2, minutes)) return {};
    if (hours > 23 || minutes > 59) return {};
    offset_min = sign * (hours * 60 + minutes);
  } else {
    at.one_of("Zz");
  }
  if (!at.done()) return {};
  const std::int64_t minutes =
      (days_from_civil(year, month, day) * 24 + hour) * 60 + minute - offset_min;
  return (minutes * 60 + second) * 1'000'000'000 + fraction;
}

LogTime time_of(JsonSpan value) {
  if (!value || value.is_null()) return {};
  std::optional<std::int64_t> at;
  if (value.is_string()) at = log_time(value.raw().substr(1, value.raw().size() - 2));
  return {at.value_or(0), !at};
}

SessionId session_for_log(LogKind kind, std::string_view log_session) {
  constexpr std::size_t kMost = 64;
  std::string name(prefix_of(kind));
  bool changed = log_session.empty();
  for (const char c : log_session) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    changed = changed || !plain;
    name += plain ? c : '.';
  }
  if (changed || name.size() > kMost || !SessionId::parse(name)) {
    const std::string digest = Digest::of(log_session).hex().substr(0, 16);
    if (name.size() > kMost - 17) name.resize(kMost - 17);
    name += "-" + digest;
    // A session of our own format may start with what a name must not start with.
    if (!SessionId::parse(name)) name = "log-" + digest;
  }
  auto made = SessionId::parse(name);
  DAYBOOK_CHECK(made.has_value());
  return *made;
}

}  // namespace daybook::tools
