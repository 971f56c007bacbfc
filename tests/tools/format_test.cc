#include "tools/format.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "tools/table.h"

namespace daybook::tools {
namespace {

TEST_CASE("times are RFC 3339 in UTC with nine digits, before 1970 too") {
  CHECK(rfc3339(0) == "1970-01-01T00:00:00.000000000Z");
  CHECK(rfc3339(1'709'210'096'000'000'007) == "2024-02-29T12:34:56.000000007Z");
  CHECK(rfc3339(-1) == "1969-12-31T23:59:59.999999999Z");
  CHECK(short_time(1'709'210'096'999'999'999) == "2024-02-29 12:34:56Z");
}

TEST_CASE("durations have one unit that fits") {
  CHECK(duration(850'999) == "850 us");
  CHECK(duration(12'999'999) == "12 ms");
  CHECK(duration(3'450'000'000) == "3.4 s");
  CHECK(duration(125'000'000'000) == "2 min 5 s");
}

TEST_CASE("base64 as RFC 4648 gives it") {
  CHECK(base64("").empty());
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64("\xff\xfe\xfd") == "//79");
}

TEST_CASE("recorded text cannot drive the terminal") {
  CHECK(printable("a\x1b[31mb\r\n\tc\x7f") == "a\\x1b[31mb\\x0d\n\tc\\x7f");
  CHECK(printable("\xc2\x9b"
                  "2J") == "\\x9b2J");  // CSI as one character
  CHECK(printable("bad \xff end") == "bad \xef\xbf\xbd end");
  CHECK(one_line("a\nb\tc") == "a b c");
}

TEST_CASE("width counts cells, and fit cuts between characters") {
  CHECK(display_width("größe") == 5);
  CHECK(display_width("日本") == 4);
  CHECK(display_width("e\xcc\x81") == 1);
  CHECK(fit("größe", 5) == "größe");
  CHECK(fit("größen", 5) == "größ…");
  CHECK(fit("日本語", 4) == "日…");
  CHECK(fit("ab", 1) == "…");
  CHECK(fit("ab", 0).empty());
}

TEST_CASE("a table fits the terminal by its flexible column alone") {
  Table table({"ID", "TITLE"}, 1);
  table.add({"a", "a long title\nof two lines"});
  table.add({"bb", "x"});
  const auto printed = [&](std::size_t columns) {
    std::ostringstream out;
    table.print(out, columns, false);
    return out.str();
  };
  CHECK(printed(0) == "ID  TITLE\na   a long title of two lines\nbb  x\n");
  CHECK(printed(14) == "ID  TITLE\na   a long ti…\nbb  x\n");
  CHECK(printed(3) == "ID  TITLE\na   a long …\nbb  x\n");
}

TEST_CASE("a table that cannot give way is printed in parts, each with its first column") {
  Table table({"ID", "FROM", "WHEN", "END"});
  table.add({"multi@118", "daybook", "2026-11-29", "summary"});
  table.add({"multi@12", "codex", "?", "unknown"});
  const auto printed = [&](std::size_t columns) {
    std::ostringstream out;
    table.print(out, columns, false);
    return out.str();
  };
  CHECK(printed(30) ==
        "ID         FROM     WHEN\nmulti@118  daybook  2026-11-29\nmulti@12   codex    ?\n"
        "ID         END\nmulti@118  summary\nmulti@12   unknown\n");
  // However narrow: one column more than the first.
  CHECK(printed(5).find("ID         FROM\nmulti@118  daybook\n") == 0);
  CHECK(printed(39) == printed(0));
}

}  // namespace
}  // namespace daybook::tools
