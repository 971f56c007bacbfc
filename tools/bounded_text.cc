#include "tools/bounded_text.h"

#include <algorithm>
#include <istream>

namespace daybook::tools {

std::string bounded_text(std::istream& in, std::size_t limit) {
  constexpr std::size_t kPiece = 64 << 10;
  std::string text;
  while (in && text.size() <= limit) {
    const std::size_t before = text.size();
    const std::size_t wanted = std::min(kPiece, limit + 1 - before);
    text.resize(before + wanted);
    in.read(text.data() + before, static_cast<std::streamsize>(wanted));
    text.resize(before + static_cast<std::size_t>(in.gcount()));
  }
  // The end of the text is no failure to read it.
  if (in.eof()) in.clear();
  return text;
}

}  // namespace daybook::tools
