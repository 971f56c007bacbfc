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

namespace {

/// What is recorded is what runs: a call whose key is masked would do something else.
void refuse(Block& call) {
  call.arguments_state = schema::ArgumentsState::malformed;
  call.arguments_error =
      "they hold the key that this endpoint is called with, which is never recorded and so cannot "
      "be passed on; name the file or the variable that holds it instead";
}

}  // namespace

void Mask::apply(Reply& reply) const {
  if (mask_.empty()) return;
  for (Block& block : reply.blocks) {
    const bool is_call = block.kind == schema::BlockKind::tool_call;
    const bool hides = is_call && (mask_.masked(block.text) != block.text ||
                                   mask_.masked(block.tool) != block.tool);
    if (hides) refuse(block);
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
