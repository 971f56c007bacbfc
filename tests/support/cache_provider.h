// Providers' prompt caches for tests of their analysis: written from the providers' documented
// rules, sharing nothing with the code it tests. It sees whole texts and gives out usage figures.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace daybook::tests {

/// A documented cache, by its table of rules.
struct ProviderTable {
  enum class Kind { breakpoints, message_ends, any_prefix, stored_units };
  Kind kind = Kind::breakpoints;
  std::uint64_t shortest = 1024;
  std::uint64_t step = 1;  // reads come in whole steps
  int window = 20;         // blocks per breakpoint, or message ends
  std::uint64_t unit = 0;  // stored_units: a prefix is stored at every so many tokens
  double life_s = 300;
  double long_life_s = 3600;
  bool reports_writes = true;
  bool drops_thinking = false;
  bool key_counts = false;
  bool tier_counts = false;
  /// Setting -> part of the prompt that it makes new: 0 all, 1 system and messages, 2 messages.
  std::map<std::string, int> settings;

  static ProviderTable anthropic();
  static ProviderTable openai();
  static ProviderTable openai_before();
  static ProviderTable kimi();
  static ProviderTable gemini_flash();
  static ProviderTable gemini_pro();
  static ProviderTable deepseek();
};

struct ProviderBlock {
  int part = 2;  // 0 tool, 1 system, 2 message
  std::string text;
  std::string without_thinking;  // "": it has none
  bool from_person = false;
};

struct ProviderRequest {
  std::vector<ProviderBlock> blocks;
  std::vector<std::pair<std::size_t, bool>> breakpoints;  // block, one hour
  std::map<std::string, std::string> settings;
  std::string route, model, workspace, region, key, tier;
  double start_s = 0;
  double first_byte_s = 0;
};

struct ProviderUsage {
  std::uint64_t total = 0;
  std::uint64_t read = 0;
  std::uint64_t written_5m = 0;
  std::uint64_t written_1h = 0;
  std::uint64_t uncached() const { return total - read - written_5m - written_1h; }
};

/// Tokens of a text: not in proportion to its bytes, as with a real tokenizer.
std::uint64_t provider_tokens(const std::string& text);

class CacheProvider {
 public:
  explicit CacheProvider(ProviderTable table) : table_(std::move(table)) {}
  /// Requests come in the order of their starts.
  ProviderUsage serve(const ProviderRequest& request);
  void evict_all() { kept_.clear(); }

 private:
  struct Kept {
    double used_s = 0;
    double ready_s = 0;
    bool long_life = false;
  };
  struct View {
    std::vector<std::string> prefixes;  // identity of the prompt up to each block
    std::vector<std::uint64_t> tokens;  // up to each block
  };

  View view(const ProviderRequest& request) const;
  bool usable(const std::string& prefix, const ProviderRequest& request, int long_life) const;
  void keep(const std::string& prefix, const ProviderRequest& request, bool long_life);
  ProviderUsage at_breakpoints(const ProviderRequest& request, const View& view);
  ProviderUsage at_message_ends(const ProviderRequest& request, const View& view);
  ProviderUsage at_any_prefix(const ProviderRequest& request, const View& view);
  ProviderUsage at_stored_units(const ProviderRequest& request, const View& view);

  ProviderTable table_;
  std::multimap<std::string, Kept> kept_;
  std::set<std::string> seen_;  // every prefix of every request
};

}  // namespace daybook::tests
