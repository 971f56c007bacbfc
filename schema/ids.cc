#include "schema/ids.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <charconv>

namespace daybook {
namespace {

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

Digest to_digest(XXH128_hash_t hash) {
  return {hash.high64, hash.low64};
}

bool parse_hex(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

Result<SessionId> SessionId::parse(std::string_view text) {
  bool good = !text.empty() && text.size() <= 64 && is_alnum(text.front());
  for (const char c : text) good = good && (is_alnum(c) || c == '.' || c == '_' || c == '-');
  if (!good) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is not a session name: use 1 to 64 letters, digits, '.', '_' or "
                            "'-', starting with a letter or digit",
                            text));
  }
  return SessionId(std::string(text));
}

std::string Digest::hex() const {
  return fmt::format("{:016x}{:016x}", hi, lo);
}

Result<Digest> Digest::parse(std::string_view hex) {
  Digest digest;
  if (hex.size() != 32 || !parse_hex(hex.substr(0, 16), digest.hi) ||
      !parse_hex(hex.substr(16), digest.lo)) {
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a digest", hex));
  }
  return digest;
}

Digest Digest::of(std::span<const std::byte> bytes) {
  return to_digest(XXH3_128bits(bytes.data(), bytes.size()));
}

Digest Digest::of(std::string_view bytes) {
  return to_digest(XXH3_128bits(bytes.data(), bytes.size()));
}

Digest Digest::from(const schema::Digest* digest) {
  return digest == nullptr ? Digest{} : Digest{digest->hi(), digest->lo()};
}

Digester::Digester() : state_(XXH3_createState()) {
  DAYBOOK_CHECK(state_ != nullptr);
  XXH3_128bits_reset(static_cast<XXH3_state_t*>(state_));
}

Digester::Digester(const Digester& other) : Digester() {
  *this = other;
}

Digester& Digester::operator=(const Digester& other) {
  if (this == &other) return *this;
  XXH3_copyState(static_cast<XXH3_state_t*>(state_), static_cast<XXH3_state_t*>(other.state_));
  return *this;
}

Digester::~Digester() {
  XXH3_freeState(static_cast<XXH3_state_t*>(state_));
}

void Digester::update(std::string_view bytes) {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state_), bytes.data(), bytes.size());
}

Digest Digester::digest() const {
  return to_digest(XXH3_128bits_digest(static_cast<XXH3_state_t*>(state_)));
}

std::uint64_t xxh3_64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

BlobRef BlobRef::from(const schema::BlobRef* ref) {
  return ref == nullptr ? BlobRef{} : BlobRef{Digest::from(&ref->digest()), ref->size()};
}

std::string Uuid::str() const {
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", hi >> 32, (hi >> 16) & 0xffff,
                     hi & 0xffff, lo >> 48, lo & 0xffffffffffff);
}

Uuid Uuid::v7(std::int64_t utc_ns, std::uint64_t random_hi, std::uint64_t random_lo) {
  const auto ms = static_cast<std::uint64_t>(utc_ns / 1'000'000);
  return {(ms << 16) | 0x7000 | (random_hi & 0x0fff),
          0x8000'0000'0000'0000 | (random_lo & 0x3fff'ffff'ffff'ffff)};
}

}  // namespace daybook
