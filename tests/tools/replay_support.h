// A made-up model with a price, for replays through the command line.
#pragma once

namespace daybook::tests {

/// A price file: "fake:m" takes $1 a million tokens of input and $2 of output.
inline constexpr char kFakePrices[] = R"(
[providers.fake]
[[price]]
provider = "fake"
models = ["m"]
valid_from = 2020-01-01
valid_to = 2100-01-01
input = 1.0
output = 2.0
source = "made up for a test"
read = 2026-01-01
)";

}  // namespace daybook::tests
