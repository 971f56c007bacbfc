#include "engine/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/nearest.h"

namespace daybook::engine {

const char* kind_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a fraction";
    case toml::node_type::boolean:
      return "true or false";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

std::optional<std::int64_t> TableReader::integer(const char* key, std::int64_t least,
                                                 std::int64_t most) {
  const toml::node* node = find(key);
  if (node == nullptr) return {};
  const auto* value = node->as_integer();
  if (value == nullptr) {
    wrong(*node, key, "a whole number");
    return {};
  }
  if (value->get() < least || value->get() > most) {
    fail_at(*node,
            fmt::format("{} must be from {} to {}, not {}", shown(key), least, most, value->get()));
    return {};
  }
  return value->get();
}

std::optional<std::string> TableReader::choice(const char* key, std::vector<std::string> choices) {
  std::optional<std::string> chosen;
  text(key, chosen);
  if (!chosen || std::ranges::find(choices, *chosen) != choices.end()) return chosen;
  fail_at(*table_.get(key),
          fmt::format("{} cannot be '{}'{}", shown(key), *chosen, suggestion(*chosen, choices)));
  return {};
}

std::optional<double> TableReader::fraction(const char* key) {
  const toml::node* node = find(key);
  if (node == nullptr) return {};
  if (const auto* value = node->as_floating_point()) return value->get();
  if (const auto* value = node->as_integer()) return static_cast<double>(value->get());
  wrong(*node, key, "a number");
  return {};
}

const toml::array* TableReader::list(const char* key, std::string_view of) {
  const toml::node* node = find(key);
  if (node == nullptr) return nullptr;
  if (node->as_array() == nullptr) wrong(*node, key, fmt::format("a list of {}", of));
  return node->as_array();
}

std::vector<std::string> TableReader::strings(const char* key) {
  std::vector<std::string> out;
  const toml::array* nodes = list(key);
  if (nodes == nullptr) return out;
  for (const toml::node& node : *nodes) {
    if (const auto* value = node.as_string()) {
      out.push_back(value->get());
    } else {
      wrong(node, key, "a list of strings");
    }
  }
  return out;
}

const toml::table* TableReader::table(const char* key) {
  const toml::node* node = find(key);
  if (node == nullptr) return nullptr;
  if (node->as_table() == nullptr) wrong(*node, key, "a table");
  return node->as_table();
}

void TableReader::wrong(const toml::node& node, std::string_view key, std::string_view expected) {
  fail_at(node, fmt::format("{} must be {}, not {}", shown(key), expected, kind_of(node)));
}

void TableReader::fail_at(const toml::node& node, const std::string& what) {
  const auto at = node.source().begin;
  if (place_ == TomlPlace::line) return fail_at_line(at.line, what);
  if (error_) return;
  error_ = Error{ErrorCode::invalid_argument,
                 fmt::format("{}:{}:{}: {}", file_, at.line, at.column, what)};
}

void TableReader::fail_at_line(toml::source_index line, const std::string& what) {
  if (error_) return;
  error_ = Error{ErrorCode::invalid_argument, fmt::format("{}:{}: {}", file_, line, what)};
}

std::string TableReader::shown(std::string_view key) const {
  return path_.empty() ? fmt::format("'{}'", key) : fmt::format("'{}' in [{}]", key, path_);
}

Result<void> TableReader::finish() {
  for (const auto& [key, value] : table_) {
    if (error_) break;
    if (std::ranges::find(known_, key.str()) != known_.end()) continue;
    const auto what =
        fmt::format("unknown key {}{}", shown(key.str()), suggestion(key.str(), known_));
    const auto at = key.source().begin;
    if (place_ == TomlPlace::line) {
      fail_at_line(at.line, what);
    } else {
      error_ = Error{ErrorCode::invalid_argument,
                     fmt::format("{}:{}:{}: {}", file_, at.line, at.column, what)};
    }
  }
  if (error_) return fail(*error_);
  return {};
}

}  // namespace daybook::engine
