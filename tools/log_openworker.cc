// OpenWorker's conversations: one message a line, in the shape of chat completions, with the
// figures beside each answer. Its database tells the folder, the agent and the title.
#include <sqlite3.h>

#include <filesystem>

#include "tools/log_claude_lines.h"
#include "tools/log_messages.h"
#include "tools/log_readers.h"

namespace daybook::tools {
namespace {

/// Seconds with a fraction, as Python writes them.
std::int64_t epoch_seconds(JsonSpan value) {
  if (!value.is_number()) return 0;
  const double seconds = std::strtod(std::string(value.raw()).c_str(), nullptr);
  return seconds > 0 && seconds < 7e9 ? static_cast<std::int64_t>(seconds * 1e6) * 1000 : 0;
}

class OpenWorkerReader : public RecordReader {
 public:
  explicit OpenWorkerReader(LogReading& reading) : reading_(reading) {
    std::string id = std::filesystem::path(reading.source().path).filename().string();
    id = id.substr(0, id.find(".json"));
    reading.report().by_name = true;
    session_ = std::make_unique<MessageSession>(reading, id);
    read_index(id);
  }

  bool is_record(JsonSpan value) const override {
    return value.is_object() && value["role"].is_string();
  }

  void take(const LogRecord& record) override {
    const JsonSpan message = record.value;
    const std::int64_t at = epoch_seconds(message["ts"]);
    Origin origin(reading_, record, at);
    auto& header = session_->log().header();
    if (header.started_at == 0) header.started_at = at;
    const JsonSpan role = message["role"];
    const std::string text = claude_text(message["content"]);
    const std::string hash = Digest::of(message.raw()).hex();
    const std::string stable =
        session_->log().id() + "/" + hash + "/" + std::to_string(reading_.occurrence(hash));
    if (role.is("assistant")) {
      assistant(record, text, at, stable, origin);
    } else if (role.is("tool")) {
      session_->result(message["tool_call_id"].text(), text, message.raw(), origin);
    } else if (role.is("user")) {
      session_->prompt(text, message.raw(), stable, origin);
    } else if (role.is("system")) {
      session_->system(message.raw());
      session_->log().keep("system", schema::ImportReason::metadata, "", origin);
    } else {
      session_->log().keep(role.text(), schema::ImportReason::unmapped, "a role that is not known",
                           origin);
    }
  }

  void take_damaged(Origin origin, const std::string& what) override {
    session_->log().keep("", schema::ImportReason::damaged, what, origin);
  }
  void finish() override { session_->finish(); }
  std::size_t find(std::string_view) const override { return std::string_view::npos; }
  // Conversations are small: every line is looked at.
  bool skims() const override { return false; }
  bool head_done() const override { return false; }

 private:
  void assistant(const LogRecord& record, const std::string& text, std::int64_t at,
                 const std::string& stable, Origin& origin) {
    const JsonSpan message = record.value;
    LogAnswer answer;
    answer.stable_id = stable;
    answer.at = at;
    answer.text = text;
    answer.reasoning = message["reasoning"].text();
    const JsonSpan usage = message["usage"];
    answer.model = usage["model"].text();
    if (answer.model.empty()) answer.model = model_;
    if (const std::size_t colon = answer.model.find(':'); colon != std::string::npos) {
      answer.provider = answer.model.substr(0, colon);
      answer.model.erase(0, colon + 1);
    }
    Figures figures;
    answer.usage.input_uncached = figures.count("input", usage["input"]);
    answer.usage.output = figures.count("output", usage["output"]);
    answer.usage.cache_read = figures.count("cache_read", usage["cache_read"]);
    answer.usage.cache_write = figures.count("cache_write", usage["cache_write"]);
    if (!figures.wrong().empty()) {
      answer.usage = {};
      reading_.damaged(record.offset, figures.wrong());
    }
    if (usage) answer.usage_raw = usage.raw();
    message["tool_calls"].items([&](JsonSpan call) {
      const JsonSpan function = call["function"];
      answer.calls.push_back(
          {call["id"].text(), function["name"].text(), function["arguments"].text()});
    });
    session_->answer(answer, message.raw(), origin);
  }

  /// The database lies beside the conversations; without it the messages are all there is.
  void read_index(const std::string& id) {
    const auto folder = std::filesystem::path(reading_.source().path).parent_path();
    const std::string path = (folder.parent_path() / "coworker.db").string();
    sqlite3* opened = nullptr;
    const int status = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(opened, sqlite3_close);
    if (status != SQLITE_OK) return;
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(opened,
                           "SELECT workspace, agent, title, model FROM sessions "
                           "WHERE session_id = ?",
                           -1, &prepared, nullptr) != SQLITE_OK) {
      reading_.note("OpenWorker's database cannot be read: folders and titles are missing");
      return;
    }
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(prepared,
                                                                          sqlite3_finalize);
    sqlite3_bind_text(prepared, 1, id.c_str(), static_cast<int>(id.size()), SQLITE_STATIC);
    if (sqlite3_step(prepared) != SQLITE_ROW) return;
    const auto column = [&](int index) {
      const unsigned char* text = sqlite3_column_text(prepared, index);
      return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text));
    };
    auto& header = session_->log().header();
    header.workspace = column(0);
    header.agent = column(1);
    header.title = column(2);
    model_ = column(3);
  }

  LogReading& reading_;
  std::unique_ptr<MessageSession> session_;
  std::string model_;
};

}  // namespace

std::unique_ptr<RecordReader> make_openworker_reader(LogReading& reading) {
  return std::make_unique<OpenWorkerReader>(reading);
}

}  // namespace daybook::tools
