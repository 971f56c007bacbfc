#include <fmt/format.h>

#include <ostream>
#include <set>

#include "journal/blob_refs.h"
#include "schema/utf8.h"
#include "tools/command.h"
#include "tools/event_json.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/read_journal.h"

namespace daybook::tools {
namespace {

/// Of the exported text; docs/commands.md describes it.
constexpr std::uint32_t kExportFormat = 1;

class Exporter {
 public:
  Exporter(Context& context, journal::Journal& journal) : out_(context.out), journal_(journal) {}

  Result<void> run(const journal::SessionInfo& info) {
    write_header(info);
    std::optional<Error> error;
    DAYBOOK_TRY(
        journal_.read(info.session, 1, journal::ReadMode::strict, [&](const journal::Entry& entry) {
          error = write_event(entry);
          return !error && out_.good();
        }));
    if (error) return fail(*error);
    JsonWriter end;
    end.begin_object().member("line", "end").member("events", events_);
    end.member("blobs", std::uint64_t{written_.size()}).member("complete", complete_);
    out_ << end.end_object().text() << '\n';
    return {};
  }

  bool complete() const { return complete_; }

 private:
  void write_header(const journal::SessionInfo& info) {
    JsonWriter header;
    header.begin_object().member("line", "header").member("daybook_export", kExportFormat);
    header.member("schema", fmt::format("{}.{}", kSchemaMajor, kSchemaMinor));
    header.member("session", info.session.str());
    header.member("version", info.head.version);
    header.member("hash", info.head.hash.hex());
    out_ << header.end_object().text() << '\n';
  }

  /// The blobs an event names come before it, so that a reader can store as it reads.
  std::optional<Error> write_event(const journal::Entry& entry) {
    std::optional<Error> error;
    journal::visit_blob_refs(*entry.event, [&](const BlobRef& ref) {
      if (!error && written_.insert(ref.digest).second) error = write_blob(ref);
    });
    if (error) return error;
    complete_ = complete_ && entry.event->payload_type() <= schema::Payload::MAX;
    ++events_;
    JsonWriter line;
    line.begin_object().member("line", "event").member("version", entry.version);
    line.member("bytes", base64(as_text(entry.bytes)));
    line.key("event").raw(event_json(entry, {}).text);
    out_ << line.end_object().text() << '\n';
    return {};
  }

  std::optional<Error> write_blob(const BlobRef& ref) {
    const auto bytes = journal_.blob(ref);
    // Missing or changed: either way the session cannot be restored from what is here.
    if (!bytes) return Error{ErrorCode::corrupt, bytes.error().message};
    JsonWriter line;
    line.begin_object().member("line", "blob").member("digest", ref.digest.hex());
    line.member("size", ref.size);
    if (is_utf8(*bytes)) {
      line.member("text", *bytes);
    } else {
      line.member("base64", base64(*bytes));
    }
    out_ << line.end_object().text() << '\n';
    return {};
  }

  std::ostream& out_;
  journal::Journal& journal_;
  std::set<Digest> written_;
  std::uint64_t events_ = 0;
  bool complete_ = true;
};

Result<int> run(Context& context, const Arguments& arguments) {
  const auto journal = open_for_reading(context, arguments);
  if (!journal) return fail(journal.error());
  const auto info = find_session(**journal, *arguments.text("SESSION"));
  if (!info) return fail(info.error());
  Exporter exporter(context, **journal);
  DAYBOOK_TRY(exporter.run(*info));
  if (exporter.complete()) return kExitOk;
  context.err << "daybook: session " << info->session.str()
              << " holds events of kinds that this build does not know, whose blobs are not in "
                 "the export: use a newer build\n";
  return kExitError;
}

}  // namespace

Command export_command() {
  return {"export",
          "Write a session with everything it names as JSON lines",
          {{"SESSION", "name of a session, or a start of it"}},
          {},
          run};
}

}  // namespace daybook::tools
