#include "tests/support/sample_events.h"

#include <flatbuffers/idl.h>
#include <fmt/format.h>

#include "tests/support/build_paths.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

class Filler {
 public:
  explicit Filler(std::string kind) : kind_(std::move(kind)) {}

  std::string table(const flatbuffers::StructDef& def) {
    if (def.name == "BlobRef") return blob_ref();
    std::string json = "{";
    for (const flatbuffers::FieldDef* field : def.fields.vec) {
      // A content holds its bytes or names a blob, never both.
      if (def.name == "Content" && field->name == "bytes") continue;
      json += fmt::format("{}\"{}\":{}", json.size() > 1 ? "," : "", field->name,
                          value(field->value.type, field->name));
    }
    return json + "}";
  }

  std::vector<journal::Blob> blobs;

 private:
  std::string value(const flatbuffers::Type& type, const std::string& name) {
    switch (type.base_type) {
      case flatbuffers::BASE_TYPE_STRING:
        return fmt::format("\"{}\"", name);
      case flatbuffers::BASE_TYPE_STRUCT:
        return table(*type.struct_def);
      case flatbuffers::BASE_TYPE_VECTOR:
        return "[" + value(type.VectorType(), name) + "]";
      default:
        return "1";
    }
  }

  std::string blob_ref() {
    const std::string bytes = fmt::format("{} blob {}", kind_, blobs.size());
    const BlobRef ref = BlobRef::of(bytes);
    blobs.push_back({ref, bytes});
    return fmt::format("{{digest:{{hi:{},lo:{}}},size:{}}}", ref.digest.hi, ref.digest.lo,
                       ref.size);
  }

  std::string kind_;
};

}  // namespace

std::vector<SampleEvent> sample_events(const SessionId& session) {
  flatbuffers::Parser parser;
  const std::string schema = read_file(source_path("/schema/event.fbs"));
  DAYBOOK_CHECK(parser.Parse(schema.c_str()));
  const auto* payloads = parser.enums_.Lookup("daybook.schema.Payload");
  DAYBOOK_CHECK(payloads != nullptr);
  std::vector<SampleEvent> events;
  Digest prev;
  for (const flatbuffers::EnumVal* kind : payloads->Vals()) {
    if (kind->name == "NONE") continue;
    Filler filler(kind->name);
    const std::string payload = filler.table(*kind->union_type.struct_def);
    const std::string provenance = filler.table(*parser.LookupStruct("daybook.schema.Provenance"));
    const std::size_t version = events.size() + 1;
    const std::string json = fmt::format(
        "{{schema_major:1,schema_minor:1,id:{{hi:{},lo:2}},session:\"{}\",version:{},"
        "recorded_at:1700000000000000000,epoch:1,turn:1,prev_hash:{{hi:{},lo:{}}},"
        "payload_type:\"{}\",payload:{},provenance:{}}}",
        version, session.str(), version, prev.hi, prev.lo, kind->name, payload, provenance);
    DAYBOOK_CHECK(parser.Parse(json.c_str()));
    std::string bytes(reinterpret_cast<const char*>(parser.builder_.GetBufferPointer()),
                      parser.builder_.GetSize());
    prev = Digest::of(bytes);
    events.push_back({kind->name, std::move(bytes), std::move(filler.blobs)});
  }
  return events;
}

}  // namespace daybook::tests
