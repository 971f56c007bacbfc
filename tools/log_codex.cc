// Codex rollouts: which thread each line belongs to.
#include "tools/log_codex_thread.h"
#include "tools/log_identity.h"
#include "tools/log_parts.h"
#include "tools/log_readers.h"

namespace daybook::tools {
namespace {

class CodexReader : public RecordReader {
 public:
  explicit CodexReader(LogReading& reading) : reading_(reading) {}

  bool is_record(JsonSpan value) const override {
    return value.is_object() && (value["timestamp"] || value["payload"]) &&
           (value["type"] || value["id"]);
  }

  void take(const LogRecord& record) override {
    const CodexLine line(record.value);
    if (line.time_wrong) reading_.damaged(record.offset, std::string(kWrongTime));
    if (line.type.is("session_meta")) {
      meta(line, record);
    } else if (!line.enveloped && thread_ == nullptr && !line.kind &&
               line.payload["id"].is_string()) {
      open(line.payload["id"].text());
      thread_->header(line, CodexOrigins(line.payload));
    } else if (line.kind.is("thread.started") && !line.enveloped) {
      open(line.payload["thread_id"].text());
    }
    if (thread_ == nullptr) {
      open(named_by_file());
      recall(line, record);
    }
    thread_->take(line, record);
    if (!forked_from_.empty()) search(0);
  }

  void take_damaged(Origin origin, const std::string& what) override {
    thread().log().keep("", schema::ImportReason::damaged, what, origin);
  }

  void finish() override {
    if (thread_ != nullptr) thread_->finish();
  }

  std::size_t find(std::string_view) const override { return std::string_view::npos; }
  // Which figures are a response's, and which responses have none, only all lines tell.
  bool skims() const override { return false; }
  bool head_done() const override { return false; }

 private:
  void meta(const CodexLine& line, const LogRecord& record) {
    const CodexOrigins origins(line.payload);
    if (thread_ == nullptr) {
      open(origins.thread);
      thread_->header(line, origins);
      first_at_ = line.at;
      forked_ = origins.relation != schema::Relation::none || !origins.parent.empty();
      counted_by_ordinal_ = origins.history_start.has_value();
      if (!counted_by_ordinal_) forked_from_ = origins.forked;
      return;
    }
    if (origins.thread == thread_->id() || searched_) return;
    // Files of two sessions one after the other: the second header is no copied one when nothing
    // says that the first thread was forked and it comes later than a fork's burst.
    if (!forked_ && line.at - first_at_ >= kCodexBurstNs) {
      thread_->finish();
      open(origins.thread);
      thread_->header(line, origins);
      first_at_ = line.at;
      return;
    }
    // Without the file at hand at least the header itself is known to be copied.
    search(record.offset + record.value.raw().size());
  }

  /// Where copied history ends, at `least` there.
  void search(std::uint64_t least) {
    searched_ = true;
    if (counted_by_ordinal_) return;
    CodexCopied copied =
        copied_history(reading_.source(), reading_.options().finder, thread_->id(), forked_from_);
    copied.end = std::max(copied.end, least);
    if (copied.estimated) {
      reading_.note("history copied from a thread whose file is missing: its end is estimated");
    } else if (copied.end > 0) {
      reading_.note("history copied from another thread");
    }
    forked_from_.clear();
    thread_->copied_until(copied);
  }

  /// A part of a rollout: without a header it goes on from what came before.
  void recall(const CodexLine& line, const LogRecord& record) {
    if (!reading_.whole()) return;
    take_settings(line);
    const Origin first(reading_, record, line.at);
    reading_.recall(thread_->id(), first, [&](const LogRecord& earlier) {
      thread_->take(CodexLine(earlier.value), earlier);
    });
  }

  /// What stands before all prompts and answers, which alone makes no session: the sink may not
  /// hold it.
  void take_settings(const CodexLine& first) {
    const auto log = codex_log(reading_.source(), reading_.options().finder, thread_->id());
    if (!log) return;
    visit_codex_lines(*log, [&](const CodexLine& line) {
      if (line.at > first.at || line.type.is("response_item")) return false;
      thread_->take_setting(line);
      return true;
    });
  }

  void open(const std::string& id) {
    thread_ = std::make_unique<CodexThread>(reading_, id.empty() ? named_by_file() : id);
    searched_ = false;
  }

  CodexThread& thread() {
    if (thread_ == nullptr) open(named_by_file());
    return *thread_;
  }

  std::string named_by_file() const {
    reading_.report().by_name = true;
    return codex_thread_named(reading_.source().file);
  }

  LogReading& reading_;
  std::unique_ptr<CodexThread> thread_;
  std::int64_t first_at_ = 0;
  bool forked_ = false;
  std::string forked_from_;  // until the copied part is searched for
  bool counted_by_ordinal_ = false;
  bool searched_ = false;
};

}  // namespace

std::unique_ptr<RecordReader> make_codex_reader(LogReading& reading) {
  return std::make_unique<CodexReader>(reading);
}

/// {"session": {id, timestamp, instructions}, "items": [...]}: the header and the items are what
/// the lines of a little later were.
Result<void> read_codex_document(LogReading& reading, ByteSource& source) {
  return read_document(reading, source, [&](JsonSpan document) {
    CodexReader reader(reading);
    const auto take = [&](JsonSpan value) {
      ++reading.report().lines;
      reader.take({value, static_cast<std::uint64_t>(value.raw().data() - document.raw().data())});
    };
    take(document["session"]);
    document["items"].items([&](JsonSpan item) {
      if (item.is_object() && !reading.error()) take(item);
    });
    reader.finish();
  });
}

}  // namespace daybook::tools
