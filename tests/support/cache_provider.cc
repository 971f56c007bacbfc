#include "tests/support/cache_provider.h"

#include <algorithm>
#include <functional>

namespace daybook::tests {

ProviderTable ProviderTable::anthropic() {
  ProviderTable table;
  table.settings = {{"speed", 1},
                    {"betas", 1},
                    {"format", 1},
                    {"tool_choice", 2},
                    {"image", 2},
                    {"thinking", 2},
                    {"context_management", 2}};
  return table;
}

ProviderTable ProviderTable::openai() {
  ProviderTable table;
  table.kind = Kind::message_ends;
  table.life_s = 1800;
  table.key_counts = true;
  table.tier_counts = true;
  table.settings = {{"format", 0}, {"thinking", 0}, {"verbosity", 0}};
  return table;
}

ProviderTable ProviderTable::openai_before() {
  ProviderTable table;
  table.kind = Kind::any_prefix;
  table.step = 128;
  table.life_s = 600;
  table.reports_writes = false;
  table.key_counts = true;
  table.settings = {{"format", 0}, {"thinking", 0}, {"verbosity", 0}};
  return table;
}

ProviderTable ProviderTable::kimi() {
  ProviderTable table;
  table.kind = Kind::any_prefix;
  table.shortest = 256;
  table.step = 256;
  table.life_s = 900;
  table.reports_writes = false;
  table.settings = {{"image", 0}};
  return table;
}

/// Implicit caching: any common beginning, from a minimum on; no settings are documented to count.
ProviderTable ProviderTable::gemini_flash() {
  ProviderTable table;
  table.kind = Kind::any_prefix;
  table.life_s = 3600;
  table.reports_writes = false;
  return table;
}

ProviderTable ProviderTable::gemini_pro() {
  ProviderTable table = gemini_flash();
  table.shortest = 4096;
  return table;
}

/// Only whole units are found again: the end of a request, fixed distances, and beginnings that
/// two requests were seen to share.
ProviderTable ProviderTable::deepseek() {
  ProviderTable table;
  table.kind = Kind::stored_units;
  table.shortest = 64;
  table.step = 64;
  table.unit = 1024;
  table.life_s = 7200;
  table.reports_writes = false;
  return table;
}

std::uint64_t provider_tokens(const std::string& text) {
  const std::size_t hash = std::hash<std::string>{}(text);
  const double ratio = 0.22 + static_cast<double>(hash % 1000) / 1000.0 * 0.08;
  return 4 + static_cast<std::uint64_t>(static_cast<double>(text.size()) * ratio);
}

CacheProvider::View CacheProvider::view(const ProviderRequest& request) const {
  View view;
  std::string so_far =
      request.route + "|" + request.model + "|" + request.workspace + "|" + request.region + "|";
  if (table_.key_counts) so_far += request.key + "|";
  if (table_.tier_counts) so_far += request.tier + "|";
  std::size_t person = 0;
  for (std::size_t i = 0; i < request.blocks.size(); ++i) {
    if (request.blocks[i].from_person) person = i;
  }
  int part = -1;
  std::uint64_t tokens = 0;
  for (std::size_t i = 0; i < request.blocks.size(); ++i) {
    const ProviderBlock& block = request.blocks[i];
    for (; part < block.part; ++part) {
      for (const auto& [name, from] : table_.settings) {
        const auto given = request.settings.find(name);
        if (from == part + 1 && given != request.settings.end()) {
          so_far += name + "=" + given->second + ";";
        }
      }
    }
    const bool dropped = table_.drops_thinking && i < person && !block.without_thinking.empty();
    const std::string& text = dropped ? block.without_thinking : block.text;
    tokens += provider_tokens(text);
    // Two hashes of everything so far: prompts are long, and many.
    so_far = std::to_string(std::hash<std::string>{}(so_far + "\x1e" + text)) + "/" +
             std::to_string(std::hash<std::string>{}(text + "\x1f" + so_far));
    view.prefixes.push_back(so_far);
    view.tokens.push_back(tokens);
  }
  return view;
}

bool CacheProvider::usable(const std::string& prefix, const ProviderRequest& request,
                           int long_life) const {
  const auto [from, to] = kept_.equal_range(prefix);
  return std::any_of(from, to, [&](const auto& item) {
    const Kept& kept = item.second;
    if (long_life >= 0 && kept.long_life != (long_life == 1)) return false;
    const double life = kept.long_life ? table_.long_life_s : table_.life_s;
    return request.start_s - kept.used_s < life && kept.ready_s <= request.start_s;
  });
}

void CacheProvider::keep(const std::string& prefix, const ProviderRequest& request,
                         bool long_life) {
  const auto [from, to] = kept_.equal_range(prefix);
  const auto old =
      std::find_if(from, to, [&](const auto& item) { return item.second.long_life == long_life; });
  if (old == to) {
    kept_.insert({prefix, {request.start_s, request.first_byte_s, long_life}});
    return;
  }
  const double life = long_life ? table_.long_life_s : table_.life_s;
  if (request.start_s - old->second.used_s >= life) old->second.ready_s = request.first_byte_s;
  old->second.used_s = request.start_s;
}

ProviderUsage CacheProvider::at_breakpoints(const ProviderRequest& request, const View& view) {
  ProviderUsage usage;
  std::vector<std::pair<std::size_t, bool>> taken;
  bool short_one = false;
  for (const auto& [block, hour] : request.breakpoints) {
    if (taken.size() == 4) break;
    if (hour && short_one) continue;
    if (!hour) short_one = true;
    taken.emplace_back(block, hour);
  }
  std::size_t hit = view.prefixes.size();  // none
  for (const auto& [block, hour] : taken) {
    for (int back = 0; back < table_.window && back <= static_cast<int>(block); ++back) {
      const std::size_t at = block - static_cast<std::size_t>(back);
      if (view.tokens[at] < table_.shortest) break;
      if (!usable(view.prefixes[at], request, hour ? 1 : 0)) continue;
      if (hit == view.prefixes.size() || at > hit) hit = at;
      break;
    }
  }
  usage.total = view.tokens.back();
  if (hit < view.prefixes.size()) {
    usage.read = view.tokens[hit];
    for (auto [from, to] = kept_.equal_range(view.prefixes[hit]); from != to; ++from) {
      const double life = from->second.long_life ? table_.long_life_s : table_.life_s;
      if (request.start_s - from->second.used_s < life) from->second.used_s = request.start_s;
    }
  }
  std::uint64_t covered = usage.read;
  for (const auto& [block, hour] : taken) {
    if (view.tokens[block] < table_.shortest) continue;
    if (view.tokens[block] > covered) {
      (hour ? usage.written_1h : usage.written_5m) += view.tokens[block] - covered;
      covered = view.tokens[block];
    }
    keep(view.prefixes[block], request, hour);
  }
  return usage;
}

ProviderUsage CacheProvider::at_message_ends(const ProviderRequest& request, const View& view) {
  ProviderUsage usage;
  usage.total = view.tokens.back();
  int looked = 0;
  for (std::size_t i = request.blocks.size(); i > 0 && looked < table_.window; --i) {
    if (request.blocks[i - 1].part != 2) break;
    ++looked;
    if (view.tokens[i - 1] < table_.shortest) break;
    if (!usable(view.prefixes[i - 1], request, -1)) continue;
    usage.read = view.tokens[i - 1];
    keep(view.prefixes[i - 1], request, false);
    break;
  }
  if (usage.total >= table_.shortest) {
    usage.written_5m = usage.total - usage.read;
    keep(view.prefixes.back(), request, false);
  }
  return usage;
}

ProviderUsage CacheProvider::at_any_prefix(const ProviderRequest& request, const View& view) {
  ProviderUsage usage;
  usage.total = view.tokens.back();
  std::size_t alike = 0;
  while (alike < view.prefixes.size() && usable(view.prefixes[alike], request, -1)) ++alike;
  std::uint64_t common = alike == 0 ? 0 : view.tokens[alike - 1];
  common -= common % table_.step;
  if (common >= table_.shortest) usage.read = common;
  for (const std::string& prefix : view.prefixes) keep(prefix, request, false);
  return usage;
}

ProviderUsage CacheProvider::at_stored_units(const ProviderRequest& request, const View& view) {
  ProviderUsage usage;
  usage.total = view.tokens.back();
  std::uint64_t found = 0;
  std::size_t shared = 0;  // blocks of the beginning that was seen before
  for (std::size_t i = 0; i < view.prefixes.size(); ++i) {
    if (seen_.contains(view.prefixes[i])) shared = i + 1;
    if (usable(view.prefixes[i], request, -1)) found = view.tokens[i];
  }
  found -= found % table_.step;
  if (found >= table_.shortest) usage.read = found;
  std::uint64_t stored = 0;
  for (std::size_t i = 0; i < view.prefixes.size(); ++i) {
    const bool last = i + 1 == view.prefixes.size();
    const bool far = view.tokens[i] - stored >= table_.unit;
    if (last || far || i + 1 == shared) {
      keep(view.prefixes[i], request, false);
      stored = view.tokens[i];
    }
    seen_.insert(view.prefixes[i]);
  }
  return usage;
}

ProviderUsage CacheProvider::serve(const ProviderRequest& request) {
  const View seen = view(request);
  switch (table_.kind) {
    case ProviderTable::Kind::breakpoints:
      return at_breakpoints(request, seen);
    case ProviderTable::Kind::message_ends:
      return at_message_ends(request, seen);
    case ProviderTable::Kind::stored_units:
      return at_stored_units(request, seen);
    case ProviderTable::Kind::any_prefix:
      break;
  }
  return at_any_prefix(request, seen);
}

}  // namespace daybook::tests
