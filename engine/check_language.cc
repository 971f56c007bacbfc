// G11: the user's language is kept, and no secret is written down.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "engine/summary_text.h"
#include "engine/text_language.h"

namespace daybook::engine {
namespace {

/// What the users wrote, newest last, as far as it is needed to tell the language.
std::string newest_user_text(const PreparedSpan& span) {
  constexpr std::size_t kEnoughBytes = 8'000;
  std::vector<std::string_view> parts;
  std::size_t bytes = 0;
  const auto items = span.items();
  for (std::size_t i = items.size(); i-- > 0 && bytes < kEnoughBytes;) {
    if (items[i].kind != SpanKind::kUser) continue;
    // The rest of a long message is pasted material more often than prose.
    parts.push_back(items[i].text.substr(0, 2'000));
    bytes += parts.back().size();
  }
  std::string text;
  for (const auto& part : parts) fmt::format_to(std::back_inserter(text), "{}\n", part);
  return text;
}

/// The summary's prose without what it quotes.
std::string without_quotes(std::string_view text) {
  std::string out;
  bool quoted = false;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (line.starts_with("> ")) continue;
    quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string_view at = line.substr(i);
      const bool opens = at.starts_with("“") || at.starts_with("„") || at.starts_with("「");
      const bool closes = at.starts_with("”") || at.starts_with("」");
      if (line[i] == '"') {
        quoted = !quoted;
      } else if (opens || closes) {
        quoted = opens;
      } else if (!quoted) {
        out += line[i];
      }
    }
    out += '\n';
  }
  return out;
}

struct SecretShape {
  std::string_view start;
  std::size_t least;  // bytes of the whole
};

/// Beginnings that providers give their keys, so that they can be found.
constexpr SecretShape kShapes[] = {
    {"sk-", 20},   {"sk_live_", 20}, {"rk_live_", 20},    {"ghp_", 30},    {"gho_", 30},
    {"ghs_", 30},  {"ghu_", 30},     {"github_pat_", 40}, {"glpat-", 20},  {"xoxb-", 20},
    {"xoxp-", 20}, {"xapp-", 20},    {"AKIA", 20},        {"ASIA", 20},    {"AIza", 35},
    {"ya29.", 30}, {"hf_", 30},      {"npm_", 30},        {"dop_v1_", 40}, {"eyJ", 60},
};

bool is_secret_byte(char c) {
  return (scan::class_of(c) & (scan::kLower | scan::kUpper | scan::kDigit | scan::kUnderscore)) !=
             0 ||
         c == '-' || c == '.';
}

/// Bytes of a key that starts here; 0: none.
std::size_t secret_at(std::string_view text) {
  for (const auto& shape : kShapes) {
    if (!text.starts_with(shape.start)) continue;
    std::size_t end = 0;
    bool digit = false;
    while (end < text.size() && is_secret_byte(text[end])) {
      digit = digit || (scan::class_of(text[end]) & scan::kDigit) != 0;
      ++end;
    }
    while (end > 0 && text[end - 1] == '.') --end;  // the sentence's
    return end >= shape.least && digit ? end : 0;
  }
  constexpr std::string_view kPem = "-----BEGIN ";
  if (text.starts_with(kPem) && text.substr(0, 60).find("PRIVATE KEY") != std::string_view::npos) {
    return kPem.size();
  }
  return 0;
}

constexpr std::string_view kSecretNames[] = {"password",   "passwd", "passwort", "secret",
                                             "api_key",    "apikey", "api key",  "access_token",
                                             "auth_token", "密码"};

/// The first two bytes of every shape and name of a secret: few words begin so.
class Beginnings {
 public:
  constexpr Beginnings() {
    for (const auto& shape : kShapes) add(shape.start);
    for (const auto& name : kSecretNames) add(name);
    add("--");  // of a PEM block
  }
  constexpr bool has(std::string_view text) const {
    return text.size() > 1 && (bits_[pair(text) / 64] >> (pair(text) % 64) & 1) != 0;
  }

 private:
  static constexpr std::size_t pair(std::string_view text) {
    return static_cast<unsigned char>(text[0]) | std::size_t{static_cast<unsigned char>(text[1])}
                                                     << 8;
  }
  constexpr void add(std::string_view start) {
    bits_[pair(start) / 64] |= std::uint64_t{1} << (pair(start) % 64);
  }
  std::array<std::uint64_t, 1024> bits_{};
};
constexpr Beginnings kBeginnings;

/// What gives a secret's value: "the password for the admin user is".
constexpr std::string_view kVerbs[] = {"is", "was", "ist", "war", "lautet", "lautete"};

/// Where a value begins that is assigned behind `at`: after ':' or '=', or after a verb. npos:
/// none.
std::size_t value_behind(std::string_view lower, std::size_t at, bool& spoken) {
  constexpr std::string_view kBetween = " :=\"'`*";
  std::size_t from = at;
  bool assigned = false;
  while (from < lower.size() && kBetween.find(lower[from]) != std::string_view::npos) {
    assigned = assigned || lower[from] == ':' || lower[from] == '=';
    ++from;
  }
  spoken = !assigned;
  if (assigned) return from;
  if (lower.substr(at).starts_with("是") || lower.substr(at).starts_with("为")) {
    return std::min(lower.size(), lower.find_first_not_of(" \"'`", at + 3));
  }
  constexpr int kMostWords = 6;
  for (int word = 0; word < kMostWords && from < lower.size(); ++word) {
    const std::size_t end = std::min(lower.size(), lower.find_first_of(" \n.,;:!?()", from));
    const std::string_view text = lower.substr(from, end - from);
    if (end == lower.size() || (lower[end] != ' ' && lower[end] != ':')) break;
    from = std::min(lower.size(), lower.find_first_not_of(" :\"'`", end));
    if (std::find(std::begin(kVerbs), std::end(kVerbs), text) != std::end(kVerbs)) return from;
    // Only "password for", "key of": another word makes it something else.
    const bool joins = text == "for" || text == "of" || text == "to" || text == "für";
    if (word == 0 && !joins) return std::string_view::npos;
  }
  return std::string_view::npos;
}

/// "is base64-encoded", "is DB_PASS_2", "is in-place2": what is said of a secret, not the secret.
bool describes(std::string_view value, std::string_view lower) {
  for (const std::string_view scheme :
       {"base64", "base32", "sha", "md5", "pbkdf2", "argon2", "bcrypt", "scrypt", "aes", "rsa",
        "utf", "rot13", "hs256", "oauth2", "x509", "ed25519"}) {
    if (lower.starts_with(scheme)) return true;
  }
  const bool variable =
      value.find('_') != std::string_view::npos &&
      std::none_of(value.begin(), value.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  // "32-byte": a measure.
  const std::size_t digits = value.find_first_not_of("0123456789");
  const bool measure = digits > 0 && digits < value.size() && value[digits] == '-';
  return variable || measure || value.find('/') != std::string_view::npos || value.front() == '$' ||
         has_file_extension(value);
}

/// "password: hunter2x", "the password is hunter2x": a value behind a name of a secret; "": none.
std::string_view assigned_secret(std::string_view lower, std::string_view text, std::size_t at) {
  for (const auto& name : kSecretNames) {
    if (!lower.substr(at).starts_with(name)) continue;
    bool spoken = false;
    const std::size_t from = value_behind(lower, at + name.size(), spoken);
    if (from == std::string_view::npos) return {};
    std::size_t end = from;
    bool digit = false;
    bool letter = false;
    while (end < text.size() && (scan::class_of(text[end]) & ~scan::kHigh) != 0 &&
           (scan::class_of(text[end]) & (scan::kComma | scan::kTick | scan::kWide)) == 0) {
      const auto c = scan::class_of(text[end]);
      digit = digit || (c & scan::kDigit) != 0;
      letter = letter || (c & (scan::kLower | scan::kUpper)) != 0;
      ++end;
    }
    while (end > from && (text[end - 1] == '.' || text[end - 1] == ':')) --end;  // the sentence's
    // Letters alone are a word: "password: missing".
    const std::string_view value = text.substr(from, end - from);
    if (value.size() < 6 || !digit || !letter) return {};
    return spoken && describes(value, lower.substr(from, end - from)) ? std::string_view() : value;
  }
  return {};
}

/// Other findings may quote what holds the secret.
void hide(std::vector<GateFinding>& findings, std::string_view secret) {
  const std::string shown = fmt::format("{}...", secret.substr(0, 4));
  for (auto& finding : findings) {
    for (std::size_t at = finding.evidence.find(secret); at != std::string::npos;
         at = finding.evidence.find(secret, at + shown.size())) {
      finding.evidence.replace(at, secret.size(), shown);
    }
  }
}

bool user_wrote(const PreparedSpan& span, std::string_view secret) {
  return std::any_of(span.items().begin(), span.items().end(), [&](const auto& item) {
    return item.kind == SpanKind::kUser && item.text.find(secret) != std::string_view::npos;
  });
}

}  // namespace

void check_language(const GateContext& context) {
  const LanguageGuess user = guess_language(newest_user_text(context.span));
  if (user.language == Language::unknown) return;
  const LanguageGuess summary = guess_language(without_quotes(context.summary.text));
  if (summary.language == Language::unknown) return;
  const auto is_users = [&](Language language) {
    return language != Language::unknown && (language == user.language || language == user.second);
  };
  if (is_users(summary.language) || is_users(summary.second)) return;
  context.add(GateCode::kWrongLanguage,
              fmt::format("{} instead of {}", name_of(summary.language), name_of(user.language)));
}

void check_secrets(const GateContext& context) {
  const std::string_view text = context.summary.text;
  const std::string lower = folded(text, text.size());
  const bool same_offsets = lower.size() == text.size();
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (at > 0 && is_secret_byte(text[at - 1]) && text[at] != '-') continue;
    const bool named = same_offsets && kBeginnings.has(std::string_view(lower).substr(at));
    if (!named && !kBeginnings.has(text.substr(at))) continue;
    std::string_view secret = text.substr(at, secret_at(text.substr(at)));
    if (secret.empty() && named) secret = assigned_secret(lower, text, at);
    if (secret.empty()) continue;
    // What the user wrote stays in the history anyway, as the user's.
    if (!user_wrote(context.span, secret)) {
      hide(context.result.findings, secret);
      context.add(GateCode::kIntroducedSecret, fmt::format("{}...", secret.substr(0, 4)));
    }
    at = static_cast<std::size_t>(secret.data() - text.data()) + secret.size();
  }
}

}  // namespace daybook::engine
