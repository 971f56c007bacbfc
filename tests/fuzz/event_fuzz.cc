// Bytes that claim to be an event, and bytes that claim to be the journal's other values.
#include <cstdint>
#include <string_view>
#include <vector>

#include "journal/blob_refs.h"
#include "journal/chain.h"
#include "journal/checkpoints.h"
#include "journal/keys.h"

namespace {

using namespace daybook;

void read_event(std::string_view bytes) {
  // FlatBuffers wants aligned memory, which the journal's reader gives it.
  const std::vector<char> aligned(bytes.begin(), bytes.end());
  const auto event = view_event(std::as_bytes(std::span(aligned)));
  if (!event) return;
  std::uint64_t size = payload_name(**event).size();
  journal::visit_blob_refs(**event, [&](const BlobRef& ref) { size += ref.size; });
  const auto* responded = (*event)->payload_as_ModelResponded();
  if (responded == nullptr || responded->blocks() == nullptr) return;
  for (const auto* block : *responded->blocks()) {
    if (block->text() != nullptr) size += inline_bytes(*block->text()).size();
    size += text_of(block->call_id()).size();
  }
}

void read_values(std::string_view body) {
  std::string value(body);
  journal::seal(value);
  DAYBOOK_CHECK(journal::unseal(value) == body);
  if (const auto request = journal::decode_request(value)) {
    DAYBOOK_CHECK(journal::encode_request(*request) == value);
  }
  std::ignore = journal::decode_checkpoint(value);
  std::string_view rest = body;
  std::uint64_t size = 0;
  if (const auto start = journal::take_checkpoint_start(rest, size)) {
    // All of it but the size of a state that is not there yet.
    const std::string again = journal::encode_checkpoint_start(*start);
    DAYBOOK_CHECK(body.substr(0, again.size() - 8) == again.substr(0, again.size() - 8));
  }
  journal::CheckpointParts parts;
  if (parts.add(value) && parts.complete()) {
    DAYBOOK_CHECK(journal::encode_checkpoint_start(parts.take()) ==
                  body.substr(0, body.size() - rest.size()));
  }
  if (const auto runs = journal::decode_order(value)) {
    std::string again;
    for (const auto& run : *runs) {
      journal::append_order_run(again, run.session, run.first_version, run.count);
    }
    DAYBOOK_CHECK(again == body);
  }
  std::ignore = journal::parse_event_key(body);
  std::ignore = journal::parse_order_key(body);
  std::ignore = journal::parse_blob_key(body);
  std::ignore = journal::parse_projection_key(body);
  std::ignore = journal::parse_checkpoint_key(body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_event(bytes);
  read_values(bytes);
  return 0;
}
