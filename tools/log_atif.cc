// ATIF: one document a trajectory, with the figures of each agent step.
#include <fmt/format.h>

#include "tools/log_claude_lines.h"
#include "tools/log_identity.h"
#include "tools/log_messages.h"
#include "tools/log_readers.h"

namespace daybook::tools {
namespace {

class AtifDocument {
 public:
  AtifDocument(LogReading& reading, JsonSpan document) : reading_(reading), document_(document) {
    std::string id = document["session_id"].text();
    if (id.empty()) id = document["trajectory_id"].text();
    reading.report().by_name = id.empty();
    if (id.empty()) id = reading.source().file;
    session_ = std::make_unique<MessageSession>(reading, id);
    const JsonSpan agent = document["agent"];
    auto& header = session_->log().header();
    header.agent = agent["name"].text();
    header.program_version = agent["version"].text();
    model_ = agent["model_name"].text();
  }

  void read() {
    document_["steps"].items([&](JsonSpan step) { take(step); });
    session_->finish();
  }

 private:
  void take(JsonSpan step) {
    const auto [at, wrong] = time_of(step["timestamp"]);
    const auto offset = static_cast<std::uint64_t>(step.raw().data() - document_.raw().data());
    if (wrong) reading_.damaged(offset, std::string(kWrongTime));
    Origin origin(reading_, {step, offset}, at);
    ++reading_.report().lines;
    auto& header = session_->log().header();
    if (header.started_at == 0) header.started_at = at;
    const JsonSpan source = step["source"];
    const std::string stable = session_->log().id() + "/" + std::string(step["step_id"].raw());
    const std::string text = claude_text(step["message"]);
    if (source.is("agent")) {
      agent({step, offset}, text, at, stable, origin);
    } else if (source.is("user")) {
      session_->prompt(text, step["message"].raw(), stable, origin);
    } else if (source.is("system")) {
      session_->system(step["message"].raw());
      session_->log().keep("system", schema::ImportReason::metadata, "", origin);
    } else {
      session_->log().keep(source.text(), schema::ImportReason::unmapped,
                           "a source that is not known", origin);
    }
  }

  void agent(const LogRecord& record, const std::string& text, std::int64_t at,
             const std::string& stable, Origin& origin) {
    const JsonSpan step = record.value;
    LogAnswer answer;
    answer.stable_id = stable;
    answer.at = at;
    answer.text = text;
    answer.reasoning = step["reasoning_content"].text();
    answer.model = step["model_name"].text();
    if (answer.model.empty()) answer.model = model_;
    if (const std::size_t slash = answer.model.find('/'); slash != std::string::npos) {
      answer.provider = answer.model.substr(0, slash);
      answer.model.erase(0, slash + 1);
    }
    const JsonSpan metrics = step["metrics"];
    if (metrics.is_object()) {
      answer.usage_raw = metrics.raw();
      Figures figures;
      const JsonSpan extra = metrics["extra"];  // what the format has no member for
      answer.usage.input_total = figures.count("prompt_tokens", metrics["prompt_tokens"]);
      answer.usage.cache_read = figures.count("cached_tokens", metrics["cached_tokens"]);
      answer.usage.output = figures.count("completion_tokens", metrics["completion_tokens"]);
      if (!answer.usage.cache_read) {
        answer.usage.cache_read =
            figures.count("cache_read_input_tokens", extra["cache_read_input_tokens"]);
      }
      answer.usage.cache_write =
          figures.count("cache_creation_input_tokens", extra["cache_creation_input_tokens"]);
      if (!figures.wrong().empty()) {
        answer.usage = {};
        reading_.damaged(record.offset, figures.wrong());
      }
      if (answer.usage.input_total && answer.usage.cache_read) {
        const std::uint64_t cached =
            *answer.usage.cache_read + answer.usage.cache_write.value_or(0);
        const std::uint64_t total = *answer.usage.input_total;
        if (cached > total) {
          // One of the figures is wrong, and nobody knows which.
          reading_.note(kMoreCached);
          answer.usage.authority = schema::Authority::estimate;
          answer.usage.cache_read = std::min(*answer.usage.cache_read, total);
          const std::uint64_t room = total - *answer.usage.cache_read;
          if (answer.usage.cache_write) {
            answer.usage.cache_write = std::min(*answer.usage.cache_write, room);
          }
        }
        answer.usage.input_uncached = total > cached ? total - cached : 0;
      }
    }
    step["tool_calls"].items([&](JsonSpan call) {
      const JsonSpan arguments = call["arguments"];
      answer.calls.push_back({call["tool_call_id"].text(), call["function_name"].text(),
                              std::string(arguments.raw())});
    });
    session_->answer(answer, step.raw(), origin);
    step["observation"]["results"].items([&](JsonSpan result) {
      session_->result(result["source_call_id"].text(), claude_text(result["content"]),
                       result.raw(), origin);
    });
  }

  LogReading& reading_;
  JsonSpan document_;
  std::unique_ptr<MessageSession> session_;
  std::string model_;
};

}  // namespace

Result<void> read_atif(LogReading& reading, ByteSource& source) {
  std::string unknown;
  DAYBOOK_TRY(read_document(reading, source, [&](JsonSpan document) {
    unknown = document["schema_version"].text();
    if (!unknown.starts_with("ATIF-v1.")) return;
    unknown.clear();
    AtifDocument(reading, document).read();
  }));
  if (unknown.empty()) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} is of the schema '{}', and this build reads ATIF-v1",
                          reading.source().path, unknown));
}

}  // namespace daybook::tools
