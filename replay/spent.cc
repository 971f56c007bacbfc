#include "replay/spent.h"

#include <nlohmann/json.hpp>

#include "replay/price_call.h"
#include "schema/json.h"

namespace daybook::replay {

bool may_have_been_billed(const schema::Event& event) {
  if (event.payload_type() == schema::Payload::ModelAbandoned) return true;
  const auto* failed = event.payload_as_ModelFailed();
  if (failed == nullptr) return false;
  using enum schema::FailureKind;
  const auto kind = failed->kind();
  return kind == connection || kind == stream_cut || kind == bad_response || kind == cancelled;
}

std::optional<std::uint64_t> reply_limit_of(const schema::ModelRequested& request) {
  const auto* head = request.head();
  if (head == nullptr || head->bytes() == nullptr) return std::nullopt;
  std::string members = "{";
  members.append(head->bytes()->begin(), head->bytes()->end());
  const auto parsed = parse_json(members + '}');
  if (!parsed || !parsed->is_object()) return std::nullopt;
  const auto limit = [](const Json& object, const char* name) -> std::optional<std::uint64_t> {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
    return found->get<std::uint64_t>();
  };
  for (const char* name : {"max_tokens", "max_completion_tokens", "max_output_tokens"}) {
    if (const auto found = limit(*parsed, name)) return found;
  }
  const auto config = parsed->find("generationConfig");
  if (config == parsed->end() || !config->is_object()) return std::nullopt;
  return limit(*config, "maxOutputTokens");
}

CallUsage most_usage(std::uint64_t body_bytes, std::uint64_t reply_tokens) {
  CallUsage usage;
  usage.input_total = body_bytes / 2;
  usage.input_uncached = usage.input_total;
  usage.output = reply_tokens;
  return usage;
}

void Spent::add(const PriceBook& prices, const PaidCall& call) {
  const auto rows = prices.rows_for(call.provider, call.model);
  const CallCost cost = price_call(rows, call.usage, {call.at, call.at});
  unpriced_tokens += cost.unpriced_tokens;
  money += cost.total.high;
  unknown_calls += call.answered && !call.usage.any() ? 1 : 0;
  at_most_calls += call.at_most ? 1 : 0;
}

}  // namespace daybook::replay
