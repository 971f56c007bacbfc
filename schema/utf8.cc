#include "schema/utf8.h"

#include <algorithm>
#include <cstdint>

namespace daybook {
namespace {

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

/// Length of the valid code point at the start of bytes, or minus the length of the maximal
/// invalid prefix (Unicode 15, table 3-7 and its recommended substitution practice).
int scan(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  if (lead < 0x80) return 1;
  int length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xbf;
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    length = 3;
    if (lead == 0xe0) low = 0xa0;
    if (lead == 0xed) high = 0x9f;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4;
    if (lead == 0xf0) low = 0x90;
    if (lead == 0xf4) high = 0x8f;
  } else {
    return -1;
  }
  for (int i = 1; i < length; ++i) {
    if (static_cast<std::size_t>(i) >= bytes.size()) return -i;
    const auto c = static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
    if (c < low || c > high) return -i;
    low = 0x80;
    high = 0xbf;
  }
  return length;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    if (static_cast<unsigned char>(bytes[at]) < 0x80) {
      ++at;
      continue;
    }
    const int length = scan(bytes.substr(at));
    if (length < 0) return false;
    at += static_cast<std::size_t>(length);
  }
  return true;
}

std::string repair_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  std::size_t at = 0;
  while (at < bytes.size()) {
    const int length = scan(bytes.substr(at));
    if (length > 0) {
      out.append(bytes, at, static_cast<std::size_t>(length));
      at += static_cast<std::size_t>(length);
    } else {
      out += "\xef\xbf\xbd";
      at += static_cast<std::size_t>(-length);
    }
  }
  return out;
}

std::size_t utf8_floor(std::string_view bytes, std::size_t limit) {
  if (limit >= bytes.size()) return bytes.size();
  std::size_t at = limit;
  const std::size_t lowest = limit < 3 ? 0 : limit - 3;
  while (at > lowest && is_continuation(bytes[at])) --at;
  return is_continuation(bytes[at]) ? limit : at;
}

std::size_t utf8_ceil(std::string_view bytes, std::size_t from) {
  std::size_t at = std::min(from, bytes.size());
  const std::size_t highest = std::min(bytes.size(), from + 3);
  while (at < highest && is_continuation(bytes[at])) ++at;
  return at;
}

std::string first_line(std::string_view text, std::size_t limit) {
  const std::string_view line = text.substr(0, text.find('\n'));
  return std::string(line.substr(0, utf8_floor(line, limit)));
}

}  // namespace daybook
