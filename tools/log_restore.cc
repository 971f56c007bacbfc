#include "tools/log_restore.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "tools/log_json.h"

namespace daybook::tools {
namespace {

constexpr std::size_t kMostBatchEvents = 512;

std::optional<std::string> base64_decoded(std::string_view text) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<std::int8_t>(i);
  }
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::int8_t value = values[static_cast<unsigned char>(c)];
    if (value < 0) return {};
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>((bits >> count) & 0xff);
  }
  return out;
}

/// Gives an export's blobs and events, in the order in which they lie.
class ExportLines {
 public:
  using OnBlob = std::function<Result<void>(const BlobRef&, std::string)>;
  using OnEvent = std::function<Result<void>(const std::string& bytes, const schema::Event&)>;

  ExportLines(const LogSource& source, OnBlob on_blob, OnEvent on_event)
      : source_(source), on_blob_(std::move(on_blob)), on_event_(std::move(on_event)) {}

  Result<LogReport> read(ByteSource& bytes) {
    LineReader lines(bytes);
    LogLine line;
    LogReport report;
    while (true) {
      const auto got = lines.next(line);
      if (!got) return fail(got.error());
      if (!*got) break;
      ++report.lines;
      const auto value = JsonSpan::whole(line.text);
      if (!value) return damaged(line.offset, "is not JSON");
      DAYBOOK_TRY(one(*value, line.offset));
    }
    report.bytes = lines.read_bytes();
    report.committed = lines.committed();
    return report;
  }

 private:
  tl::unexpected<Error> damaged(std::uint64_t offset, std::string_view what) const {
    return fail(ErrorCode::corrupt, fmt::format("{}, offset {}: {}; export the session again",
                                                source_.path, offset, what));
  }

  Result<void> one(JsonSpan line, std::uint64_t offset) {
    const JsonSpan kind = line["line"];
    if (kind.is("event")) {
      auto bytes = base64_decoded(line["bytes"].text());
      if (!bytes) return damaged(offset, "an event is not base64");
      const auto event = view_event(as_bytes(*bytes));
      if (!event) return damaged(offset, event.error().message);
      return on_event_(*bytes, **event);
    }
    if (!kind.is("blob")) return {};
    const JsonSpan text = line["text"];
    auto bytes = text ? std::optional(text.text()) : base64_decoded(line["base64"].text());
    if (!bytes) return damaged(offset, "a blob is not base64");
    const BlobRef ref = BlobRef::of(*bytes);
    if (ref.digest.hex() != line["digest"].text()) {
      return damaged(offset, "a blob is not what its digest says");
    }
    return on_blob_(ref, std::move(*bytes));
  }

  const LogSource& source_;
  OnBlob on_blob_;
  OnEvent on_event_;
};

/// Gathers events of one epoch into appends.
class Restore {
 public:
  Restore(journal::Journal* journal, bool dry) : journal_(journal), dry_(dry) {}

  Result<void> blob(const BlobRef& ref, std::string bytes) {
    blobs_.push_back({ref, std::move(bytes)});
    return {};
  }

  Result<void> event(const std::string& bytes, const schema::Event& event) {
    if (!session_) DAYBOOK_TRY(start(event));
    const Digest hash = hash_of_event(as_bytes(bytes));
    if (event.version() <= head_.version) {
      if (event.version() == head_.version && hash != head_.hash) {
        return fail(ErrorCode::conflict,
                    fmt::format("the journal holds another session {}: restore into another "
                                "journal",
                                session_->str()));
      }
      blobs_.clear();
      ++restored_.known;
      return {};
    }
    const bool new_epoch = !append_.events.empty() && event.epoch() != append_.epoch;
    if (new_epoch || append_.events.size() >= kMostBatchEvents) DAYBOOK_TRY(flush());
    if (append_.events.empty()) {
      append_.session = *session_;
      append_.expected_version = event.version() - 1;
      append_.epoch = event.epoch();
      append_.acquire = event.epoch() != epoch_;
    }
    epoch_ = event.epoch();
    append_.events.push_back(bytes);
    for (journal::Blob& one : blobs_) append_.blobs.push_back(std::move(one));
    blobs_.clear();
    ++restored_.appended;
    return {};
  }

  Result<Restored> finish() {
    DAYBOOK_TRY(flush());
    if (session_) restored_.session = session_->str();
    return restored_;
  }

 private:
  Result<void> start(const schema::Event& event) {
    auto id = SessionId::parse(text_of(event.session()));
    if (!id) return fail(id.error());
    session_ = std::make_unique<SessionId>(*id);
    append_.session = *id;
    if (journal_ == nullptr) return {};
    const auto head = journal_->head(*session_);
    if (!head) return fail(head.error());
    head_ = *head;
    epoch_ = head_.epoch;
    return {};
  }

  static journal::Append empty_append() {
    return {*SessionId::parse("none"), 0, 0, false, {}, {}, {}};
  }

  Result<void> flush() {
    if (append_.events.empty()) return {};
    journal::Append full = empty_append();
    std::swap(full, append_);
    if (dry_ || journal_ == nullptr) return {};
    const auto done = journal::append_and_wait(*journal_, std::move(full));
    if (!done) return fail(done.error());
    return {};
  }

  journal::Journal* journal_;
  bool dry_;
  std::unique_ptr<SessionId> session_;
  journal::Head head_;
  std::uint64_t epoch_ = 0;
  std::vector<journal::Blob> blobs_;
  journal::Append append_ = empty_append();
  Restored restored_;
};

}  // namespace

Result<LogReport> read_export_calls(const LogSource& source, ByteSource& bytes, LogSink& sink) {
  std::unique_ptr<replay::CallFold> fold;
  std::uint64_t calls = 0;
  ExportLines lines(
      source, [](const BlobRef&, std::string) { return Result<void>(); },
      [&](const std::string&, const schema::Event& event) {
        if (fold == nullptr) {
          fold = std::make_unique<replay::CallFold>(std::string(text_of(event.session())),
                                                    [&](replay::Call call) {
                                                      ++calls;
                                                      sink.call(std::move(call));
                                                    });
        }
        fold->take(event);
        return Result<void>();
      });
  auto report = lines.read(bytes);
  if (report) report->calls = calls;
  return report;
}

Result<Restored> restore_export(const LogSource& source, journal::Journal* journal, bool dry) {
  auto bytes = open_bytes(source.path);
  if (!bytes) return fail(bytes.error());
  Restore restore(journal, dry);
  ExportLines lines(
      source,
      [&](const BlobRef& ref, std::string blob) { return restore.blob(ref, std::move(blob)); },
      [&](const std::string& event_bytes, const schema::Event& event) {
        return restore.event(event_bytes, event);
      });
  const auto read = lines.read(**bytes);
  if (!read) return fail(read.error());
  return restore.finish();
}

}  // namespace daybook::tools
