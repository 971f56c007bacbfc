#include "tools/event_json.h"

#include <flatbuffers/reflection.h>
#include <fmt/format.h>

#include <algorithm>

#include "schema/utf8.h"
#include "tools/event_bfbs_generated.h"
#include "tools/format.h"
#include "tools/json_writer.h"

namespace daybook::tools {
namespace {

using reflection::BaseType;

const reflection::Schema& event_schema() {
  return *reflection::GetSchema(schema::EventBinarySchema::data());
}

bool is_named(const reflection::Object& object, std::string_view name) {
  const std::string_view full(object.name()->c_str(), object.name()->size());
  return full == fmt::format("daybook.schema.{}", name);
}

std::string_view field_name(const reflection::Field& field) {
  return {field.name()->c_str(), field.name()->size()};
}

/// In the order of the schema file; the binary schema sorts by name.
std::vector<const reflection::Field*> fields_of(const reflection::Object& object) {
  std::vector<const reflection::Field*> fields;
  for (const reflection::Field* field : *object.fields()) {
    if (!field->deprecated()) fields.push_back(field);
  }
  std::ranges::sort(fields, {}, [](const reflection::Field* field) { return field->id(); });
  return fields;
}

/// The kind of payload that the union's type field names; null for none and for unknown ones.
const reflection::Object* union_object(const reflection::Field& field,
                                       const flatbuffers::Table& table,
                                       const reflection::Object& parent) {
  const auto* type_field = parent.fields()->LookupByKey((field.name()->str() + "_type").c_str());
  const auto type = flatbuffers::GetFieldI<std::uint8_t>(table, *type_field);
  const auto* values = event_schema()
                           .enums()
                           ->Get(static_cast<flatbuffers::uoffset_t>(field.type()->index()))
                           ->values();
  const auto* value = values->LookupByKey(static_cast<std::int64_t>(type));
  if (type == 0 || value == nullptr) return nullptr;
  return event_schema().objects()->Get(
      static_cast<flatbuffers::uoffset_t>(value->union_type()->index()));
}

const reflection::Object& object_of(const reflection::Type& type) {
  return *event_schema().objects()->Get(static_cast<flatbuffers::uoffset_t>(type.index()));
}

class EventWalk {
 public:
  EventWalk(JsonWriter& out, const EventJsonOptions& options, std::span<const std::byte> bytes)
      : out_(out), options_(options), bytes_(bytes) {}

  void members(const flatbuffers::Table& table, const reflection::Object& object) {
    for (const reflection::Field* field : fields_of(object)) member(table, object, *field);
  }
  bool damaged() const { return damaged_; }

 private:
  void member(const flatbuffers::Table& table, const reflection::Object& object,
              const reflection::Field& field) {
    const BaseType base = field.type()->base_type();
    if (base <= BaseType::Double) {
      if (field.optional() && !table.CheckField(field.offset())) return;
      out_.key(field_name(field));
      if (base == BaseType::Float || base == BaseType::Double) {
        out_.raw(fmt::format("{}", flatbuffers::GetAnyFieldF(table, field)));
      } else {
        integer(flatbuffers::GetAnyFieldI(table, field), *field.type(), field_name(field));
      }
      return;
    }
    if (!table.CheckField(field.offset())) return;
    out_.key(field_name(field));
    switch (base) {
      case BaseType::String:
        out_.value(text_of(flatbuffers::GetFieldS(table, field)));
        break;
      case BaseType::Vector:
        vector(table, field);
        break;
      case BaseType::Union:
        union_member(table, object, field);
        break;
      default: {
        const reflection::Object& child = object_of(*field.type());
        if (child.is_struct()) {
          structure(*flatbuffers::GetFieldStruct(table, field), child);
        } else {
          this->table(*flatbuffers::GetFieldT(table, field), child);
        }
      }
    }
  }

  void integer(std::int64_t value, const reflection::Type& type, std::string_view name) {
    const BaseType base = type.base_type();
    if (base == BaseType::Bool) {
      out_.value(value != 0);
    } else if (type.index() >= 0) {
      const auto* found = event_schema()
                              .enums()
                              ->Get(static_cast<flatbuffers::uoffset_t>(type.index()))
                              ->values()
                              ->LookupByKey(value);
      out_.value(found == nullptr ? fmt::format("Unknown({})", value)
                                  : spelled(found->name()->str()));
    } else if (base == BaseType::Long && name.ends_with("_at")) {
      // A time that never came is 0 in the event.
      if (value == 0) {
        out_.null();
      } else {
        out_.value(rfc3339(value));
      }
    } else if (base == BaseType::ULong) {
      out_.value(static_cast<std::uint64_t>(value));
    } else {
      out_.value(value);
    }
  }

  void table(const flatbuffers::Table& table, const reflection::Object& object) {
    out_.begin_object();
    if (is_named(object, "Content")) {
      content(*reinterpret_cast<const schema::Content*>(&table));
    } else {
      members(table, object);
    }
    out_.end_object();
  }

  void structure(const flatbuffers::Struct& data, const reflection::Object& object) {
    const auto* address = reinterpret_cast<const void*>(&data);
    if (is_named(object, "Digest")) {
      out_.value(Digest::from(static_cast<const schema::Digest*>(address)).hex());
    } else if (is_named(object, "Uuid")) {
      const auto* id = static_cast<const schema::Uuid*>(address);
      out_.value(Uuid{id->hi(), id->lo()}.str());
    } else if (object.fields()->size() == 1) {
      // A struct around one value, such as Segment, is that value.
      const reflection::Field& only = *object.fields()->Get(0);
      structure_field(data, only);
    } else {
      out_.begin_object();
      for (const reflection::Field* field : fields_of(object)) {
        out_.key(field_name(*field));
        structure_field(data, *field);
      }
      out_.end_object();
    }
  }

  void structure_field(const flatbuffers::Struct& data, const reflection::Field& field) {
    if (field.type()->base_type() == BaseType::Obj) {
      structure(*data.GetStruct<const flatbuffers::Struct*>(field.offset()),
                object_of(*field.type()));
    } else {
      integer(flatbuffers::GetAnyFieldI(data, field), *field.type(), field_name(field));
    }
  }

  void vector(const flatbuffers::Table& table, const reflection::Field& field) {
    const auto* items = flatbuffers::GetFieldAnyV(table, field);
    const BaseType element = field.type()->element();
    if (element == BaseType::UByte) {
      return bytes_value({reinterpret_cast<const char*>(items->Data()), items->size()});
    }
    out_.begin_array();
    for (flatbuffers::uoffset_t i = 0; i < items->size(); ++i) {
      if (element == BaseType::String) {
        out_.value(
            text_of(flatbuffers::GetAnyVectorElemPointer<const flatbuffers::String>(items, i)));
      } else if (element == BaseType::Obj && object_of(*field.type()).is_struct()) {
        const reflection::Object& object = object_of(*field.type());
        structure(*flatbuffers::GetAnyVectorElemAddressOf<const flatbuffers::Struct>(
                      items, i, static_cast<std::size_t>(object.bytesize())),
                  object);
      } else if (element == BaseType::Obj) {
        this->table(*flatbuffers::GetAnyVectorElemPointer<const flatbuffers::Table>(items, i),
                    object_of(*field.type()));
      } else {
        out_.value(flatbuffers::GetAnyVectorElemI(items, element, i));
      }
    }
    out_.end_array();
  }

  void union_member(const flatbuffers::Table& table, const reflection::Object& object,
                    const reflection::Field& field) {
    out_.begin_object();
    if (const reflection::Object* child = union_object(field, table, object)) {
      members(*flatbuffers::GetFieldT(table, field), *child);
    } else {
      const auto type = reinterpret_cast<const schema::Event*>(&table)->payload_type();
      out_.member("unknown", static_cast<std::uint32_t>(type));
      out_.member("bytes", base64(as_text(bytes_)));
    }
    out_.end_object();
  }

  void bytes_value(std::string_view bytes) {
    if (is_utf8(bytes)) {
      out_.value(bytes);
    } else {
      out_.begin_object().member("base64", base64(bytes)).end_object();
    }
  }

  void content(const schema::Content& content) {
    if (content.blob() == nullptr) return content_members(inline_bytes(content));
    const BlobRef ref = BlobRef::from(content.blob());
    out_.member("blob", ref.digest.hex());
    if (options_.journal == nullptr) {
      out_.member("size", ref.size);
      return;
    }
    const auto bytes = options_.journal->blob(ref);
    if (bytes) return content_members(*bytes);
    out_.member("size", ref.size);
    out_.member("damage", bytes.error().message);
    damaged_ = true;
  }

  void content_members(std::string_view bytes) {
    out_.member("size", std::uint64_t{bytes.size()});
    const bool text = is_utf8(bytes);
    const bool cut = bytes.size() > options_.content_limit;
    if (cut) bytes = bytes.substr(0, utf8_floor(bytes, options_.content_limit));
    if (text) {
      out_.member("text", bytes);
    } else {
      out_.member("base64", base64(bytes));
    }
    if (cut) out_.member("cut", true);
  }

  JsonWriter& out_;
  const EventJsonOptions& options_;
  std::span<const std::byte> bytes_;
  bool damaged_ = false;
};

const flatbuffers::Table& as_table(const schema::Event& event) {
  return reinterpret_cast<const flatbuffers::Table&>(event);
}

}  // namespace

EventJson event_json(const journal::Entry& entry, const EventJsonOptions& options) {
  JsonWriter out;
  out.begin_object();
  if (entry.position != 0) out.member("position", entry.position);
  bool damaged = entry.event == nullptr;
  if (damaged) {
    out.member("version", entry.version).member("damage", entry.damage);
  } else {
    EventWalk walk(out, options, entry.bytes);
    walk.members(as_table(*entry.event), *event_schema().root_table());
    damaged = walk.damaged();
  }
  return {out.end_object().text(), damaged};
}

}  // namespace daybook::tools
