#include "engine/sse.h"

#include <fmt/format.h>

namespace daybook::engine {

Result<void> SseDecoder::too_long() {
  stopped_ = true;
  return fail(ErrorCode::provider,
              fmt::format("the event stream holds an event of more than {} bytes", max_));
}

Result<void> SseDecoder::feed(std::string_view bytes, const Sink& sink) {
  while (!stopped_ && !bytes.empty()) {
    if (after_cr_) {
      after_cr_ = false;
      if (bytes.front() == '\n') bytes.remove_prefix(1);
      continue;
    }
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::string_view piece = bytes.substr(0, end);
    if (line_.size() + data_.size() + piece.size() > max_) return too_long();
    if (end == std::string_view::npos) {
      line_.append(piece);
      return {};
    }
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    DAYBOOK_TRY(take_line(piece, sink));
  }
  return {};
}

Result<void> SseDecoder::take_line(std::string_view tail, const Sink& sink) {
  std::string joined;
  std::string_view line = tail;
  if (!line_.empty()) {
    joined.swap(line_);
    joined.append(tail);
    line = joined;
  }
  if (first_line_ && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  first_line_ = false;
  if (!line.empty()) {
    take_field(line);
    return {};
  }
  if (has_data_ && !sink(name_, data_)) stopped_ = true;
  name_.clear();
  data_.clear();
  has_data_ = false;
  return {};
}

void SseDecoder::take_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) data_.push_back('\n');
    data_.append(value);
    has_data_ = true;
  } else if (field == "event") {
    name_ = value;
  }
}

}  // namespace daybook::engine
