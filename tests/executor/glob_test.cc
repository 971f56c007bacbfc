#include "executor/glob.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

namespace daybook::executor {
namespace {

TEST_CASE("names match patterns", "[executor][glob]") {
  for (const auto& [pattern, name] :
       std::initializer_list<std::pair<const char*, const char*>>{{"*", ""},
                                                                  {"*", ".x"},
                                                                  {"a*c", "abbc"},
                                                                  {"*.tar.*", "x.tar.gz"},
                                                                  {"?", "ä"},
                                                                  {"[a-c]x", "bx"},
                                                                  {"[!a]", "b"},
                                                                  {"[]]", "]"},
                                                                  {"[", "["},
                                                                  {"a[b", "a[b"},
                                                                  {"[a-]", "-"},
                                                                  {"*a*b*", "xxaxxbxx"}}) {
    INFO(pattern << " " << name);
    CHECK(match_name(pattern, name));
  }
  for (const auto& [pattern, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "a"}, {"a", ""}, {"?", ""}, {"?", "ab"}, {"[!a]", "a"}, {"*.py", "a.pyc"}}) {
    INFO(pattern << " " << name);
    CHECK_FALSE(match_name(pattern, name));
  }
}

TEST_CASE("paths match component by component", "[executor][glob]") {
  CHECK(match_path("**/*.h", "a.h"));
  CHECK(match_path("**/*.h", "a/b/c.h"));
  CHECK(match_path("a/**/c", "a/c"));
  CHECK(match_path("a/**/c", "a/b/b/c"));
  CHECK_FALSE(match_path("*", "a/b"));
  CHECK_FALSE(match_path("a/*", "a"));
  CHECK_FALSE(match_path("a/**/c", "b/c"));
}

TEST_CASE("a pattern of many stars takes no exponential time", "[executor][glob]") {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "*a";
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(match_name(pattern + "b", std::string(10'000, 'a')));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
}

}  // namespace
}  // namespace daybook::executor
