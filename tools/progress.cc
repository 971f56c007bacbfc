#include "tools/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "engine/state_compaction.h"
#include "tools/counted.h"
#include "tools/event_json.h"
#include "tools/format.h"

namespace daybook::tools {
namespace {

constexpr std::size_t kLineCells = 100;

class Progress : public engine::Observer {
 public:
  Progress(std::ostream& err, std::string endpoint) : err_(err), endpoint_(std::move(endpoint)) {}

  void on_event(const schema::Event& event, std::span<const std::byte>) override {
    if (const auto* e = event.payload_as_ModelRequested()) {
      of_summariser_ = text_of(e->lineage()) == engine::kSummaryLineage;
      // The first one of a turn is none to this turn, whatever an earlier one tried.
      if (std::exchange(waited_, false)) line(fmt::format("model: attempt {}", e->attempt()));
    } else if (const auto* responded = event.payload_as_ModelResponded()) {
      if (!of_summariser_) on_response(*responded);
    } else if (const auto* failed = event.payload_as_ModelFailed()) {
      // A failure that ends the turn is told once, with what can be done about it.
      if (failed->retry_at() != 0) {
        const auto wait_ns = std::max<std::int64_t>(0, failed->retry_at() - event.recorded_at());
        line(fmt::format("model: {}; trying again in {}", told(*failed), wait_text(wait_ns)));
        waited_ = true;
      }
    } else if (event.payload_as_ModelAbandoned() != nullptr) {
      line("model: an earlier call was cut off by a crash; asking again");
    } else if (const auto* decided = event.payload_as_ToolDecided()) {
      if (decided->decision() != schema::Decision::allow) {
        line(fmt::format("{}: not run ({})", text_of(decided->call_id()),
                         text_of(decided->decided_by())));
      }
    } else if (const auto* completed = event.payload_as_ToolCompleted()) {
      on_completed(*completed);
    } else if (const auto* unknown = event.payload_as_ToolOutcomeUnknown()) {
      line(fmt::format("{}: outcome unknown: {}", text_of(unknown->call_id()),
                       text_of(unknown->reason())));
    } else {
      on_compaction(event);
    }
  }

  void on_delta(const engine::Delta&) override {}
  void on_output(std::string_view, std::string_view) override {}

 private:
  /// "HTTP 503 from ENDPOINT: overloaded", with one mention of the status.
  std::string told(const schema::ModelFailed& failed) const {
    std::string message(text_of(failed.message()));
    if (failed.http_status() == 0) return message;
    if (message.starts_with(fmt::format("HTTP status {} ", failed.http_status()))) {
      return fmt::format("{} from {}", message, endpoint_);
    }
    return fmt::format("HTTP {} from {}: {}", failed.http_status(), endpoint_, message);
  }

  /// Rounded up, so that nobody waits longer than they were told.
  static std::string wait_text(std::int64_t wait_ns) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    return fmt::format("{} s", (wait_ns + kSecond - 1) / kSecond);
  }

  void line(std::string_view text) { err_ << one_line(text) << '\n' << std::flush; }

  void on_response(const schema::ModelResponded& response) {
    if (response.blocks() == nullptr) return;
    // The final answer goes to standard output; what is said before calls explains them.
    const bool calls = response.stop() == schema::StopReason::tool_calls;
    for (const auto* block : *response.blocks()) {
      const auto text =
          block->text() == nullptr ? std::string_view() : inline_bytes(*block->text());
      if (block->kind() == schema::BlockKind::text && calls) line(fit(one_line(text), kLineCells));
      if (block->kind() == schema::BlockKind::tool_call) {
        line(fit(one_line(fmt::format("{}: {} {}", text_of(block->call_id()),
                                      text_of(block->tool()), text)),
                 kLineCells));
      }
    }
  }

  void on_compaction(const schema::Event& event) {
    if (const auto* started = event.payload_as_CompactionStarted()) {
      line(fmt::format("compaction {}: the context holds about {} tokens; summing up {}",
                       started->number(), started->tokens(),
                       counted(started->replaced(), "message")));
    } else if (const auto* attempt = event.payload_as_CompactionAttempted()) {
      if (attempt->verdict() == schema::GateVerdict::usable) return;
      line(fmt::format("compaction {}: summary {} was not accepted ({})", attempt->number(),
                       attempt->attempt(), findings(*attempt)));
    } else if (const auto* committed = event.payload_as_CompactionCommitted()) {
      line(fmt::format("compaction {}: {} tokens became about {}{}{}", committed->number(),
                       committed->tokens_before().value_or(0),
                       committed->tokens_after().value_or(0),
                       committed->summary() == nullptr ? ", without a summary: " : "",
                       text_of(committed->reason())));
      // One that the provider's refusal began has nothing to do with the cap.
      if (text_of(committed->trigger()) == "overflow") return;
      warn_of_thrashing(committed->tokens_before().value_or(0),
                        committed->tokens_after().value_or(0));
    } else if (const auto* failed = event.payload_as_CompactionFailed()) {
      line(fmt::format("compaction {}: given up: {}", failed->number(), text_of(failed->reason())));
    }
  }

  /// Compactions that free little come again soon, and each costs a call and the cached prefix.
  void warn_of_thrashing(std::uint64_t before, std::uint64_t after) {
    small_gains_ = after + before / kSmallGain > before ? small_gains_ + 1 : 0;
    if (small_gains_ < kSmallGains || std::exchange(warned_, true)) return;
    line(
        fmt::format("warning: the last {} compactions each freed less than a quarter of the "
                    "context; raise compaction_cap_tokens, or use a model with a larger window",
                    kSmallGains));
  }

  static std::string findings(const schema::CompactionAttempted& attempt) {
    std::string codes;
    if (attempt.findings() == nullptr) return codes;
    for (const auto* finding : *attempt.findings()) {
      if (codes.find(text_of(finding->code())) != std::string::npos) continue;
      codes += fmt::format("{}{}", codes.empty() ? "" : ", ", text_of(finding->code()));
    }
    return codes;
  }

  void on_completed(const schema::ToolCompleted& completed) {
    const auto* receipt = completed.receipt();
    std::string how = "done";
    if (receipt != nullptr) {
      how = spelled(schema::EnumNameExitKind(receipt->exit()));
      if (receipt->exit() == schema::ExitKind::exited ||
          receipt->exit() == schema::ExitKind::signalled) {
        how += fmt::format(" {}", receipt->code());
      }
      how += fmt::format(" ({})", duration(receipt->duration_ns()));
    }
    if (completed.settled_by() == schema::SettledBy::file_hashes) {
      how += ", settled by the files' hashes after a crash";
    }
    line(fmt::format("{}: {}", text_of(completed.call_id()), how));
  }

  std::ostream& err_;
  std::string endpoint_;
  static constexpr std::uint64_t kSmallGain = 4;  // the share that is worth its price
  static constexpr int kSmallGains = 3;           // in a row, before it is said

  int small_gains_ = 0;
  bool warned_ = false;
  bool waited_ = false;         // for another attempt
  bool of_summariser_ = false;  // the call whose outcome comes next
};

class EventStream : public engine::Observer {
 public:
  EventStream(std::ostream& out, journal::Journal& journal) : out_(out), journal_(journal) {}

  void on_event(const schema::Event& event, std::span<const std::byte> bytes) override {
    journal::Entry entry;
    entry.version = event.version();
    entry.event = &event;
    entry.bytes = bytes;
    out_ << event_json(entry, {&journal_, std::string::npos}).text << '\n' << std::flush;
  }

  void on_delta(const engine::Delta&) override {}
  void on_output(std::string_view, std::string_view) override {}

 private:
  std::ostream& out_;
  journal::Journal& journal_;
};

}  // namespace

std::unique_ptr<engine::Observer> make_progress(Context& context, std::string endpoint) {
  return std::make_unique<Progress>(context.err, std::move(endpoint));
}

std::unique_ptr<engine::Observer> make_event_stream(Context& context, journal::Journal& journal) {
  return std::make_unique<EventStream>(context.out, journal);
}

}  // namespace daybook::tools
