#include "executor/secrets.h"

#include <array>
#include <catch2/catch.hpp>

#include "executor/process_env.h"

using namespace daybook::executor;

TEST_CASE("names that look secret", "[secrets]") {
  for (const char* name : {"OPENAI_API_KEY", "api_key", "GITHUB_TOKEN", "APIKEY",
                           "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "PGPASSWORD", "MY_CREDENTIALS",
                           "SSH_AUTH_SOCK", "HTTP_COOKIES", "SESSION", "AUTH"}) {
    CAPTURE(name);
    CHECK(is_secret_name(name));
  }
  for (const char* name :
       {"PATH", "HOME", "GIT_AUTHOR_NAME", "KEYBOARD", "PWD", "TOKENIZERS_PARALLELISM", ""}) {
    CAPTURE(name);
    CHECK_FALSE(is_secret_name(name));
  }
}

TEST_CASE("commands get no secrets and answer no questions", "[secrets]") {
  const std::array<std::string, 7> parent = {"PATH=/bin",        "API_KEY=x",  "DAYBOOK_HOME=/d",
                                             "BASH_ENV=/evil",   "PAGER=less", "LANG=C.UTF-8",
                                             "GIT_AUTHOR_NAME=A"};
  const auto env = command_environment(parent);
  CHECK(variable(env, "PATH") == "/bin");
  CHECK(variable(env, "LANG") == "C.UTF-8");
  CHECK(variable(env, "GIT_AUTHOR_NAME") == "A");
  CHECK(variable(env, "PAGER") == "cat");
  CHECK(variable(env, "TERM") == "dumb");
  CHECK(variable(env, "GIT_TERMINAL_PROMPT") == "0");
  for (const char* gone : {"API_KEY", "DAYBOOK_HOME", "BASH_ENV"}) {
    CHECK(variable(env, gone).empty());
  }
}

TEST_CASE("secret values are masked wherever the stream is cut", "[secrets]") {
  const std::array<std::string, 4> env = {"A_KEY=abcabcabd", "B_KEY=abcabcabdXYZ", "C_KEY=short",
                                          "PATH=/usr/bin:/bin"};
  const SecretMask mask(env);
  const std::string text = "abcabcabcabd abcabcabdXYZ abcabcabdXY short /usr/bin:/bin abcabcab";
  const std::string expected = "abc*** *** ***XY short /usr/bin:/bin abcabcab";
  CHECK(mask.masked(text) == expected);
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      SecretStream stream(mask);
      std::string out;
      stream.feed(std::string_view(text).substr(0, first), out);
      stream.feed(std::string_view(text).substr(first, second - first), out);
      stream.feed(std::string_view(text).substr(second), out);
      stream.finish(out);
      REQUIRE(out == expected);
    }
  }
}

TEST_CASE("other texts can be replaced too", "[secrets]") {
  SecretMask mask;
  CHECK(mask.empty());
  CHECK(mask.masked("as it is") == "as it is");
  mask.add("/tmp/private/command", "bash");
  CHECK(mask.masked("/tmp/private/command: line 1") == "bash: line 1");
}
