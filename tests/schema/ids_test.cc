#include "schema/ids.h"

#include <catch2/catch.hpp>

namespace daybook::tests {

TEST_CASE("digests are XXH3-128, as its authors publish it") {
  CHECK(Digest::of("").hex() == "99aa06d3014798d86001c324468d497f");
  Digester pieces;
  pieces.update("one ");
  pieces.update("");
  pieces.update("two");
  CHECK(pieces.digest() == Digest::of("one two"));
  CHECK(Digest::of("a") != Digest::of("b"));
}

TEST_CASE("XXH3-64 of nothing is the published value") {
  CHECK(xxh3_64({}) == 0x2d06800538d394c2);
}

TEST_CASE("a digest's text is its value") {
  const Digest digest{0x0123456789abcdef, 0xfedcba9876543210};
  CHECK(digest.hex() == "0123456789abcdeffedcba9876543210");
  CHECK(*Digest::parse(digest.hex()) == digest);
  CHECK(Digest{}.is_zero());
  for (const char* bad :
       {"", "0123", "0123456789abcdeffedcba987654321g", "0123456789abcdeffedcba98765432100",
        "-123456789abcdeffedcba9876543210"}) {
    CHECK_FALSE(Digest::parse(bad).has_value());
  }
  CHECK(Digest::from(nullptr).is_zero());
  CHECK(BlobRef::from(nullptr) == BlobRef{});
}

TEST_CASE("a UUIDv7 is laid out as in the example of RFC 9562, appendix A.6") {
  // 017F22E2-79B0-7CC3-98C4-DC0C0C07398F: 2022-02-22 19:22:22 UTC, rand_a cc3,
  // rand_b 18c4dc0c0c07398f.
  const Uuid id = Uuid::v7(1'645'557'742'000'000'000, 0xcc3, 0x18c4dc0c0c07398f);
  CHECK(id.str() == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
  // Surplus random bits do not reach version and variant.
  CHECK(Uuid::v7(1'645'557'742'000'000'000, ~0ULL, ~0ULL).str() ==
        "017f22e2-79b0-7fff-bfff-ffffffffffff");
  CHECK(Uuid::v7(1'000'000, 0, 0) < Uuid::v7(2'000'000, 0, 0));
}

TEST_CASE("session names are short and plain") {
  for (const char* good : {"a", "Z9", "a.b_c-d", "0"}) CHECK(SessionId::parse(good).has_value());
  CHECK(SessionId::parse(std::string(64, 'x')).has_value());
  for (const char* bad : {"", ".a", "-a", "_a", "a/b", "a b", "\xc3\xa4", "a\n"}) {
    CHECK(SessionId::parse(bad).error().code == ErrorCode::invalid_argument);
  }
  CHECK_FALSE(SessionId::parse(std::string(65, 'x')).has_value());
  CHECK_FALSE(SessionId::parse(std::string_view("a\0b", 3)).has_value());
}

}  // namespace daybook::tests
