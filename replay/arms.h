// Arms of a replay: ways of making a summary that are compared. docs/replay.md describes the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/event.h"
#include "schema/result.h"

namespace daybook::replay {

struct Arm {
  std::string name;
  bool mechanical = false;  // no model: made by code from the recorded span
  schema::PromptShape shape = schema::PromptShape::instruction_last;
  std::string model;                      // "provider:model"; "": the one that --model names
  std::uint32_t summary_tokens = 16'000;  // longest reply, reasoning included
  std::string reasoning = "off";          // "off", "default", or an effort such as "low"
  std::string temperature;                // decimal number; "": not sent
  std::uint32_t retries = 1;              // after a reply that the gate refused
};

/// replay/arms.toml, built in.
extern const std::string_view kArmsToml;

/// The shipped ones: mechanical, old-3000, moved-3000, moved-16000.
const std::vector<Arm>& shipped_arms();

/// Errors name file and line.
Result<std::vector<Arm>> parse_arms(std::string_view toml, std::string_view file);

}  // namespace daybook::replay
