// What the layers of probe.h share in making prompts and reading answers.
#pragma once

#include <string>
#include <string_view>

namespace daybook::replay {

/// The block between delimiters that nothing in it can close.
std::string fenced(std::string_view name, std::string_view text);

/// An answer without the thinking that some models put before it in <think> tags.
std::string_view spoken(std::string_view answer);

/// Without surrounding space, quotes, code marks and fences, a leading "answer:" and a final full
/// stop.
std::string_view bare(std::string_view answer);

/// ASCII letters in lower case, runs of white space as one space, typographic quotes as plain ones.
std::string folded(std::string_view text);

}  // namespace daybook::replay
