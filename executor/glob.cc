#include "executor/glob.h"

#include <cstddef>
#include <vector>

namespace daybook::executor {
namespace {

std::size_t char_size(std::string_view text) {
  std::size_t size = 1;
  while (size < text.size() && size < 4 && (static_cast<unsigned char>(text[0]) & 0x80) != 0 &&
         (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) {
    ++size;
  }
  return size;
}

/// Length of the set that starts `pattern` with '[', or 0 when it is not closed.
std::size_t set_size(std::string_view pattern) {
  std::size_t at = 1;
  if (at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^')) ++at;
  if (at < pattern.size() && pattern[at] == ']') ++at;
  const std::size_t close = pattern.find(']', at);
  return close == std::string_view::npos ? 0 : close + 1;
}

bool in_set(std::string_view set, unsigned char c) {
  set = set.substr(1, set.size() - 2);
  const bool negated = set.front() == '!' || set.front() == '^';
  if (negated) set.remove_prefix(1);
  bool found = false;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const auto low = static_cast<unsigned char>(set[i]);
    auto high = low;
    if (i + 2 < set.size() && set[i + 1] == '-') {
      high = static_cast<unsigned char>(set[i + 2]);
      i += 2;
    }
    found = found || (c >= low && c <= high);
  }
  return found != negated;
}

/// Matches one pattern element other than `*`; moves both sides behind it.
bool match_one(std::string_view& pattern, std::string_view& name) {
  if (pattern.empty() || name.empty()) return false;
  std::size_t taken = 1;
  std::size_t used = 1;
  if (pattern.front() == '?') {
    used = char_size(name);
  } else if (const std::size_t set = pattern.front() == '[' ? set_size(pattern) : 0; set > 2) {
    taken = set;
    if (!in_set(pattern.substr(0, set), static_cast<unsigned char>(name.front()))) return false;
  } else if (pattern.front() != name.front()) {
    return false;
  }
  pattern.remove_prefix(taken);
  name.remove_prefix(used);
  return true;
}

std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (slash != 0) parts.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return parts;
}

}  // namespace

bool match_name(std::string_view pattern, std::string_view name) {
  // On a mismatch only the latest `*` takes one more character.
  bool starred = false;
  std::string_view star_pattern;
  std::string_view star_name;
  while (true) {
    if (pattern.starts_with('*')) {
      pattern.remove_prefix(1);
      starred = true;
      star_pattern = pattern;
      star_name = name;
      continue;
    }
    if (pattern.empty() && name.empty()) return true;
    if (match_one(pattern, name)) continue;
    if (!starred || star_name.empty()) return false;
    star_name.remove_prefix(1);
    pattern = star_pattern;
    name = star_name;
  }
}

bool match_path(std::string_view pattern, std::string_view path) {
  const std::vector<std::string_view> wanted = components(pattern);
  const std::vector<std::string_view> parts = components(path);
  // reachable[j]: the pattern so far matches the first j components.
  std::vector<bool> reachable(parts.size() + 1, false);
  reachable[0] = true;
  for (const std::string_view part : wanted) {
    std::vector<bool> next(parts.size() + 1, false);
    for (std::size_t j = 0; j <= parts.size(); ++j) {
      if (part == "**") {
        next[j] = reachable[j] || (j > 0 && next[j - 1]);
      } else {
        next[j] = j > 0 && reachable[j - 1] && match_name(part, parts[j - 1]);
      }
    }
    reachable = std::move(next);
  }
  return reachable[parts.size()];
}

}  // namespace daybook::executor
