// Identities and digests: strong types with one textual form each.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "schema/event_generated.h"
#include "schema/result.h"

namespace daybook {

/// Name of a session: 1-64 characters of [A-Za-z0-9._-], the first a letter or digit.
class SessionId {
 public:
  static Result<SessionId> parse(std::string_view text);
  const std::string& str() const { return text_; }
  auto operator<=>(const SessionId&) const = default;

 private:
  explicit SessionId(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

/// XXH3-128 of a byte string. Detects corruption and equality; not proof against an adversary.
struct Digest {
  std::uint64_t hi = 0;
  std::uint64_t lo = 0;
  auto operator<=>(const Digest&) const = default;
  bool is_zero() const { return hi == 0 && lo == 0; }
  std::string hex() const;  // 32 lower-case digits
  static Result<Digest> parse(std::string_view hex);
  schema::Digest fb() const { return {hi, lo}; }
  static Digest of(std::span<const std::byte> bytes);
  static Digest of(std::string_view bytes);
  static Digest from(const schema::Digest* digest);  // zero for null
};

/// Digest of a byte string that arrives in pieces.
class Digester {
 public:
  Digester();
  ~Digester();
  Digester(const Digester& other);
  Digester& operator=(const Digester& other);
  void update(std::string_view bytes);
  Digest digest() const;

 private:
  void* state_;
};

std::uint64_t xxh3_64(std::span<const std::byte> bytes);

/// A byte string in the content-addressed store.
struct BlobRef {
  Digest digest;
  std::uint64_t size = 0;
  auto operator<=>(const BlobRef&) const = default;
  static BlobRef of(std::string_view bytes) { return {Digest::of(bytes), bytes.size()}; }
  static BlobRef from(const schema::BlobRef* ref);
  schema::BlobRef fb() const { return {digest.fb(), size}; }
};

/// UUIDv7 from a clock reading (UTC ns) and 74 random bits.
struct Uuid {
  std::uint64_t hi = 0;
  std::uint64_t lo = 0;
  auto operator<=>(const Uuid&) const = default;
  std::string str() const;
  static Uuid v7(std::int64_t utc_ns, std::uint64_t random_hi, std::uint64_t random_lo);
};

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace daybook
