// Reads TOML tables key by key, with errors that name file, line and the nearest known key.
#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/result.h"

namespace daybook::engine {

/// How a place in a file is written.
enum class TomlPlace { line, line_and_column };

/// "a string", "a whole number", ...
const char* kind_of(const toml::node& node);

/// Reads the keys of one table, remembers which were asked for, and keeps the first error. Values
/// whose key is absent, or wrong, stay as they are.
class TableReader {
 public:
  /// `path` names the table in errors; "" for the file's top.
  TableReader(const toml::table& table, std::string_view file, std::string path,
              TomlPlace place = TomlPlace::line)
      : table_(table), file_(file), path_(std::move(path)), place_(place) {}

  const toml::node* find(const char* key) {
    known_.emplace_back(key);
    return error_ ? nullptr : table_.get(key);
  }

  template <class Text>  // std::string or std::optional<std::string>
  void text(const char* key, Text& out) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    if (const auto* value = node->as_string()) {
      out = value->get();
    } else {
      wrong(*node, key, "a string");
    }
  }

  template <class Number>  // std::uint32_t, std::uint64_t or an optional of one
  void number(const char* key, Number& out, std::int64_t least, std::int64_t most) {
    if (const auto value = integer(key, least, most)) {
      out = static_cast<typename Plain<Number>::type>(*value);
    }
  }

  template <class Truth>  // bool or std::optional<bool>
  void boolean(const char* key, Truth& out) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    if (const auto* value = node->as_boolean()) {
      out = value->get();
    } else {
      wrong(*node, key, "true or false");
    }
  }

  /// A string out of `choices`.
  std::optional<std::string> choice(const char* key, std::vector<std::string> choices);

  /// A whole number or a fraction.
  std::optional<double> fraction(const char* key);

  const toml::array* list(const char* key, std::string_view of = "strings");
  std::vector<std::string> strings(const char* key);
  const toml::table* table(const char* key);

  void wrong(const toml::node& node, std::string_view key, std::string_view expected);
  void fail_at(const toml::node& node, const std::string& what);
  void fail_at_line(toml::source_index line, const std::string& what);
  /// At the table itself.
  void fail_here(const std::string& what) { fail_at(table_, what); }

  /// The key as errors name it: "'key' in [path]".
  std::string shown(std::string_view key) const;

  /// The first error, or one for the first key that was never asked for.
  Result<void> finish();

 private:
  template <class Number>
  struct Plain {
    using type = Number;
  };
  template <class Number>
  struct Plain<std::optional<Number>> {
    using type = Number;
  };

  std::optional<std::int64_t> integer(const char* key, std::int64_t least, std::int64_t most);

  const toml::table& table_;
  std::string_view file_;
  std::string path_;
  TomlPlace place_;
  std::vector<std::string> known_;
  std::optional<Error> error_;
};

}  // namespace daybook::engine
