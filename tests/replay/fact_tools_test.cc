// Facts of tool records, derived by hand: what a call made is a fact only when its result shows
// that it succeeded.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "engine/prepared_span.h"
#include "replay/facts.h"

namespace {

using namespace daybook::replay;
using daybook::engine::PreparedSpan;
using daybook::engine::SpanItem;
using daybook::engine::SpanKind;

using Span = std::vector<SpanItem>;

void call(Span& span, std::string_view tool, std::string_view arguments, std::string_view result,
          bool ok = true) {
  span.push_back({SpanKind::kToolCall, arguments, tool, true});
  span.push_back({SpanKind::kToolResult, result, tool, ok});
}

/// "detail text" of every fact of the type.
std::set<std::string> facts_of(const Span& span, FactType type) {
  std::set<std::string> found;
  for (const Fact& fact : extract_facts(PreparedSpan(span), {}, FactLimits{}).facts) {
    if (fact.type == type) found.insert(fmt::format("{} {}", fact.detail, fact.text));
  }
  return found;
}

using Texts = std::set<std::string>;

}  // namespace

TEST_CASE("a file is a fact when the result shows that it was made", "[facts]") {
  Span span = {{SpanKind::kUser, "Port the reader.", {}, true}};
  call(span, "write_file", R"({"path":"made.cc","content":"x"})", R"({"path":"made.cc"})");
  call(span, "Edit", R"({"file_path":"changed.cc","old_string":"a","new_string":"b"})", "edited");
  call(span, "read_file", R"({"path":"seen.cc"})", "int x;");
  call(span, "run_shell", R"({"command":"touch touched.cc && rm gone.cc"})",
       R"({"exit_code":0,"output":""})");
  CHECK(facts_of(span, FactType::artifact) == Texts{"written made.cc", "edited changed.cc",
                                                    "read seen.cc", "written touched.cc",
                                                    "deleted gone.cc"});
}

TEST_CASE("a file is no fact when its call failed, in whatever form that is told", "[facts]") {
  constexpr std::string_view kPatch = "*** Begin Patch\n*** Add File: new.py\n+x\n*** End Patch\n";
  for (const std::string_view refused :
       {"apply_patch verification failed: x", "Invalid patch hunk on line 2: x",
        "failed to apply patch: x", "Error: io", R"({"content":"boom","success":false})",
        "Exit code: 1\nOutput:\nx"}) {
    CAPTURE(refused);
    Span span;
    call(span, "apply_patch", kPatch, refused);
    CHECK(facts_of(span, FactType::artifact).empty());
    CHECK(facts_of(span, FactType::failed).size() == 1);
    CHECK(facts_of(span, FactType::last_action).begin()->starts_with("failed "));
  }
  Span shell;
  call(shell, "run_shell", R"({"command":"touch a.txt"})", R"({"exit_code":1,"output":""})");
  call(shell, "Write", R"({"file_path":"b.txt","content":"x"})", "Permission denied", false);
  call(shell, "Read", R"({"file_path":"c.txt"})", "No such file", false);
  CHECK(facts_of(shell, FactType::artifact).empty());
}

TEST_CASE("a file is no fact before the command that makes it has ended", "[facts]") {
  Span span;
  call(span, "Bash", R"({"command":"touch slow.txt"})",
       "Command running in background with ID: b7. Output is being written to: /tmp/b7.output");
  CHECK(facts_of(span, FactType::artifact).empty());
  CHECK(facts_of(span, FactType::failed).empty());
  CHECK(facts_of(span, FactType::last_action) == Texts{"unknown Bash touch slow.txt"});
  call(span, "BashOutput", R"({"bash_id":"b7"})",
       "<status>completed</status>\n\n<exit_code>0</exit_code>\n");
  CHECK(facts_of(span, FactType::artifact) == Texts{"written slow.txt"});
  Span open = {{SpanKind::kToolCall, R"({"command":"touch open.txt"})", "run_shell", true}};
  CHECK(facts_of(open, FactType::artifact).empty());
}

TEST_CASE("names that a refused edit would have defined are no facts", "[facts]") {
  constexpr std::string_view kEdit =
      R"({"file_path":"a.py","old_string":"x","new_string":"def parse_rows(text):"})";
  Span refused;
  call(refused, "Edit", kEdit, "String to replace not found in file.");
  CHECK(facts_of(refused, FactType::identifier).empty());
  Span made;
  call(made, "Edit", kEdit, "The file a.py has been updated.");
  CHECK(facts_of(made, FactType::identifier) == Texts{" parse_rows"});
}

TEST_CASE("a command that worked later has not failed", "[facts]") {
  Span span;
  call(span, "run_shell", R"({"command":"make"})", R"({"exit_code":2,"output":"x.c:1: error: y"})");
  CHECK(facts_of(span, FactType::failed) == Texts{"run_shell run_shell make"});
  CHECK(facts_of(span, FactType::error) == Texts{" x.c:1: error: y"});
  call(span, "run_shell", R"({"command":"make"})", R"({"exit_code":0,"output":""})");
  CHECK(facts_of(span, FactType::failed).empty());
  CHECK(facts_of(span, FactType::last_action) == Texts{"succeeded run_shell make"});
}
