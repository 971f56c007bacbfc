#include "tools/transcript.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/state_compaction.h"
#include "tools/counted.h"
#include "tools/format.h"

namespace daybook::tools {
namespace {

std::string receipt_title(const schema::ToolCompleted& completed) {
  const auto* receipt = completed.receipt();
  if (receipt == nullptr) return fmt::format("{}: no receipt", text_of(completed.call_id()));
  std::string exit = spelled(schema::EnumNameExitKind(receipt->exit()));
  if (receipt->exit() == schema::ExitKind::exited ||
      receipt->exit() == schema::ExitKind::signalled) {
    exit += fmt::format(" {}", receipt->code());
  }
  const bool settled = completed.settled_by() == schema::SettledBy::file_hashes;
  return fmt::format("{}: {}, {}{}", text_of(completed.call_id()), exit,
                     duration(receipt->duration_ns()), settled ? ", settled by file hashes" : "");
}

std::string decision_title(const schema::ToolDecided& decided) {
  const std::string_view verb = decided.decision() == schema::Decision::allow  ? "allowed"
                                : decided.decision() == schema::Decision::deny ? "denied"
                                                                               : "refused";
  return fmt::format("{}: {} {} by {}, policy {}", text_of(decided.call_id()),
                     text_of(decided.tool()), verb, text_of(decided.decided_by()),
                     decided.policy_generation());
}

std::string policy_title(const schema::PolicyChanged& policy) {
  std::vector<std::string> parts;
  if (policy.roots() != nullptr) {
    for (const auto* root : *policy.roots()) {
      parts.push_back(
          fmt::format("{}{}", text_of(root->path()), root->writable() ? "" : " (read only)"));
    }
  }
  const std::string_view by = text_of(policy.reason());
  return fmt::format("policy {}: {}, {}{}", policy.generation(),
                     spelled(schema::EnumNameApprovalMode(policy.mode())), fmt::join(parts, ", "),
                     by.empty() ? "" : fmt::format("; set by {}", by));
}

/// Turns one event into items; one object an event.
class Items {
 public:
  Items(journal::Journal& journal, const schema::Event& event, bool of_summariser)
      : journal_(journal), event_(event), of_summariser_(of_summariser) {}

  std::vector<TranscriptItem> make() {
    using schema::Payload;
    switch (event_.payload_type()) {
      case Payload::TurnStarted:
        turn_started(*event_.payload_as_TurnStarted());
        break;
      case Payload::TurnEnded:
        turn_ended(*event_.payload_as_TurnEnded());
        break;
      case Payload::SessionImported:
      case Payload::ImportedLine:
        imported();
        break;
      case Payload::CompactionStarted:
      case Payload::CompactionAttempted:
      case Payload::CompactionCommitted:
      case Payload::CompactionCancelled:
      case Payload::CompactionFailed:
        compaction();
        break;
      case Payload::ReplayStarted:
      case Payload::ReplayAttempted:
        replay();
        break;
      case Payload::ModelRequested:  // its answer or failure says more
      case Payload::RateLimitObserved:
        break;
      case Payload::ModelResponded:
        // What the summariser said is told with what the gate said of it.
        if (!of_summariser_) responded(*event_.payload_as_ModelResponded());
        break;
      case Payload::ModelFailed:
        failed(*event_.payload_as_ModelFailed());
        break;
      default:
        one_liner();
    }
    return std::move(items_);
  }

 private:
  void add(std::string kind, std::string title, std::string body = "") {
    const auto* provenance = event_.provenance();
    const std::int64_t at = provenance == nullptr ? event_.recorded_at() : provenance->at();
    items_.push_back(
        {event_.version(), at, event_.turn(), std::move(kind), std::move(title), std::move(body)});
  }

  std::string bytes(const schema::Content* content) {
    auto read = journal::content_bytes(journal_, content);
    if (read) return std::move(*read);
    add("hole", "content cannot be read", read.error().message);
    return {};
  }

  void turn_started(const schema::TurnStarted& turn) {
    const std::string prompt = bytes(turn.prompt());
    const std::string continues =
        turn.continues() == 0 ? "" : fmt::format(", continues turn {}", turn.continues());
    const std::string model =
        text_of(turn.model()).empty()
            ? ""
            : fmt::format(" with {}:{}", text_of(turn.provider()), text_of(turn.model()));
    add("turn", fmt::format("turn {} started{}{}", turn.turn(), model, continues));
    if (turn.prompt() != nullptr) add("prompt", "user", prompt);
  }

  void turn_ended(const schema::TurnEnded& turn) {
    std::string title = fmt::format("turn {} {}", turn.turn(),
                                    turn.outcome() == schema::TurnOutcome::iteration_limit
                                        ? "reached its iteration limit"
                                        : std::string(schema::EnumNameTurnOutcome(turn.outcome())));
    if (turn.truncated()) title += ", its answer cut by the output limit";
    // The answer was shown with the response that held it.
    add("turn", std::move(title), std::string(text_of(turn.message())));
  }

  void responded(const schema::ModelResponded& responded) {
    if (responded.blocks() == nullptr) return;
    for (const auto* block : *responded.blocks()) {
      const std::string text = bytes(block->text());
      switch (block->kind()) {
        case schema::BlockKind::text:
          add("text", "assistant", text);
          break;
        case schema::BlockKind::reasoning:
          add("reasoning", "reasoning", text);
          break;
        case schema::BlockKind::tool_call:
          add("call",
              fmt::format("{}: call of {}", text_of(block->call_id()), text_of(block->tool())),
              text);
          break;
        default:
          add("text", schema::EnumNameBlockKind(block->kind()), text);
      }
    }
  }

  void failed(const schema::ModelFailed& failed) {
    const std::string status =
        failed.http_status() == 0 ? "" : fmt::format(" (HTTP {})", failed.http_status());
    add("failure",
        fmt::format("{} call failed: {}{}", of_summariser_ ? "summariser" : "model",
                    spelled(schema::EnumNameFailureKind(failed.kind())), status),
        std::string(text_of(failed.message())));
  }

  void imported() {
    if (const auto* it = event_.payload_as_SessionImported()) {
      add("life",
          fmt::format(
              "imported from {}, session {}{}", text_of(it->kind()), text_of(it->log_session()),
              text_of(it->parent()).empty()
                  ? ""
                  : fmt::format(", {} of {}", spelled(schema::EnumNameRelation(it->relation())),
                                text_of(it->parent()))));
    } else if (const auto* line = event_.payload_as_ImportedLine()) {
      const bool lost = line->reason() == schema::ImportReason::unmapped ||
                        line->reason() == schema::ImportReason::damaged;
      if (!lost) return;
      add("notice", fmt::format("a line of the log is {}: {}",
                                spelled(schema::EnumNameImportReason(line->reason())),
                                text_of(line->type())));
    }
  }

  void compaction() {
    if (const auto* started = event_.payload_as_CompactionStarted()) {
      add("compaction",
          fmt::format("compaction {} started ({}): {}, versions {} to {}, of about {} "
                      "tokens in all",
                      started->number(), text_of(started->trigger()),
                      counted(started->replaced(), "message"), started->first(), started->last(),
                      started->tokens()));
    } else if (const auto* attempt = event_.payload_as_CompactionAttempted()) {
      std::string codes;
      if (attempt->findings() != nullptr) {
        for (const auto* finding : *attempt->findings()) {
          codes += fmt::format("{}{} ({})", codes.empty() ? ": " : "; ", text_of(finding->code()),
                               text_of(finding->evidence()));
        }
      }
      add("compaction",
          fmt::format("summary {} is {}{}", attempt->attempt(),
                      schema::EnumNameGateVerdict(attempt->verdict()), codes),
          bytes(attempt->summary()));
    } else if (const auto* committed = event_.payload_as_CompactionCommitted()) {
      compacted(*committed);
    } else if (const auto* cancelled = event_.payload_as_CompactionCancelled()) {
      add("compaction", fmt::format("compaction {} cancelled: {}", cancelled->number(),
                                    text_of(cancelled->reason())));
    } else if (const auto* given_up = event_.payload_as_CompactionFailed()) {
      add("compaction", fmt::format("compaction {} given up: {}", given_up->number(),
                                    text_of(given_up->reason())));
    }
  }

  void replay() {
    if (const auto* started = event_.payload_as_ReplayStarted()) {
      add("life",
          fmt::format(
              "replay of {} with {}",
              counted(started->cases() == nullptr ? 0 : started->cases()->size(), "compaction"),
              counted(started->arms() == nullptr ? 0 : started->arms()->size(), "arm")));
    } else if (const auto* attempt = event_.payload_as_ReplayAttempted()) {
      add("compaction",
          fmt::format("summary of case {} by arm {}, replicate {}, attempt {}: {}",
                      attempt->item() + 1, attempt->arm() + 1, attempt->replicate(),
                      attempt->attempt(), schema::EnumNameGateVerdict(attempt->verdict())),
          bytes(attempt->summary()));
    }
  }

  void compacted(const schema::CompactionCommitted& it) {
    if (it.number() == 0) {
      return add("compaction",
                 fmt::format("the history before was compacted ({})", text_of(it.trigger())),
                 bytes(it.summary()));
    }
    const std::string how = it.summary() != nullptr
                                ? "with a summary"
                                : fmt::format("without a summary: {}", text_of(it.reason()));
    add("compaction",
        fmt::format("compaction {} in place {}; {} to {} tokens", it.number(), how,
                    it.tokens_before().value_or(0), it.tokens_after().value_or(0)),
        bytes(it.block()));
  }

  void one_liner() {
    if (const auto* started = event_.payload_as_SessionStarted()) {
      add("life", fmt::format("session started by daybook {}, agent {}, workspace {}",
                              text_of(started->daybook_version()), text_of(started->agent()),
                              text_of(started->workspace())));
    } else if (const auto* notice = event_.payload_as_NoticeAdded()) {
      add("notice", "notice", std::string(text_of(notice->text())));
    } else if (const auto* acquired = event_.payload_as_OwnerAcquired()) {
      add("life", fmt::format("owner: {} ({})", text_of(acquired->owner()),
                              schema::EnumNameOwnReason(acquired->reason())));
    } else if (const auto* released = event_.payload_as_OwnerReleased()) {
      const std::string_view reason = text_of(released->reason());
      add("life", reason.empty() ? "owner left" : fmt::format("owner left: {}", reason));
    } else if (const auto* policy = event_.payload_as_PolicyChanged()) {
      add("policy", policy_title(*policy));
    } else if (const auto* abandoned = event_.payload_as_ModelAbandoned()) {
      add("failure", "model call abandoned: it may have been billed",
          std::string(text_of(abandoned->reason())));
    } else {
      calls();
    }
  }

  void calls() {
    if (const auto* decided = event_.payload_as_ToolDecided()) {
      add("decision", decision_title(*decided), bytes(decided->result()));
    } else if (const auto* dispatched = event_.payload_as_ToolDispatched()) {
      add("decision", fmt::format("{}: started, attempt {}", text_of(dispatched->call_id()),
                                  dispatched->attempt()));
    } else if (const auto* completed = event_.payload_as_ToolCompleted()) {
      add("result", receipt_title(*completed), bytes(completed->result()));
    } else if (const auto* unknown = event_.payload_as_ToolOutcomeUnknown()) {
      add("result", fmt::format("{}: outcome unknown", text_of(unknown->call_id())),
          std::string(text_of(unknown->reason())));
    } else if (const auto* settled = event_.payload_as_ToolReconciled()) {
      add("decision",
          fmt::format("{}: reconciled as {} by {}", text_of(settled->call_id()),
                      spelled(schema::EnumNameReconciliation(settled->outcome())),
                      text_of(settled->actor())),
          std::string(text_of(settled->note())));
    } else {
      approvals();
    }
  }

  void approvals() {
    if (const auto* requested = event_.payload_as_ApprovalRequested()) {
      add("approval",
          fmt::format("{}: approval of {} asked for", text_of(requested->call_id()),
                      text_of(requested->tool())),
          std::string(text_of(requested->summary())));
    } else if (const auto* decided = event_.payload_as_ApprovalDecided()) {
      add("approval",
          fmt::format(
              "{}: {} by {} for {}", text_of(decided->call_id()),
              schema::EnumNameDecision(decided->decision()), text_of(decided->actor()),
              decided->scope() == schema::ApprovalScope::session ? "the session" : "this call"));
    } else if (const auto* cleared = event_.payload_as_ApprovalCleared()) {
      add("approval", fmt::format("{}: approval no longer needed", text_of(cleared->call_id())),
          std::string(text_of(cleared->cause())));
    } else {
      add("unknown",
          fmt::format("event of a kind that this build does not know: {}", payload_name(event_)));
    }
  }

  journal::Journal& journal_;
  const schema::Event& event_;
  bool of_summariser_;
  std::vector<TranscriptItem> items_;
};

}  // namespace

std::vector<TranscriptItem> Transcript::items(const journal::Entry& entry) {
  if (entry.event == nullptr) {
    return {{entry.version, 0, 0, "hole", "this event cannot be read", entry.damage}};
  }
  if (const auto* request = entry.event->payload_as_ModelRequested()) {
    of_summariser_ = text_of(request->lineage()) == engine::kSummaryLineage;
  }
  return Items(journal_, *entry.event, of_summariser_).make();
}

}  // namespace daybook::tools
