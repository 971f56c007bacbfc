// The rules of growth of schema/event.fbs, against every released version.
#include <flatbuffers/idl.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "tests/support/build_paths.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

const std::string kCurrent = source_path("/schema/event.fbs");

std::vector<std::string> released() {
  std::vector<std::string> files;
  for (const auto& item : std::filesystem::directory_iterator(source_path("/schema/released"))) {
    if (item.path().extension() == ".fbs") files.push_back(item.path().string());
  }
  return files;
}

/// Whether a reader of `old` may read what is written with `fresh`, as flatc sees it.
bool flatc_conforms(const std::string& fresh, const std::string& old) {
  TempDir out;
  const std::string command =
      "flatc --cpp -o '" + out.str() + "' --conform '" + old + "' '" + fresh + "' >/dev/null 2>&1";
  return std::system(command.c_str()) == 0;
}

void parse(flatbuffers::Parser& parser, const std::string& text) {
  const bool good = parser.Parse(text.c_str());
  INFO(parser.error_);
  REQUIRE(good);
}

/// What flatc overlooks: structs that grew or changed, and fields that are or were required.
std::vector<std::string> overlooked(const std::string& fresh_text, const std::string& old_text) {
  flatbuffers::Parser fresh;
  flatbuffers::Parser old;
  parse(fresh, fresh_text);
  parse(old, old_text);
  std::vector<std::string> found;
  for (const flatbuffers::StructDef* def : fresh.structs_.vec) {
    for (const flatbuffers::FieldDef* field : def->fields.vec) {
      if (field->IsRequired()) found.push_back(def->name + "." + field->name + " is required");
    }
  }
  for (const flatbuffers::StructDef* was : old.structs_.vec) {
    const auto* now =
        fresh.structs_.Lookup(was->defined_namespace->GetFullyQualifiedName(was->name));
    if (now == nullptr) {
      found.push_back(was->name + " is gone");
    } else if (now->fixed != was->fixed || now->bytesize != was->bytesize ||
               (was->fixed && now->fields.vec.size() != was->fields.vec.size())) {
      found.push_back(was->name + " changed its layout");
    }
  }
  return found;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("the schema reads what every released version wrote") {
  const auto versions = released();
  REQUIRE_FALSE(versions.empty());
  for (const std::string& version : versions) {
    CAPTURE(version);
    CHECK(flatc_conforms(kCurrent, version));
    CHECK(overlooked(read_file(kCurrent), read_file(version)).empty());
  }
}

TEST_CASE("the checks of the schema's growth see what they must") {
  TempDir dir;
  const std::string old = read_file(source_path("/schema/released/event_v1.fbs"));
  const auto conforms = [&](const std::string& changed) {
    write_file(dir.str("changed.fbs"), changed);
    return flatc_conforms(dir.str("changed.fbs"), source_path("/schema/released/event_v1.fbs"));
  };
  const std::string field = "table NoticeAdded { text:string; }";
  CHECK(conforms(replaced(old, field, "table NoticeAdded { text:string; more:string; }")));
  CHECK_FALSE(conforms(replaced(old, field, "table NoticeAdded { more:string; text:string; }")));
  CHECK_FALSE(conforms(replaced(old, field, "table NoticeAdded { text:uint; }")));
  CHECK_FALSE(conforms(replaced(old, "SessionStarted, NoticeAdded,",
                                "NoticeAdded, "
                                "SessionStarted,")));
  CHECK(overlooked(replaced(old, "struct Uuid { hi:ulong; lo:ulong; }",
                            "struct Uuid { hi:ulong; lo:ulong; more:ulong; }"),
                   old) == std::vector<std::string>{"Uuid changed its layout"});
  CHECK(overlooked(replaced(old, field, "table NoticeAdded { text:string (required); }"), old) ==
        std::vector<std::string>{"NoticeAdded.text is required"});
  CHECK(overlooked(old, replaced(old, field, field + " table Old { text:string; }")) ==
        std::vector<std::string>{"Old is gone"});
}

}  // namespace daybook::tests
