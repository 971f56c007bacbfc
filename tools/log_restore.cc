#include "tools/log_restore.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <vector>

#include "journal/blob_refs.h"
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

  ExportLines(OnBlob on_blob, OnEvent on_event)
      : on_blob_(std::move(on_blob)), on_event_(std::move(on_event)) {}

  Result<LogReport> read(ByteSource& bytes) {
    LineReader lines(bytes);
    LogLine line;
    while (true) {
      const auto got = lines.next(line);
      if (!got && got.error().code != ErrorCode::corrupt) return fail(got.error());
      if (!got) damaged(lines.read_bytes(), got.error().message);
      if (!got || !*got) break;
      ++report_.lines;
      const auto value = line.too_long ? std::nullopt : JsonSpan::whole(line.text);
      if (value) {
        DAYBOOK_TRY(one(*value, line.offset));
      } else {
        damaged(line.offset, line.too_long    ? "is too long"
                             : !line.complete ? "is cut off"
                                              : "is not JSON");
      }
    }
    report_.bytes = lines.read_bytes();
    report_.committed = lines.committed();
    return std::move(report_);
  }

 private:
  Result<void> damaged(std::uint64_t offset, std::string what) {
    constexpr std::size_t kMostListed = 20;
    ++report_.damaged;
    if (report_.damage.size() < kMostListed) report_.damage.push_back({offset, std::move(what)});
    return {};
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

  OnBlob on_blob_;
  OnEvent on_event_;
  LogReport report_;
};

/// Gathers events of one epoch into appends.
class Restore {
 public:
  Restore(journal::Journal* journal, bool dry) : journal_(journal), dry_(dry) {}

  Result<void> blob(const BlobRef& ref, std::string bytes) {
    held_.insert(ref.digest);
    blobs_.push_back({ref, std::move(bytes)});
    return {};
  }

  Result<void> event(const std::string& bytes, const schema::Event& event) {
    if (!session_) DAYBOOK_TRY(start(event));
    const Digest hash = hash_of_event(as_bytes(bytes));
    if (broken_ || !follows(event)) {
      broken_ = true;
      ++restored_.left;
      return {};
    }
    before_ = {event.version(), event.epoch(), hash};
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

  Result<Restored> finish(LogReport report) {
    DAYBOOK_TRY(flush());
    restored_.report = std::move(report);
    if (session_) restored_.session = session_->str();
    return restored_;
  }

 private:
  /// Whether nothing is missing before an event: neither another event nor a blob that it names.
  bool follows(const schema::Event& event) const {
    if (event.version() != before_.version + 1) return false;
    if (Digest::from(event.prev_hash()) != before_.hash) return false;
    bool whole = true;
    journal::visit_blob_refs(
        event, [&](const BlobRef& ref) { whole = whole && held_.contains(ref.digest); });
    return whole;
  }

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
  journal::Head before_;   // the latest event that was read
  bool broken_ = false;    // something before could not be read
  std::set<Digest> held_;  // blobs that the export holds
  std::vector<journal::Blob> blobs_;
  journal::Append append_ = empty_append();
  Restored restored_;
};

}  // namespace

Result<LogReport> read_export_calls(ByteSource& bytes, LogSink& sink) {
  std::unique_ptr<replay::CallFold> fold;
  std::uint64_t calls = 0;
  ExportLines lines([](const BlobRef&, std::string) { return Result<void>(); },
                    [&](const std::string&, const schema::Event& event) {
                      if (fold == nullptr) {
                        fold = std::make_unique<replay::CallFold>(
                            std::string(text_of(event.session())), [&](replay::Call call) {
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

Result<Restored> restore_export(ByteSource& bytes, journal::Journal* journal, bool dry) {
  Restore restore(journal, dry);
  ExportLines lines(
      [&](const BlobRef& ref, std::string blob) { return restore.blob(ref, std::move(blob)); },
      [&](const std::string& event_bytes, const schema::Event& event) {
        return restore.event(event_bytes, event);
      });
  auto read = lines.read(bytes);
  if (!read) return fail(read.error());
  return restore.finish(std::move(*read));
}

}  // namespace daybook::tools
