#include "executor/arguments.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

namespace daybook::executor {
namespace {

std::string names_of(const Json& properties) {
  std::string out;
  for (const auto& [name, unused] : properties.items()) {
    if (!out.empty()) out += ", ";
    out += name;
  }
  return out.empty() ? "none" : out;
}

std::optional<std::int64_t> whole_number(const Json& value) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) {
    const double number = value.get<double>();
    // Models write 3.0 for 3; the bound keeps the cast defined.
    if (number < -1e15 || number > 1e15) return std::nullopt;
    const auto whole = static_cast<std::int64_t>(number);
    if (static_cast<double>(whole) == number) return whole;
    return std::nullopt;
  }
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// "at least 1", "at most 600", or "" when the value is within its property's bounds.
std::string out_of_bounds(const Json& property, const Json& value) {
  if (!value.is_number()) return {};
  const auto minimum = property.find("minimum");
  if (minimum != property.end() && value.get<double>() < minimum->get<double>()) {
    return "at least " + dump_json(*minimum);
  }
  const auto maximum = property.find("maximum");
  if (maximum != property.end() && value.get<double>() > maximum->get<double>()) {
    return "at most " + dump_json(*maximum);
  }
  return {};
}

/// The value in the property's type, or nothing when it cannot be read as one.
std::optional<Json> typed(const std::string& type, const Json& value) {
  if (type == "integer") {
    const std::optional<std::int64_t> number = whole_number(value);
    return number ? std::optional<Json>(*number) : std::nullopt;
  }
  const bool fits = (type == "string" && value.is_string()) ||
                    (type == "boolean" && value.is_boolean()) ||
                    (type == "number" && value.is_number());
  return fits ? std::optional<Json>(value) : std::nullopt;
}

Result<Json> check_value(const std::string& name, const Json& property, const Json& value) {
  const std::string type = json_text(property, "type");
  std::optional<Json> read = typed(type, value);
  if (!read) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("argument '{}' must be a value of type {}, not {}", name, type,
                            value.type_name()));
  }
  if (const std::string bound = out_of_bounds(property, *read); !bound.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("argument '{}' must be {}, not {}", name, bound, dump_json(*read)));
  }
  const auto allowed = property.find("enum");
  if (allowed != property.end() &&
      std::find(allowed->begin(), allowed->end(), *read) == allowed->end()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("argument '{}' must be one of {}", name, dump_json(*allowed)));
  }
  return std::move(*read);
}

}  // namespace

Result<Json> check_arguments(std::string_view tool, const Json& schema, const Json& arguments) {
  if (!arguments.is_object()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the arguments of {} must be a JSON object", tool));
  }
  static const Json kNone = Json::object();
  const auto found = schema.find("properties");
  const Json& properties = found == schema.end() ? kNone : *found;
  Json checked = Json::object();
  for (const auto& [name, value] : arguments.items()) {
    const auto property = properties.find(name);
    if (property == properties.end()) {
      return fail(ErrorCode::invalid_argument, fmt::format("{} has no argument '{}'; it takes: {}",
                                                           tool, name, names_of(properties)));
    }
    if (value.is_null()) continue;
    const bool fits = typed(json_text(*property, "type"), value).has_value();
    if (!fits && property->contains("default")) continue;
    Result<Json> read = check_value(name, *property, value);
    if (!read) return fail(std::move(read.error()));
    checked[name] = std::move(*read);
  }
  for (const auto& [name, property] : properties.items()) {
    if (property.contains("default") && !checked.contains(name))
      checked[name] = property["default"];
  }
  const auto required = schema.find("required");
  if (required == schema.end()) return checked;
  for (const Json& name : *required) {
    if (!checked.contains(name.get_ref<const std::string&>())) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{} needs the argument '{}'", tool, name.get<std::string>()));
    }
  }
  return checked;
}

}  // namespace daybook::executor
