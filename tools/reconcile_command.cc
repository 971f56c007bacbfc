#include <fmt/format.h>

#include <ctime>
#include <ostream>
#include <random>

#include "engine/load.h"
#include "engine/tool_run.h"
#include "journal/session_writer.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/read_journal.h"
#include "tools/session_run.h"

namespace daybook::tools {
namespace {

using schema::Reconciliation;

Result<Reconciliation> outcome_of(const Arguments& arguments) {
  const auto given = arguments.text("--outcome");
  if (!given) {
    return fail(ErrorCode::invalid_argument,
                "'reconcile' needs --outcome: applied, not-applied or retry");
  }
  const std::string& text = *given;
  if (text == "applied") return Reconciliation::applied;
  if (text == "not-applied") return Reconciliation::not_applied;
  if (text == "retry") return Reconciliation::retry;
  return fail(ErrorCode::invalid_argument,
              fmt::format("--outcome '{}' is not known; use applied, not-applied or retry", text));
}

std::string told(Reconciliation outcome, const std::string& note) {
  const std::string said = note.empty() ? "" : " They noted: " + note;
  return outcome == Reconciliation::applied
             ? "The process died while this call ran. A person checked: it took effect. Its output "
               "was not recorded." +
                   said
             : "The process died while this call ran. A person checked: it did not take effect." +
                   said;
}

journal::Stamp stamp() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::random_device random;
  const auto draw = [&] { return (static_cast<std::uint64_t>(random()) << 32) | random(); };
  return {now.tv_sec * 1'000'000'000 + now.tv_nsec, draw(), draw()};
}

/// Repeating the same decision changes nothing; another one is an error.
Result<bool> decided_before(journal::Journal& journal, const SessionId& session,
                            const std::string& call_id, Reconciliation outcome) {
  bool same = false;
  std::optional<Reconciliation> other;
  auto read = journal.read(session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    const auto* e = entry.event->payload_as_ToolReconciled();
    if (e != nullptr && text_of(e->call_id()) == call_id) {
      same = e->outcome() == outcome;
      other.reset();
      if (!same) other = e->outcome();
    }
    return true;
  });
  if (!read) return fail(std::move(read.error()));
  if (other) {
    return fail(
        ErrorCode::conflict,
        fmt::format("{} of session {} is reconciled already, as {}; what is recorded stays",
                    call_id, session.str(), spelled(schema::EnumNameReconciliation(*other))));
  }
  return same;
}

Result<void> record(const Context& context, journal::Journal& journal,
                    const engine::SessionState& state, const SessionId& session,
                    const engine::CallState& call, Reconciliation outcome,
                    const std::string& note) {
  journal::SessionWriter writer(session, {state.version, state.epoch, engine::state_hash(state)},
                                stamp);
  journal::Batch batch;
  schema::OwnerAcquiredT owner;
  owner.owner = context.owner;
  owner.reason = schema::OwnReason::reconcile;
  batch.add(draft(std::move(owner)));
  if (call.phase == schema::CallPhase::dispatched) {
    schema::ToolOutcomeUnknownT unknown;
    unknown.call_id = call.call_id;
    unknown.reason = engine::unknown_reason(call.effect);
    batch.add(draft(std::move(unknown), state.turn->number, call.dispatched_at));
  }
  schema::ToolReconciledT event;
  event.call_id = call.call_id;
  event.outcome = outcome;
  event.note = note;
  event.actor = actor_name(context);
  if (outcome != Reconciliation::retry) event.result = batch.content(told(outcome, note));
  batch.add(draft(std::move(event), state.turn->number, call.dispatched_at));
  schema::OwnerReleasedT released;
  released.reason = "reconciled";
  batch.add(draft(std::move(released)));
  auto appended = journal::append_and_wait(journal, writer.acquire(std::move(batch)));
  if (!appended) return fail(std::move(appended.error()));
  return {};
}

Result<int> run(Context& context, const Arguments& arguments) {
  auto outcome = outcome_of(arguments);
  if (!outcome) return fail(std::move(outcome.error()));
  auto folder = journal_folder(context, arguments);
  if (!folder) return fail(std::move(folder.error()));
  auto journal = context.open_journal(*folder, journal::OpenMode::write);
  if (!journal) return fail(std::move(journal.error()));
  auto info = find_session(**journal, *arguments.text("SESSION"));
  if (!info) return fail(std::move(info.error()));
  auto state = engine::load_state(**journal, info->session);
  if (!state) return fail(std::move(state.error()));
  const std::string call_id = *arguments.text("CALL");
  const auto* call = engine::find_call(*state, call_id);
  // This process is the only writer, so an intent without outcome is a crash's. What can be
  // settled without a person is left to resume.
  const bool waits = call != nullptr && (call->phase == schema::CallPhase::unknown ||
                                         (call->phase == schema::CallPhase::dispatched &&
                                          call->effect == schema::Effect::uncheckable));
  if (!waits) {
    auto before = decided_before(**journal, info->session, call_id, *outcome);
    if (!before) return fail(std::move(before.error()));
    if (!*before) {
      return fail(ErrorCode::not_found,
                  fmt::format("'{}' of session {} does not wait for reconciliation; daybook audit "
                              "{} lists the calls",
                              call_id, state->session, state->session));
    }
  } else {
    DAYBOOK_TRY(record(context, **journal, *state, info->session, *call, *outcome,
                       arguments.text("--note").value_or("")));
  }
  if (arguments.flag("--json")) {
    JsonWriter writer;
    writer.begin_object().member("session", state->session).member("call", call_id);
    writer.member("outcome", *arguments.text("--outcome"));
    context.out << writer.end_object().text() << '\n';
  } else {
    context.out << fmt::format("{} is recorded as {}; go on with: daybook resume {}\n", call_id,
                               *arguments.text("--outcome"), state->session);
  }
  return kExitOk;
}

}  // namespace

Command reconcile_command() {
  return {"reconcile",
          "Say what became of a tool call that a crash interrupted",
          {{"SESSION", "name, or the start of it"}, {"CALL", "the call, such as call-3"}},
          {
              {"--outcome", ValueKind::text, "OUTCOME", "applied, not-applied or retry"},
              {"--note", ValueKind::text, "TEXT", "what you saw; the model is told"},
          },
          run};
}

}  // namespace daybook::tools
