#include "replay/arms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/toml_reader.h"
#include "schema/utf8.h"

namespace daybook::replay {
namespace {

using engine::TableReader;

constexpr std::array<std::string_view, 6> kReasonings = {"off", "default", "minimal",
                                                         "low", "medium",  "high"};
constexpr std::uint32_t kMostRetries = 5;
constexpr std::uint32_t kMostTokens = 1'000'000;

constexpr std::array<std::string_view, 6> kOfModels = {
    "shape", "model", "summary_max_tokens", "reasoning", "temperature", "retries"};
constexpr std::size_t kNameBytes = 64;

/// Neither a control character nor anything that is no text.
bool plain(std::string_view text) {
  return is_utf8(text) && std::ranges::none_of(text, [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

/// For an error: control characters as "?".
std::string visible(std::string_view text) {
  std::string shown = repair_utf8(text.substr(0, utf8_floor(text, kNameBytes)));
  std::ranges::replace_if(
      shown, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return shown;
}

std::string shortest(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

/// What names a model is written out; an arm without a model has nothing to say of one.
void check_model(TableReader& reader, const toml::table& table, const Arm& arm) {
  if (arm.mechanical) {
    for (const auto& [key, node] : table) {
      if (std::ranges::find(kOfModels, key.str()) == kOfModels.end()) continue;
      return reader.fail_at(node, fmt::format("{} does not go with 'mechanical': such an arm calls "
                                              "no model; leave one of the two out",
                                              reader.shown(key.str())));
    }
  }
  if (arm.model.empty()) return;
  const std::size_t colon = arm.model.find(':');
  const bool whole =
      colon != std::string::npos && colon > 0 && colon + 1 < arm.model.size() && plain(arm.model);
  if (whole) return;
  reader.fail_at(*table.get("model"), fmt::format("{} must be provider:model, not '{}'",
                                                  reader.shown("model"), visible(arm.model)));
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
    // Neither a number beyond the limits nor one that compares with nothing.
    if (!(*temperature >= 0 && *temperature <= 2)) {
      reader.fail_at(*table.get("temperature"),
                     fmt::format("{} must be a number from 0 to 2, not {}",
                                 reader.shown("temperature"), shortest(*temperature)));
    }
    arm.temperature = shortest(*temperature);
  }
  reader.number("retries", arm.retries, 0, kMostRetries);
  check_model(reader, table, arm);
  DAYBOOK_TRY(reader.finish());
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
      if (name.str().empty() || name.str().size() > kNameBytes || !plain(name.str())) {
        top.fail_at(*table, fmt::format("an arm's name has 1 to {} bytes and no control "
                                        "characters; '{}' is none",
                                        kNameBytes, visible(name.str())));
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
