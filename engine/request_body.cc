#include "engine/request_body.h"

#include <algorithm>
#include <cstring>

namespace daybook::engine {
namespace {

/// What is hashed again is at most this much of the old bytes.
constexpr std::size_t kMarkBytes = 64 << 10;

/// The bytes of a text of at most 8; 0 for longer ones and for segments.
std::uint64_t short_text(std::string_view piece, const char* identity) {
  std::uint64_t bytes = 0;
  if (identity == nullptr && piece.size() <= sizeof bytes) {
    std::memcpy(&bytes, piece.data(), piece.size());
  }
  return bytes;
}

class StringSink : public BodySink {
 public:
  void text(std::string_view piece) override { out.append(piece); }
  void segment(std::string_view piece) override { out.append(piece); }
  std::string out;
};

}  // namespace

std::string whole_body(const Codec& codec, const RequestParts& parts) {
  StringSink sink;
  std::size_t size = parts.head.size() + 1024;  // the frame and the markers
  for (const auto& list : {parts.system, parts.tools, parts.messages}) {
    for (const std::string_view part : list) size += part.size() + 1;
  }
  sink.out.reserve(size);
  codec.frame(parts, sink);
  return std::move(sink.out);
}

RequestBody::Made RequestBody::make(const Codec& codec, const RequestParts& parts) {
  if (body_ == nullptr) body_ = std::make_shared<std::string>();
  next_ = 0;
  codec.frame(parts, *this);
  cut();
  return {body_, digest()};
}

void RequestBody::text(std::string_view piece) {
  add(piece, nullptr);
}

void RequestBody::segment(std::string_view piece) {
  add(piece, piece.data());
}

void RequestBody::add(std::string_view piece, const char* identity) {
  const std::size_t begin = next_ == 0 ? 0 : pieces_[next_ - 1].end;
  const std::uint64_t text = short_text(piece, identity);
  if (next_ < pieces_.size()) {
    const Piece& known = pieces_[next_];
    // Short texts are not compared in the body: looking at it every few kilobytes costs more than
    // all else here.
    const bool whole = identity != nullptr || piece.size() <= sizeof text;
    const bool same = known.identity == identity && known.end == begin + piece.size() &&
                      known.text == text &&
                      (whole || body_->compare(begin, piece.size(), piece) == 0);
    if (same) {
      ++next_;
      return;
    }
    cut();
  }
  own();
  body_->append(piece);
  pieces_.push_back({identity, body_->size(), text});
  ++next_;
}

/// Drops what follows the pieces that were the same.
void RequestBody::cut() {
  const std::size_t size = next_ == 0 ? 0 : pieces_[next_ - 1].end;
  pieces_.resize(next_, {nullptr, 0, 0});
  if (size == body_->size()) return;
  own();
  body_->resize(size);
  while (!marks_.empty() && marks_.back().offset > size) marks_.pop_back();
}

/// Whoever still reads the last body keeps it as it is.
void RequestBody::own() {
  if (body_.use_count() > 1) body_ = std::make_shared<std::string>(*body_);
}

Digest RequestBody::digest() {
  const std::string_view bytes = *body_;
  Digester digester = marks_.empty() ? Digester() : marks_.back().before;
  std::size_t at = marks_.empty() ? 0 : marks_.back().offset;
  while (at < bytes.size()) {
    const std::size_t size = std::min(kMarkBytes, bytes.size() - at);
    digester.update(bytes.substr(at, size));
    at += size;
    if (size == kMarkBytes) marks_.push_back({at, digester});
  }
  return digester.digest();
}

}  // namespace daybook::engine
