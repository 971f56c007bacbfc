// The wire formats in this build, one file each.
#pragma once

#include "engine/model.h"

namespace daybook::engine {

const Codec& anthropic_codec();
const Codec& openai_chat_codec();

}  // namespace daybook::engine
