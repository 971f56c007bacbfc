// Server-sent events out of a byte stream that arrives in pieces of any size.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "schema/result.h"

namespace daybook::engine {

/// Follows the WHATWG event stream rules; `id` and `retry` are ignored. An event that the stream
/// ends in before its blank line is dropped: whether a response is whole is told by the protocol's
/// own end marker, never by this decoder. The pieces' borders never change what comes out.
class SseDecoder {
 public:
  static constexpr std::size_t kMaxEventBytes = std::size_t{64} << 20;

  /// Views are valid during the call. False stops the decoding for good.
  using Sink = std::function<bool(std::string_view name, std::string_view data)>;

  explicit SseDecoder(std::size_t max_event_bytes = kMaxEventBytes) : max_(max_event_bytes) {}

  /// Error when a line or an event is longer than the limit; later bytes are then ignored.
  Result<void> feed(std::string_view bytes, const Sink& sink);

 private:
  Result<void> take_line(std::string_view tail, const Sink& sink);
  void take_field(std::string_view line);
  Result<void> too_long();

  std::size_t max_;
  std::string line_;  // the unfinished line
  std::string name_;
  std::string data_;
  bool has_data_ = false;
  bool first_line_ = true;
  bool after_cr_ = false;
  bool stopped_ = false;
};

}  // namespace daybook::engine
