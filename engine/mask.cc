#include "engine/mask.h"

#include "schema/json.h"

namespace daybook::engine {
Mask::Mask(std::string_view key) {
  if (key.size() < kMinKeyBytes) return;
  std::string escaped;
  append_json_string(escaped, key);
  mask_.add(escaped.substr(1, escaped.size() - 2), "***");
  mask_.add(std::string(key), "***");
}

void Mask::apply(std::string& text) const {
  if (!mask_.empty()) text = mask_.masked(text);
}

std::string Mask::operator()(std::string_view text) const {
  std::string out(text);
  apply(out);
  return out;
}

void Mask::apply(Reply& reply) const {
  if (mask_.empty()) return;
  for (Block& block : reply.blocks) {
    for (std::string* text : {&block.text, &block.opaque, &block.provider_call_id, &block.tool,
                              &block.arguments_error}) {
      apply(*text);
    }
  }
  for (std::string* text :
       {&reply.stop_raw, &reply.response_id, &reply.served_model, &reply.raw, &reply.diagnostics}) {
    apply(*text);
  }
  apply(reply.usage);
}

void Mask::apply(Usage& usage) const {
  for (std::string* text : {&usage.raw, &usage.service_tier, &usage.speed, &usage.region}) {
    apply(*text);
  }
}

void Mask::apply(Failure& failure) const {
  apply(failure.message);
  apply(failure.raw);
  apply(failure.usage);
}

}  // namespace daybook::engine
