#include "engine/result_cap.h"

#include <fmt/format.h>

#include "schema/result.h"
#include "schema/utf8.h"

namespace daybook::engine {

std::string cap_result(std::string_view text, std::size_t limit, std::string_view where) {
  std::string valid = is_utf8(text) ? std::string(text) : repair_utf8(text);
  if (valid.size() <= limit) return valid;
  // The number of missing bytes is part of the marker, so its width is reserved first.
  const auto marker = [&](std::size_t missing) {
    return fmt::format("\n[... {} bytes left out; {} ...]\n", missing, where);
  };
  const std::size_t reserve = marker(valid.size()).size();
  const std::size_t room = limit > reserve ? limit - reserve : 0;
  const std::size_t head = utf8_floor(valid, room / 2);
  const std::size_t tail = utf8_ceil(valid, valid.size() - (room - room / 2));
  return valid.substr(0, head) + marker(tail - head) + valid.substr(tail);
}

}  // namespace daybook::engine
