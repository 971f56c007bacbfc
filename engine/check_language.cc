// G11: the user's language is kept, and no secret is written down.
#include <fmt/format.h>

#include <algorithm>

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

/// "password: hunter2x": a value behind a name of a secret; 0: none.
std::string_view assigned_secret(std::string_view lower, std::string_view text, std::size_t at) {
  for (const auto& name : kSecretNames) {
    if (!lower.substr(at).starts_with(name)) continue;
    std::size_t from = at + name.size();
    bool assigned = false;
    while (from < text.size() &&
           std::string_view(" :=\"'`").find(text[from]) != std::string_view::npos) {
      assigned = assigned || text[from] == ':' || text[from] == '=';
      ++from;
    }
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
    // Letters alone are a word: "password: missing".
    if (assigned && end - from >= 6 && digit && letter) return text.substr(from, end - from);
    return {};
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
    std::string_view secret = text.substr(at, secret_at(text.substr(at)));
    if (secret.empty() && same_offsets) secret = assigned_secret(lower, text, at);
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
