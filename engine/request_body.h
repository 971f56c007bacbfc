// The bytes of a request, put together from segments: whole, or on top of the request before it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model.h"
#include "schema/ids.h"

namespace daybook::engine {

/// The body of these parts.
std::string whole_body(const Codec& codec, const RequestParts& parts);

/// Keeps the body made last. A history only grows, so the next one has most of its bytes: they are
/// neither copied nor hashed again, and a request costs what is new in it.
class RequestBody : private BodySink {
 public:
  struct Made {
    std::shared_ptr<const std::string> bytes;
    Digest digest;
  };

  /// The segments among the parts must stay where they are, unchanged, until the next call.
  Made make(const Codec& codec, const RequestParts& parts);

 private:
  void text(std::string_view piece) override;
  void segment(std::string_view piece) override;
  void add(std::string_view piece, const char* identity);
  void cut();
  void own();
  Digest digest();

  struct Piece {
    const char* identity;  // where a segment's bytes are; null for text
    std::size_t end;       // offset in the body
    std::uint64_t text;    // a short text itself: there is one between every two segments
  };
  struct Mark {
    std::size_t offset;
    Digester before;  // of the bytes up to offset
  };

  std::shared_ptr<std::string> body_;
  std::vector<Piece> pieces_;
  std::vector<Mark> marks_;  // every so many bytes
  std::size_t next_ = 0;     // piece that the next one may equal
};

}  // namespace daybook::engine
