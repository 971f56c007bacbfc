#include "executor/secrets.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>

namespace daybook::executor {
namespace {

constexpr std::size_t kShortestSecret = 8;
constexpr std::array<std::string_view, 10> kWords = {
    "KEY",        "TOKEN",      "SECRET", "PASSWORD", "PASSWD",
    "PASSPHRASE", "CREDENTIAL", "AUTH",   "COOKIE",   "SESSION"};

bool is_secret_part(std::string_view part) {
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return part.ends_with(word) ||
           (part.ends_with('S') && part.substr(0, part.size() - 1).ends_with(word));
  });
}

}  // namespace

bool is_secret_name(std::string_view name) {
  std::string part;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      part += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      continue;
    }
    if (is_secret_part(part)) return true;
    part.clear();
  }
  return is_secret_part(part);
}

std::vector<std::string> process_environment() {
  std::vector<std::string> made;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    made.emplace_back(*entry);
  }
  return made;
}

SecretMask::SecretMask(std::span<const std::string> environment) {
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || !is_secret_name(entry.substr(0, equals))) continue;
    std::string value = entry.substr(equals + 1);
    if (value.size() >= kShortestSecret) add(std::move(value), "***");
  }
}

void SecretMask::add(std::string text, std::string replacement) {
  if (text.empty()) return;
  starts_[static_cast<unsigned char>(text[0])] = true;
  const auto at = std::find_if(needles_.begin(), needles_.end(), [&](const Needle& needle) {
    return needle.text.size() < text.size();
  });
  needles_.insert(at, {std::move(text), std::move(replacement)});
}

std::string SecretMask::masked(std::string_view text) const {
  std::string out;
  SecretStream stream(*this);
  stream.feed(text, out);
  stream.finish(out);
  return out;
}

void SecretStream::feed(std::string_view bytes, std::string& out) {
  if (mask_.empty()) {
    out.append(bytes);
    return;
  }
  pending_.append(bytes);
  scan(out, false);
}

void SecretStream::finish(std::string& out) {
  scan(out, true);
}

void SecretStream::scan(std::string& out, bool ended) {
  const std::string_view all = pending_;
  std::size_t copied = 0;
  std::size_t at = 0;
  bool waiting = false;
  while (at < all.size() && !waiting) {
    if (!mask_.starts_[static_cast<unsigned char>(all[at])]) {
      ++at;
      continue;
    }
    const std::string_view rest = all.substr(at);
    const SecretMask::Needle* found = nullptr;
    for (const SecretMask::Needle& needle : mask_.needles_) {
      if (rest.starts_with(needle.text)) {
        found = &needle;
        break;
      }
      if (!ended && rest.size() < needle.text.size() && needle.text.starts_with(rest)) {
        waiting = true;  // may become a longer secret than any that matches now
        break;
      }
    }
    if (waiting) break;
    if (found == nullptr) {
      ++at;
      continue;
    }
    out.append(all.substr(copied, at - copied)).append(found->replacement);
    at += found->text.size();
    copied = at;
  }
  out.append(all.substr(copied, at - copied));
  pending_.erase(0, at);
}

}  // namespace daybook::executor
