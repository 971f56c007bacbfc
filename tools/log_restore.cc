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

/// Gives the blobs and events of exports, in the order in which they lie.
class ExportLines {
 public:
  using OnHeader = std::function<Result<void>()>;  // what follows is another export's
  using OnBlob = std::function<Result<void>(const BlobRef&, std::string)>;
  using OnEvent = std::function<Result<void>(const std::string& bytes, const schema::Event&)>;

  ExportLines(OnHeader on_header, OnBlob on_blob, OnEvent on_event)
      : on_header_(std::move(on_header)),
        on_blob_(std::move(on_blob)),
        on_event_(std::move(on_event)) {}

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
    close(lines.read_bytes());
    report_.bytes = lines.read_bytes();
    report_.committed = lines.committed();
    return std::move(report_);
  }

 private:
  Result<void> damaged(std::uint64_t offset, std::string what) {
    constexpr std::size_t kMostListed = 20;
    ++report_.damaged;
    if (report_.damage.size() < kMostListed) {
      report_.damage.push_back({"", offset, std::move(what)});
    }
    return {};
  }

  /// An export ends with a line that says so.
  void close(std::uint64_t offset) {
    if (!open_) return;
    open_ = false;
    static_cast<void>(damaged(offset, fmt::format("the export of {} lacks its end: it was cut off",
                                                  name_.empty() ? "a session" : name_)));
  }

  Result<void> one(JsonSpan line, std::uint64_t offset) {
    const JsonSpan kind = line["line"];
    if (kind.is("header")) {
      close(offset);
      open_ = true;
      name_ = line["session"].text();
      return on_header_();
    }
    if (kind.is("end")) open_ = false;
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

  OnHeader on_header_;
  OnBlob on_blob_;
  OnEvent on_event_;
  bool open_ = false;
  std::string name_;  // of the session of the open export
  LogReport report_;
};

/// Gathers events of one epoch into appends.
class Restore {
 public:
  Restore(journal::Journal* journal, DryImport* dry) : journal_(journal), dry_(dry) {}

  /// Whether an event is of another session than those before it.
  bool is_foreign(const schema::Event& event) const {
    return session_ != nullptr && text_of(event.session()) != session_->str();
  }

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
    last_ = before_;
    ++restored_.appended;
    return {};
  }

  /// Adds what was done to `all`.
  Result<void> finish(Restored& all) {
    DAYBOOK_TRY(flush());
    if (fresh_ && restored_.appended > 0) ++all.new_sessions;
    all.appended += restored_.appended;
    all.known += restored_.known;
    all.left += restored_.left;
    if (dry_ != nullptr && session_ != nullptr && restored_.appended > 0) {
      dry_->restored[session_->str()] = last_;
    }
    return {};
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
    if (journal_ != nullptr) {
      const auto head = journal_->head(*session_);
      if (!head) return fail(head.error());
      head_ = *head;
    }
    if (dry_ != nullptr && dry_->restored.contains(id->str())) {
      head_ = dry_->restored.at(id->str());
    }
    epoch_ = head_.epoch;
    fresh_ = head_.version == 0;
    return {};
  }

  static journal::Append empty_append() {
    return {*SessionId::parse("none"), 0, 0, false, {}, {}, {}};
  }

  Result<void> flush() {
    if (append_.events.empty()) return {};
    journal::Append full = empty_append();
    std::swap(full, append_);
    if (dry_ != nullptr || journal_ == nullptr) return {};
    const auto done = journal::append_and_wait(*journal_, std::move(full));
    if (!done) return fail(done.error());
    return {};
  }

  journal::Journal* journal_;
  DryImport* dry_;
  std::unique_ptr<SessionId> session_;
  journal::Head head_;
  std::uint64_t epoch_ = 0;
  journal::Head before_;   // the latest event that was read
  journal::Head last_;     // the latest that was put back
  bool fresh_ = false;     // the journal does not know the session
  bool broken_ = false;    // something before could not be read
  std::set<Digest> held_;  // blobs that the export holds
  std::vector<journal::Blob> blobs_;
  journal::Append append_ = empty_append();
  Restored restored_;
};

/// Folds the events of exports into their calls, one session behind the other.
class CallReader {
 public:
  explicit CallReader(std::function<void(replay::Call)> visit) : visit_(std::move(visit)) {}

  void take(const schema::Event& event) {
    if (fold_ == nullptr || text_of(event.session()) != session_) {
      session_ = text_of(event.session());
      fold_ = std::make_unique<replay::CallFold>(session_, [this](replay::Call call) {
        if (!call.again) ++calls_;
        if (visit_) visit_(std::move(call));
      });
    }
    fold_->take(event);
  }
  std::uint64_t calls() const { return calls_; }

 private:
  std::function<void(replay::Call)> visit_;
  std::unique_ptr<replay::CallFold> fold_;
  std::string session_;
  std::uint64_t calls_ = 0;
};

}  // namespace

Result<LogReport> read_export_calls(ByteSource& bytes, LogSink& sink) {
  CallReader calls([&](replay::Call call) { sink.call(std::move(call)); });
  ExportLines lines([] { return Result<void>(); },
                    [](const BlobRef&, const std::string&) { return Result<void>(); },
                    [&](const std::string&, const schema::Event& event) {
                      calls.take(event);
                      return Result<void>();
                    });
  auto report = lines.read(bytes);
  if (report) report->calls = calls.calls();
  return report;
}

Result<Restored> restore_export(ByteSource& bytes, journal::Journal* journal, DryImport* dry) {
  Restored all;
  auto restore = std::make_unique<Restore>(journal, dry);
  CallReader calls({});
  const auto next = [&]() -> Result<void> {
    DAYBOOK_TRY(restore->finish(all));
    restore = std::make_unique<Restore>(journal, dry);
    return {};
  };
  ExportLines lines(
      next,
      [&](const BlobRef& ref, std::string blob) { return restore->blob(ref, std::move(blob)); },
      [&](const std::string& event_bytes, const schema::Event& event) -> Result<void> {
        if (restore->is_foreign(event)) DAYBOOK_TRY(next());
        calls.take(event);
        return restore->event(event_bytes, event);
      });
  auto read = lines.read(bytes);
  if (!read) return fail(read.error());
  DAYBOOK_TRY(restore->finish(all));
  all.report = std::move(*read);
  all.report.calls = calls.calls();
  return all;
}

}  // namespace daybook::tools
