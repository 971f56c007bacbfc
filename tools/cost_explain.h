// The arithmetic of one call's cost.
#pragma once

#include "replay/price_book.h"
#include "tools/command.h"
#include "tools/cost_calls.h"

namespace daybook::tools {

/// What --explain asks for.
struct WantedCall {
  std::string session;        // its name in the journal, or the log's own for a file
  std::uint64_t version = 0;  // of its response or its request
  std::string event_id;       // instead of both, when not empty

  bool matches(const replay::Call& call) const;
};

/// From SESSION:VERSION, or the id of an event.
Result<WantedCall> parse_wanted_call(std::string_view text);

/// Errors: `not_found`, or those of `calls`.
Result<int> explain_cost(Context& context, const CallSource& calls, const WantedCall& wanted,
                         const replay::PriceBook& book, std::optional<std::int64_t> prices_at,
                         bool json);

}  // namespace daybook::tools
