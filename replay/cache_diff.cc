#include "replay/cache_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "schema/json.h"

namespace daybook::replay {
namespace {

constexpr std::size_t kWindow = 80;

using Segments = std::span<const CacheSegment>;

/// Segments that both begin with.
std::size_t shared_by(Segments a, Segments b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// The word around a byte: what a volatile value is made of.
std::string_view word_at(std::string_view text, std::size_t at, std::string_view ends) {
  std::size_t from = std::min(at, text.size());
  std::size_t to = from;
  while (from > 0 && ends.find(text[from - 1]) == std::string_view::npos) --from;
  while (to < text.size() && ends.find(text[to]) == std::string_view::npos) ++to;
  return text.substr(from, to - from);
}

/// 8-4-4-4-12, or 16 and more hexadecimal digits of which some are numbers and some letters.
bool has_id(std::string_view word) {
  std::size_t run = 0;
  bool digit = false;
  bool letter = false;
  for (const char c : word) {
    if (is_hex(c) || (c == '-' && run > 0)) {
      run += c == '-' ? 0 : 1;
      digit |= is_digit(c);
      letter |= !is_digit(c) && c != '-';
      if (run >= 16 && digit && letter) return true;
    } else {
      run = 0;
      digit = letter = false;
    }
  }
  return false;
}

/// "12:34", "2026-01-31", a second count of ten or more digits.
bool has_time(std::string_view word) {
  std::size_t run = 0;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (!is_digit(word[i])) {
      run = 0;
      continue;
    }
    if (++run >= 10) return true;
    const bool more = i + 2 < word.size() && is_digit(word[i + 2]);
    if (more && word[i + 1] == ':') return true;
    if (more && run == 4 && word[i + 1] == '-') return true;
  }
  return false;
}

bool is_month_or_day(std::string_view word) {
  static constexpr std::string_view kNames[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul",
                                                "Aug", "Sep", "Oct", "Nov", "Dec", "Mon", "Tue",
                                                "Wed", "Thu", "Fri", "Sat", "Sun"};
  return std::ranges::any_of(kNames, [&](auto name) { return word.starts_with(name); });
}

std::string canonical(const std::string& text) {
  const std::string list = "[" + text + "]";
  if (!parse_json(list)) return text;  // also bounds its depth
  // This kind of JSON sorts its keys; numbers and strings come out in one form.
  return nlohmann::json::parse(list).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string tool_name(const std::string& text) {
  const auto parsed = parse_json(text);
  if (!parsed) return {};
  std::string name = json_text(*parsed, "name");
  if (name.empty() && parsed->is_object() && parsed->contains("function")) {
    name = json_text((*parsed)["function"], "name");
  }
  return name;
}

/// One comparison of two calls.
class Differ {
 public:
  Differ(const CacheCall& before, const CacheCall& now, const CacheRules& rules,
         const SegmentBytes& bytes)
      : before_(before), now_(now), rules_(rules), bytes_(bytes) {}

  std::vector<CacheCause> run() {
    scope();
    tools();
    system();
    messages();
    params();
    return std::move(found_);
  }

 private:
  void add(Leaf leaf, std::string detail) {
    found_.push_back({leaf, std::move(detail), std::nullopt, std::nullopt});
  }

  void scope() {
    static constexpr Leaf kLeaves[kScopeParts] = {Leaf::scope_provider,  Leaf::model,
                                                  Leaf::scope_key,       Leaf::scope_tier,
                                                  Leaf::scope_workspace, Leaf::scope_region};
    static constexpr const char* kNames[kScopeParts] = {"provider", "model",     "cache key",
                                                        "tier",     "workspace", "region"};
    const auto parts = [](const CacheScope& at) {
      return std::array<const std::string*, kScopeParts>{&at.provider, &at.model,     &at.key,
                                                         &at.tier,     &at.workspace, &at.region};
    };
    const auto old_parts = parts(before_.scope);
    const auto new_parts = parts(now_.scope);
    for (std::size_t i = 0; i < kScopeParts; ++i) {
      if (rules_.scope[i] == RuleTruth::no || *old_parts[i] == *new_parts[i]) continue;
      add(kLeaves[i],
          fmt::format("{} {} -> {}", kNames[i], old_parts[i]->empty() ? "(none)" : *old_parts[i],
                      new_parts[i]->empty() ? "(none)" : *new_parts[i]));
    }
  }

  std::optional<std::string> text(const CacheSegment& segment) const {
    if (!bytes_) return std::nullopt;
    return bytes_(BlobRef{segment.raw, segment.bytes});
  }

  /// Index of an area's first segment within the call.
  static std::uint32_t first_of(const CacheCall& call, CacheArea area) {
    const auto found = std::ranges::find_if(
        call.segments, [&](const CacheSegment& segment) { return segment.area >= area; });
    return static_cast<std::uint32_t>(found - call.segments.begin());
  }

  void add_at(Leaf leaf, CacheArea area, std::size_t index, std::string detail) {
    found_.push_back({leaf, std::move(detail),
                      first_of(now_, area) + static_cast<std::uint32_t>(index),
                      first_of(before_, area) + static_cast<std::uint32_t>(index)});
  }

  static bool contains(Segments all, const CacheSegment& one) {
    return std::ranges::find(all, one) != all.end();
  }

  static bool same(Segments a, Segments b) { return std::ranges::equal(a, b); }

  static bool same_set(Segments a, Segments b) {
    const auto sorted = [](Segments segments) {
      std::vector<Digest> contents;
      for (const CacheSegment& each : segments) contents.push_back(each.content);
      std::ranges::sort(contents);
      return contents;
    };
    return a.size() == b.size() && sorted(a) == sorted(b);
  }

  void tools() {
    const Segments old = area_of(before_, CacheArea::tools);
    const Segments now = area_of(now_, CacheArea::tools);
    if (same(old, now)) return;
    const std::size_t at = shared_by(old, now);
    const auto old_text = at < old.size() ? text(old[at]) : std::nullopt;
    const auto new_text = at < now.size() ? text(now[at]) : std::nullopt;
    const std::string old_name = old_text ? tool_name(*old_text) : "";
    const std::string new_name = new_text ? tool_name(*new_text) : "";
    std::string detail = fmt::format("tools[{}]", at);
    if (!new_name.empty() || !old_name.empty()) {
      detail += fmt::format(" '{}'", new_name.empty() ? old_name : new_name);
    }
    add_at(tools_leaf(old, now, at, old_text, new_text), CacheArea::tools, at, std::move(detail));
  }

  Leaf tools_leaf(Segments old, Segments now, std::size_t at,
                  const std::optional<std::string>& old_text,
                  const std::optional<std::string>& new_text) const {
    if (same_set(old, now)) return Leaf::tools_reordered;
    if (old.size() < now.size() &&
        std::ranges::all_of(old, [&](const auto& each) { return contains(now, each); })) {
      return Leaf::tools_added;
    }
    if (now.size() < old.size() &&
        std::ranges::all_of(now, [&](const auto& each) { return contains(old, each); })) {
      return Leaf::tools_removed;
    }
    if (at >= old.size()) return Leaf::tools_added;
    if (at >= now.size()) return Leaf::tools_removed;
    if (!old_text || !new_text) return Leaf::tools_schema;
    if (canonical(*old_text) == canonical(*new_text)) return Leaf::tools_key_order;
    if (tool_name(*old_text) == tool_name(*new_text)) return Leaf::tools_schema;
    if (contains(now, old[at])) return Leaf::tools_added;
    return contains(old, now[at]) ? Leaf::tools_removed : Leaf::tools_schema;
  }

  void system() {
    const Segments old = area_of(before_, CacheArea::system);
    const Segments now = area_of(now_, CacheArea::system);
    if (same(old, now)) return;
    const std::size_t at = shared_by(old, now);
    Leaf leaf = Leaf::system_other;
    if (at < old.size() && at < now.size()) {
      const auto old_text = text(old[at]);
      const auto new_text = text(now[at]);
      if (old_text && new_text) leaf = volatile_kind(*old_text, *new_text);
    }
    add_at(leaf, CacheArea::system, at, fmt::format("system[{}]", at));
  }

  void messages() {
    const Segments old = area_of(before_, CacheArea::messages);
    const Segments now = area_of(now_, CacheArea::messages);
    // Long histories are compared from where they are not known to be the same.
    std::size_t at = 0;
    const std::size_t shared = common_prefix(before_.segments, now_.segments);
    const std::size_t first = before_.segments.size() - old.size();
    if (shared > first && now_.segments.size() - now.size() == first) at = shared - first;
    at += shared_by(old.subspan(at), now.subspan(at));
    if (at == old.size()) return;
    const std::string detail = fmt::format("messages[{}]", at);
    if (now_.after_compaction) return add_at(Leaf::compaction, CacheArea::messages, at, detail);
    add_at(messages_leaf(old, now, at), CacheArea::messages, at, detail);
  }

  Leaf messages_leaf(Segments old, Segments now, std::size_t at) const {
    const Segments lost = old.subspan(at);
    const Segments came = now.subspan(at);
    const auto kept = std::ranges::count_if(lost, [&](const CacheSegment& each) {
      return std::ranges::find(came, each) != came.end();
    });
    // A branch shares nothing with what it leaves behind, and is not longer than it.
    if (now_.forked || (kept == 0 && now.size() <= old.size() && at > 0)) return Leaf::fork;
    if (came.size() >= lost.size() && same_set(lost, came.first(lost.size()))) {
      return Leaf::message_reordered;
    }
    // The history goes on right behind a part that was left out, or put in.
    const auto gone = std::ranges::find(lost, came.empty() ? CacheSegment{} : came.front());
    if (gone != lost.end() || came.empty()) return Leaf::message_deleted;
    if (std::ranges::find(came, lost.front()) != came.end()) return Leaf::message_inserted;
    const auto old_text = text(lost.front());
    const auto new_text = text(came.front());
    if (old_text && new_text && canonical(*old_text) == canonical(*new_text)) {
      return Leaf::message_reserialized;
    }
    return Leaf::message_mutated;
  }

  void params() {
    static const std::map<std::string, Leaf, std::less<>> kLeaves = {
        {"tool_choice", Leaf::param_tool_choice},
        {"thinking", Leaf::param_thinking},
        {"verbosity", Leaf::param_verbosity},
        {"format", Leaf::param_format},
        {"betas", Leaf::param_betas},
        {"context_management", Leaf::param_context_management},
        {"image", Leaf::param_image},
        {"speed", Leaf::param_speed}};
    const auto value = [](const CacheCall& call, const std::string& name) -> std::string {
      const auto found = std::ranges::find(call.params, name, &CacheParam::name);
      return found == call.params.end() ? "(none)" : found->value;
    };
    for (const auto& [name, area] : rules_.params) {
      const auto leaf = kLeaves.find(name);
      const std::string old = value(before_, name);
      const std::string now = value(now_, name);
      if (leaf == kLeaves.end() || old == now) continue;
      add(leaf->second, fmt::format("{} {} -> {}", name, old, now));
    }
  }

  const CacheCall& before_;
  const CacheCall& now_;
  const CacheRules& rules_;
  const SegmentBytes& bytes_;
  std::vector<CacheCause> found_;
};

}  // namespace

TextDifference first_difference(std::string_view before, std::string_view after) {
  const auto parted = std::ranges::mismatch(before, after);
  const auto at = static_cast<std::size_t>(parted.in1 - before.begin());
  const std::size_t from = at > kWindow / 2 ? at - kWindow / 2 : 0;
  TextDifference out;
  out.byte = at;
  out.before = before.substr(std::min(from, before.size()), kWindow);
  out.after = after.substr(std::min(from, after.size()), kWindow);
  return out;
}

Leaf volatile_kind(std::string_view before, std::string_view after) {
  const auto parted = std::ranges::mismatch(before, after);
  const auto at = static_cast<std::size_t>(parted.in1 - before.begin());
  constexpr std::string_view kEnds = " \t\r\n\"'`,;()<>[]{}=\\";
  for (const std::string_view text : {before, after}) {
    const std::string_view word = word_at(text, at, kEnds);
    // The values follow each other in this order of certainty.
    if (word.find('/') != std::string_view::npos && !has_time(word)) return Leaf::system_path;
    if (has_id(word)) return Leaf::system_uuid;
    if (has_time(word) || is_month_or_day(word)) return Leaf::system_clock;
    if (word.find('/') != std::string_view::npos) return Leaf::system_path;
  }
  return Leaf::system_other;
}

std::vector<CacheCause> differences(const CacheCall& before, const CacheCall& now,
                                    const CacheRules& rules, const SegmentBytes& bytes) {
  return Differ(before, now, rules, bytes).run();
}

std::span<const CacheSegment> area_of(const CacheCall& call, CacheArea area) {
  return {std::ranges::lower_bound(call.segments, area, {}, &CacheSegment::area),
          std::ranges::upper_bound(call.segments, area, {}, &CacheSegment::area)};
}

}  // namespace daybook::replay
