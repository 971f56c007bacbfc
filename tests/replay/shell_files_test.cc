// Files that shell scripts name, and what happens to them: expected values read off the scripts.
#include "replay/shell_files.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <random>

namespace {

using daybook::replay::FileDeed;
using daybook::replay::shell_files;

/// "+a" created, ">a" appended, "~a" edited, "-a" deleted, "<a" moved, "?a" opened.
std::string files(std::string_view script) {
  constexpr std::string_view kMarks = "+>~-<?";
  std::string text;
  for (const auto& file : shell_files(script)) {
    text += fmt::format("{}{}{}", text.empty() ? "" : " ",
                        kMarks[static_cast<std::size_t>(file.deed)], file.path);
  }
  return text;
}

}  // namespace

TEST_CASE("a script's files, with what becomes of them") {
  const std::pair<const char*, const char*> cases[] = {
      {"rm -rf build", "-build"},
      {"rm -f a.o 'b c.o' \"d e.o\" f\\ g.o", "-a.o -b c.o -d e.o -f g.o"},
      {"sudo rm -- old.txt", "-old.txt"},
      {"cd src && sed -i 's/a/b/' main.c", "~src/main.c"},
      {"cd /w/app; cd lib && cat x.py", "?/w/app/lib/x.py"},
      {"(cd sub && touch stamp) && touch stamp", "+sub/stamp +stamp"},
      {"cd \"$DIR\" && cat a.txt", "?a.txt"},
      {"git mv old.c new.c", "<old.c +new.c"},
      {"git -C sub rm gone.c && cat here.c", "-sub/gone.c ?here.c"},
      {"git rm --cached kept.c", ""},
      {"git status --short", ""},
      {"mv a.md b.md docs/", "<a.md +docs/a.md <b.md +docs/b.md"},
      {"cp src/a.c src/b.c", "+src/b.c"},
      {"make 2>&1 | tee -a build.log", ">build.log"},
      {"make > out.txt 2> err.txt", "+out.txt +err.txt"},
      {"make &> all.txt; echo done >> all.txt", "+all.txt >all.txt"},
      {"make >/dev/null 2>&1", ""},
      {"cat > notes.md <<'EOF'\nrm precious.txt\nEOF\ncat notes.md", "+notes.md ?notes.md"},
      {"cat <<< \"rm x\" ; cat < in.txt", ""},
      {"echo 'a > b'; echo \"c > d\"", ""},
      {"sed -n '1,80p' src/b.py | head -5", "?src/b.py"},
      {"sed -e s/a/b/ -e s/c/d/ f.txt", "?f.txt"},
      {"sed -i '' s/a/b/ f.txt", "~f.txt"},
      {"perl -pi -e 's/a/b/' lib/x.pm", "~lib/x.pm"},
      {"rm *.o $TARGET `cat list`", ""},
      {"FOO=1 BAR=x/y cat a.txt", "?a.txt"},
      {"bash -lc 'cd sub && rm x.txt'", "-sub/x.txt"},
      {"if true; then rm a.txt; fi # rm b.txt", "-a.txt"},
      {"rm a.txt ||\\\nrm b.txt", "-a.txt -b.txt"},
      {"cat ./src/../a.txt", "?a.txt"},
      {"", ""},
      {"cat 'unclosed.txt", "?unclosed.txt"},
      {"rm $(", ""},
  };
  for (const auto& [script, expected] : cases) {
    CAPTURE(script);
    CHECK(files(script) == expected);
  }
}

TEST_CASE("any bytes are read to their end") {
  std::mt19937 random(11);
  constexpr std::string_view kBytes = "rm a.c'\"\\$()`<>&|;\n #{}cd/";
  for (int i = 0; i < 3'000; ++i) {
    std::string script;
    for (int n = static_cast<int>(random() % 60); n > 0; --n) {
      script += kBytes[random() % kBytes.size()];
    }
    CAPTURE(script);
    for (const auto& file : shell_files(script)) CHECK_FALSE(file.path.empty());
  }
}
