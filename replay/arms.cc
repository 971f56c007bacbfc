#include "replay/arms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/toml_reader.h"

namespace daybook::replay {
namespace {

using engine::TableReader;

constexpr std::array<std::string_view, 6> kReasonings = {"off", "default", "minimal",
                                                         "low", "medium",  "high"};
constexpr std::uint32_t kMostRetries = 5;
constexpr std::uint32_t kMostTokens = 1'000'000;

std::string shortest(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

Result<Arm> read_arm(const toml::table& table, std::string_view file, std::string name) {
  TableReader reader(table, file, "arms." + name);
  Arm arm;
  arm.name = std::move(name);
  reader.boolean("mechanical", arm.mechanical);
  if (const auto shape = reader.choice("shape", {"instruction-last", "instruction-first"})) {
    arm.shape = *shape == "instruction-last" ? schema::PromptShape::instruction_last
                                             : schema::PromptShape::instruction_first;
  }
  reader.text("model", arm.model);
  reader.number("summary_max_tokens", arm.summary_tokens, 1, kMostTokens);
  if (const auto reasoning = reader.choice("reasoning", {kReasonings.begin(), kReasonings.end()})) {
    arm.reasoning = *reasoning;
  }
  if (const auto temperature = reader.fraction("temperature")) {
    if (*temperature < 0 || *temperature > 2) {
      reader.fail_here(fmt::format("{} must be from 0 to 2", reader.shown("temperature")));
    }
    arm.temperature = shortest(*temperature);
  }
  reader.number("retries", arm.retries, 0, kMostRetries);
  DAYBOOK_TRY(reader.finish());
  if (!arm.model.empty() && arm.model.find(':') == std::string::npos) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: 'model' of arm '{}' must be provider:model, not '{}'", file,
                            arm.name, arm.model));
  }
  return arm;
}

Result<std::vector<Arm>> read_arms(const toml::table& root, std::string_view file) {
  TableReader top(root, file, "");
  std::vector<Arm> arms;
  if (const toml::table* tables = top.table("arms")) {
    for (const auto& [name, node] : *tables) {
      const toml::table* table = node.as_table();
      if (table == nullptr) {
        top.wrong(node, name.str(), "a table, written [arms.NAME]");
        break;
      }
      auto arm = read_arm(*table, file, std::string(name.str()));
      if (!arm) return fail(std::move(arm.error()));
      arms.push_back(std::move(*arm));
    }
  }
  DAYBOOK_TRY(top.finish());
  if (arms.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: there is no arm; write each as [arms.NAME]", file));
  }
  return arms;
}

}  // namespace

const std::vector<Arm>& shipped_arms() {
  static const std::vector<Arm> arms = [] {
    auto parsed = parse_arms(kArmsToml, "replay/arms.toml");
    DAYBOOK_CHECK(parsed.has_value());
    return std::move(*parsed);
  }();
  return arms;
}

Result<std::vector<Arm>> parse_arms(std::string_view toml, std::string_view file) {
  try {
    return read_arms(toml::parse(toml, std::string(file)), file);
  } catch (const toml::parse_error& error) {
    const auto at = error.source().begin;
    return fail(ErrorCode::invalid_argument, fmt::format("{}:{}:{}: not valid TOML: {}", file,
                                                         at.line, at.column, error.description()));
  }
}

}  // namespace daybook::replay
