// The wire formats in this build, one file each.
#pragma once

#include "engine/model.h"

namespace daybook::engine {

const Codec& anthropic_codec();         // "anthropic"
const Codec& gemini_codec();            // "gemini"
const Codec& openai_chat_codec();       // "openai-chat"
const Codec& openai_responses_codec();  // "openai-responses"

}  // namespace daybook::engine
