#include "replay/cache_rules.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "engine/nearest.h"

namespace daybook::replay {
namespace {

bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.ends_with('*')) {
    return name.starts_with(pattern.substr(0, pattern.size() - 1));
  }
  return pattern == name;
}

bool any_matches(const std::vector<std::string>& patterns, std::string_view name) {
  return std::ranges::any_of(patterns, [&](const auto& each) { return matches(each, name); });
}

constexpr const char* kScopeNames[kScopeParts] = {"provider", "model",     "key",
                                                  "tier",     "workspace", "region"};

}  // namespace

/// Reads one table; keeps the first error.
class RuleReader {
 public:
  RuleReader(const toml::table& table, std::string_view file) : table_(table), file_(file) {}

  void rules(CacheRules& out) {
    text("name", out.family);
    choice("lookup", out.lookup,
           {{"markers", CacheLookup::markers},
            {"endings", CacheLookup::endings},
            {"prefix", CacheLookup::prefix}});
    range("min_tokens", out.min_tokens);
    range("granularity", out.granularity);
    range("lookback", out.lookback);
    number("max_markers", out.max_markers);
    range("ttl_s", out.ttl_s);
    range("ttl_1h_s", out.ttl_1h_s);
    boolean("longer_ttl_first", out.longer_ttl_first);
    boolean("ttl_flip_misses", out.ttl_flip_misses);
    boolean("readable_at_first_byte", out.readable_at_first_byte);
    boolean("reports_writes", out.reports_writes);
    boolean("exact_resend", out.exact_resend);
    boolean("strips_reasoning", out.strips_reasoning);
    boolean("known", out.known);
    if (const toml::table* scope = sub_table("scope")) {
      RuleReader reader(*scope, file_);
      for (std::size_t i = 0; i < kScopeParts; ++i) {
        reader.choice(
            kScopeNames[i], out.scope[i],
            {{"no", RuleTruth::no}, {"yes", RuleTruth::yes}, {"maybe", RuleTruth::maybe}});
      }
      take_error(reader);
    }
    if (const toml::table* params = sub_table("params")) {
      RuleReader reader(*params, file_);
      for (const auto& [key, value] : *params) {
        CacheArea area{};
        reader.choice(key.str(), area,
                      {{"tools", CacheArea::tools},
                       {"system", CacheArea::system},
                       {"messages", CacheArea::messages}});
        out.params[std::string(key.str())] = area;
      }
      take_error(reader);
    }
  }

  void list(std::string_view key, std::vector<std::string>& out) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const auto* array = node->as_array();
    if (array == nullptr || array->empty()) return wrong(*node, key, "a list of strings");
    for (const auto& each : *array) {
      const auto* value = each.as_string();
      if (value == nullptr) return wrong(each, key, "a list of strings");
      out.push_back(value->get());
    }
  }

  const toml::array* tables(std::string_view key) {
    const toml::node* node = find(key);
    if (node == nullptr) return nullptr;
    const auto* array = node->as_array();
    if (array == nullptr || !array->is_array_of_tables()) wrong(*node, key, "tables");
    return error_.empty() ? array : nullptr;
  }

  /// After everything that may be there was asked for.
  std::string finish() {
    if (!error_.empty()) return error_;
    for (const auto& [key, value] : table_) {
      const std::string name(key.str());
      if (std::ranges::find(known_, name) != known_.end()) continue;
      error_at(value,
               fmt::format("there is no key '{}'{}", name, engine::suggestion(name, known_)));
      break;
    }
    return error_;
  }

 private:
  const toml::node* find(std::string_view key) {
    known_.emplace_back(key);
    return error_.empty() ? table_.get(key) : nullptr;
  }

  const toml::table* sub_table(std::string_view key) {
    const toml::node* node = find(key);
    if (node == nullptr) return nullptr;
    if (node->as_table() == nullptr) wrong(*node, key, "a table");
    return node->as_table();
  }

  void text(std::string_view key, std::string& out) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const auto* value = node->as_string();
    if (value == nullptr) return wrong(*node, key, "a string");
    out = value->get();
  }

  template <class Value>
  void choice(std::string_view key, Value& out,
              std::initializer_list<std::pair<const char*, Value>> choices) {
    std::string given;
    text(key, given);
    if (given.empty()) return;
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) {
      if (given == name) {
        out = value;
        return;
      }
      names.emplace_back(name);
    }
    error_at(*table_.get(key),
             fmt::format("{} cannot be '{}'; use {}", key, given, fmt::join(names, ", ")));
  }

  void number(std::string_view key, std::uint64_t& out) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const auto* value = node->as_integer();
    if (value == nullptr || value->get() < 0) return wrong(*node, key, "a number from 0 on");
    out = static_cast<std::uint64_t>(value->get());
  }

  void boolean(std::string_view key, bool& out) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const auto* value = node->as_boolean();
    if (value == nullptr) return wrong(*node, key, "true or false");
    out = value->get();
  }

  void range(std::string_view key, RuleRange& out) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const auto* array = node->as_array();
    const bool pair = array != nullptr && array->size() == 2 && array->get(0)->is_integer() &&
                      array->get(1)->is_integer();
    if (!pair) return wrong(*node, key, "[least, most]");
    const std::int64_t least = array->get(0)->as_integer()->get();
    const std::int64_t most = array->get(1)->as_integer()->get();
    if (least < 0 || most < least) return wrong(*node, key, "[least, most]");
    out = {static_cast<std::uint64_t>(least), static_cast<std::uint64_t>(most)};
  }

  void wrong(const toml::node& node, std::string_view key, std::string_view expected) {
    error_at(node, fmt::format("{} must be {}", key, expected));
  }

  void error_at(const toml::node& node, std::string_view what) {
    if (error_.empty()) error_ = fmt::format("{}:{}: {}", file_, node.source().begin.line, what);
  }

  void take_error(RuleReader& other) {
    if (error_.empty()) error_ = other.finish();
  }

  const toml::table& table_;
  std::string_view file_;
  std::vector<std::string> known_;
  std::string error_;
};

Result<CacheRuleBook> CacheRuleBook::parse(std::string_view text, std::string_view file) {
  toml::table root;
  try {
    root = toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}:{}: {}", file, error.source().begin.line, error.description()));
  }
  CacheRuleBook book;
  RuleReader top(root, file);
  const toml::array* families = top.tables("family");
  if (const std::string error = top.finish(); !error.empty()) {
    return fail(ErrorCode::invalid_argument, error);
  }
  if (families == nullptr) {
    return fail(ErrorCode::invalid_argument, fmt::format("{}: holds no [[family]]", file));
  }
  for (const auto& node : *families) {
    Row family;
    RuleReader reader(*node.as_table(), file);
    reader.list("providers", family.providers);
    reader.list("models", family.models);
    reader.rules(family.rules);
    const toml::array* models = reader.tables("model");
    if (const std::string error = reader.finish(); !error.empty()) {
      return fail(ErrorCode::invalid_argument, error);
    }
    for (std::size_t i = 0; models != nullptr && i < models->size(); ++i) {
      Row row = family;
      row.models.clear();
      RuleReader special(*models->get(i)->as_table(), file);
      special.list("models", row.models);
      special.rules(row.rules);
      if (const std::string error = special.finish(); !error.empty()) {
        return fail(ErrorCode::invalid_argument, error);
      }
      book.rows_.push_back(std::move(row));
    }
    book.rows_.push_back(std::move(family));
  }
  return book;
}

const CacheRuleBook& CacheRuleBook::shipped() {
  static const CacheRuleBook book = [] {
    auto parsed = parse(kCacheRulesToml, "cache_rules.toml");
    DAYBOOK_CHECK(parsed.has_value());
    return std::move(*parsed);
  }();
  return book;
}

const CacheRules& CacheRuleBook::rules(std::string_view provider, std::string_view kind,
                                       std::string_view model) const {
  for (const std::string_view name : {provider, kind}) {
    if (name.empty()) continue;
    for (const Row& row : rows_) {
      const bool any = row.providers.size() == 1 && row.providers.front() == "*";
      if (!any && any_matches(row.providers, name) && any_matches(row.models, model)) {
        return row.rules;
      }
    }
  }
  return rows_.back().rules;
}

}  // namespace daybook::replay
