#include "engine/codecs.h"

#include "engine/script_model.h"

namespace daybook::engine {

const Codec* find_codec(std::string_view kind) {
  for (const Codec* codec : {&anthropic_codec(), &gemini_codec(), &openai_chat_codec(),
                             &openai_responses_codec(), &script_codec()}) {
    if (codec->kind() == kind) return codec;
  }
  return nullptr;
}

}  // namespace daybook::engine
