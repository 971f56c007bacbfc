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
    if (thread_ == nullptr && begins_in_copy(line, origins)) {
      open(named_by_file());
      recall(line, record);
    } else if (thread_ == nullptr) {
      open(origins.thread);
      thread_->header(line, origins);
      note_header(line, origins);
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

  void note_header(const CodexLine& line, const CodexOrigins& origins) {
    first_at_ = line.at;
    forked_ = origins.relation != schema::Relation::none || !origins.parent.empty();
    counted_by_ordinal_ = origins.history_start.has_value();
    if (!counted_by_ordinal_) forked_from_ = origins.forked;
  }

  /// Whether the header belongs to history that a thread copied whose own header, and that alone,
  /// is another file's.
  bool begins_in_copy(const CodexLine& line, const CodexOrigins& origins) {
    const std::string& file = reading_.source().file;
    const std::string named = codex_thread_named(file);
    // A copy may be called anything.
    if (!reading_.whole() || !file.starts_with("rollout-") || named == origins.thread) return false;
    const auto log = codex_log(reading_.source(), reading_.options().finder, named);
    bool found = false;
    if (!log) return false;
    visit_codex_lines(*log, [&](const CodexLine& first, const EarlierLine&, std::uint64_t) {
      found = first.type.is("session_meta") && CodexOrigins(first.payload).thread == named &&
              line.at >= first.at && line.at - first.at < kCodexBurstNs;
      return false;
    });
    return found;
  }

  /// Where copied history ends, at `least` there.
  void search(std::uint64_t least) {
    searched_ = true;
    if (counted_by_ordinal_) return;
    CodexCopied copied = copied_history(reading_.source(), reading_.options().finder, thread_->id(),
                                        forked_from_, burst_at_);
    copied.end = std::max(copied.end, least);
    if (copied.estimated) {
      reading_.note("history copied from a thread whose file is missing: its end is estimated");
    } else if (copied.end > 0) {
      reading_.note("history copied from another thread");
    }
    forked_from_.clear();
    copied_end_ = copied.end;
    thread_->copied_until(copied);
  }

  /// A part of a rollout: without a header it goes on from what came before.
  void recall(const CodexLine& line, const LogRecord& record) {
    if (!reading_.whole()) return;
    const Origin first(reading_, record, line.at);
    bool header = false;
    const auto visit = [&](const std::function<void(const CodexLine&, const LogRecord&)>& take) {
      reading_.recall(thread_->id(), first,
                      [&](const LogRecord& earlier) { take(CodexLine(earlier.value), earlier); });
    };
    visit([&](const CodexLine& before, const LogRecord&) {
      take_header(before);
      header = header || is_own_header(before);
      thread_->log().go_on();
    });
    if (!header) take_head(line);
    if (!forked_from_.empty()) search(0);
    visit([&](const CodexLine& before, const LogRecord& earlier) {
      // A line that nothing names is a copied one when one behind it is.
      const bool copied = reading_.recalled()->copied || copied_end_ > 0;
      if (copied && !is_own_header(before)) {
        thread_->take_copied(before, earlier);
      } else {
        thread_->take(before, earlier);
      }
    });
  }

  bool is_own_header(const CodexLine& line) const {
    return line.type.is("session_meta") && CodexOrigins(line.payload).thread == thread_->id();
  }

  void take_header(const CodexLine& line) {
    if (!line.type.is("session_meta")) return;
    const CodexOrigins origins(line.payload);
    if (origins.thread == thread_->id()) {
      thread_->header(line, origins);
      note_header(line, origins);
      if (burst_at_ == 0 && !forked_from_.empty()) burst_at_ = line.at;
    } else if (!counted_by_ordinal_) {
      if (forked_from_.empty()) forked_from_ = origins.thread;
      burst_at_ = line.at;
    }
  }

  /// What stands before all prompts and answers of its own makes no session, so that the sink does
  /// not hold it.
  void take_head(const CodexLine& first) {
    const auto log = codex_log(reading_.source(), reading_.options().finder, thread_->id());
    if (!log) return;
    const auto is_before = [&](const CodexLine& line, const EarlierLine& text) {
      return line.at <= first.at && text.file != reading_.source().file;
    };
    visit_codex_lines(*log, [&](const CodexLine& line, const EarlierLine& text, std::uint64_t) {
      if (!is_before(line, text)) return false;
      take_header(line);
      return true;
    });
    CodexCopied copied;
    if (!forked_from_.empty()) {
      copied = copied_history(*log, reading_.options().finder, thread_->id(), forked_from_);
    }
    visit_codex_lines(*log, [&](const CodexLine& line, const EarlierLine& text, std::uint64_t at) {
      const bool own = at >= copied.end || is_own_header(line);
      if (!is_before(line, text) || (own && !is_setting(line))) return false;
      reading_.recall_line(text, [&](const LogRecord& record) {
        if (own) {
          thread_->take(line, record);
        } else {
          thread_->take_copied(line, record);
        }
      });
      return true;
    });
  }

  static bool is_setting(const CodexLine& line) {
    if (line.type.is("session_meta") || line.type.is("turn_context") ||
        line.kind.is("thread_settings_applied") || line.kind.is("task_started") ||
        line.kind.is("turn_started")) {
      return true;
    }
    // What the program writes in front of the first prompt.
    const JsonSpan role = line.payload["role"];
    return line.type.is("response_item") && line.kind.is("message") && !role.is("assistant") &&
           (!role.is("user") || is_codex_context(codex_text(line.payload["content"])));
  }

  void open(const std::string& id) {
    thread_ = std::make_unique<CodexThread>(reading_, id.empty() ? named_by_file() : id);
    searched_ = false;
    copied_end_ = 0;
    burst_at_ = 0;
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
  std::uint64_t copied_end_ = 0;  // of the file that is read
  std::int64_t burst_at_ = 0;     // as a file before it told
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
