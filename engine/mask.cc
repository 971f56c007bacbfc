#include "engine/mask.h"

#include "schema/json.h"

namespace daybook::engine {
namespace {

void replace_all(std::string& text, const std::string& what) {
  if (what.empty()) return;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 3)) {
    text.replace(at, what.size(), "***");
  }
}

}  // namespace

Mask::Mask(std::string_view key) {
  if (key.size() < kMinKeyBytes) return;
  key_ = key;
  append_json_string(escaped_, key);
  escaped_ = escaped_.substr(1, escaped_.size() - 2);
  if (escaped_ == key_) escaped_.clear();
}

void Mask::apply(std::string& text) const {
  replace_all(text, escaped_);
  replace_all(text, key_);
}

std::string Mask::operator()(std::string_view text) const {
  std::string out(text);
  apply(out);
  return out;
}

void Mask::apply(Reply& reply) const {
  if (key_.empty()) return;
  for (Block& block : reply.blocks) {
    for (std::string* text : {&block.text, &block.opaque, &block.provider_call_id, &block.tool,
                              &block.arguments_error}) {
      apply(*text);
    }
  }
  for (std::string* text : {&reply.stop_raw, &reply.usage.raw, &reply.response_id,
                            &reply.served_model, &reply.raw, &reply.diagnostics}) {
    apply(*text);
  }
}

void Mask::apply(Failure& failure) const {
  apply(failure.message);
  apply(failure.raw);
  apply(failure.usage.raw);
}

}  // namespace daybook::engine
