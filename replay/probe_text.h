// What the layers of probe.h share in making prompts and reading answers.
#pragma once

#include <string>
#include <string_view>

namespace daybook::replay {

/// The block between delimiters that nothing in it can close.
std::string fenced(std::string_view name, std::string_view text);

/// Without surrounding space, quotes, code marks, a leading "answer:" and a final full stop.
std::string_view bare(std::string_view answer);

/// ASCII letters in lower case, runs of white space as one space.
std::string folded(std::string_view text);

}  // namespace daybook::replay
