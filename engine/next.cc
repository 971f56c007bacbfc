#include "engine/next.h"

#include <fmt/format.h>

#include <algorithm>

namespace daybook::engine {
namespace {

using executor::Risk;
using schema::CallPhase;
using schema::TurnOutcome;

/// The rule that allows a call without asking, or "" when a person must decide.
std::string rule_for(const SessionState& state, const CallState& call, const ToolTraits& traits) {
  if (traits.risk == Risk::read) return "rule:read-only";
  if (state.policy->mode == schema::ApprovalMode::bypass_approvals) return "rule:bypass-approvals";
  const auto& grants = state.policy->grants;
  if (std::find(grants.begin(), grants.end(), call.tool) != grants.end()) {
    return "grant:" + call.tool;
  }
  return "";
}

std::string known_tools(const ToolTable& tools) {
  std::string names;
  for (const auto& [name, traits] : tools) names += (names.empty() ? "" : ", ") + name;
  return names;
}

/// Why a call cannot run whatever anybody decides, or "".
std::string invalid(const CallState& call, const ToolTable& tools) {
  switch (call.arguments_state) {
    case schema::ArgumentsState::cut:
      return fmt::format(
          "The call was not run: its arguments were cut off by the output limit ({}). Send a "
          "shorter call, for example by splitting the work into several calls.",
          call.arguments_error);
    case schema::ArgumentsState::malformed:
      return fmt::format("The call was not run: its arguments cannot be used ({}).",
                         call.arguments_error);
    case schema::ArgumentsState::valid:
      break;
  }
  if (!tools.contains(call.tool)) {
    return fmt::format("The call was not run: there is no tool '{}'. Known tools: {}.", call.tool,
                       known_tools(tools));
  }
  return "";
}

bool may_run_beside(const CallState& call, const ToolTable& tools) {
  const auto found = tools.find(call.tool);
  return found != tools.end() && found->second.effect == schema::Effect::read_only &&
         !found->second.in_order && call.arguments_state == schema::ArgumentsState::valid;
}

step::EndTurn stop(const SessionState& state, const Signals& signals) {
  step::EndTurn end{TurnOutcome::interrupted, signals.reason, {}, false};
  for (const auto& call : state.calls) {
    if (call->phase == CallPhase::answered) continue;
    end.unanswered.push_back(call->call_id);
    end.clear_approvals = end.clear_approvals || call->phase == CallPhase::asked;
  }
  return end;
}

/// The longest run of calls from `first` that may run together.
step::RunCalls run_from(const SessionState& state, const ToolTable& tools, std::size_t first) {
  step::RunCalls run;
  for (std::size_t i = first; i < state.calls.size(); ++i) {
    const CallState& call = *state.calls[i];
    if (call.phase == CallPhase::answered) continue;
    if (i > first && !may_run_beside(call, tools)) break;
    const bool decided = call.phase == CallPhase::approved;
    run.items.push_back(
        {call.call_id, decided ? "" : rule_for(state, call, tools.find(call.tool)->second)});
    if (!may_run_beside(call, tools)) break;
  }
  return run;
}

Step next_for_calls(const SessionState& state, const ToolTable& tools, const Signals& signals) {
  std::vector<std::string> unknown;
  for (const auto& call : state.calls) {
    if (call->phase == CallPhase::dispatched) return step::SettleCall{call->call_id};
    if (call->phase == CallPhase::unknown) unknown.push_back(call->call_id);
  }
  if (!unknown.empty()) return step::AwaitReconcile{std::move(unknown)};
  if (signals.stop) return stop(state, signals);
  for (std::size_t i = 0; i < state.calls.size(); ++i) {
    const CallState& call = *state.calls[i];
    if (call.phase == CallPhase::answered) continue;
    if (call.phase == CallPhase::approved) return run_from(state, tools, i);
    if (auto why = invalid(call, tools); !why.empty()) {
      return step::RefuseCall{call.call_id, std::move(why)};
    }
    if (rule_for(state, call, tools.find(call.tool)->second).empty()) {
      return step::AskApproval{call.call_id, call.phase == CallPhase::asked};
    }
    return run_from(state, tools, i);
  }
  check_failed(__FILE__, __LINE__, "an answered set of calls is gathered by evolve");
}

bool has_text(const SessionState& state) {
  if (state.pending.empty()) return false;
  const auto& blocks = state.pending.back()->blocks;
  return std::any_of(blocks.begin(), blocks.end(), [](const auto& block) {
    return block->kind == schema::BlockKind::text && block->text &&
           (block->text->blob || !block->text->bytes.empty());
  });
}

Step after_reply(const SessionState& state) {
  const auto& turn = *state.turn;
  switch (turn.stop) {
    case schema::StopReason::refusal:
      return step::EndTurn{TurnOutcome::failed, "the model refused to answer", {}, false};
    case schema::StopReason::content_filter:
      return step::EndTurn{
          TurnOutcome::failed, "the provider's content filter stopped the answer", {}, false};
    default:
      break;
  }
  if (turn.stop == schema::StopReason::output_limit && !has_text(state)) {
    return step::EndTurn{TurnOutcome::failed,
                         "the output limit was used up before any text of the answer; raise "
                         "max_output_tokens or lower the reasoning setting",
                         {},
                         false};
  }
  return step::EndTurn{TurnOutcome::completed, "", {}, false};
}

std::string failure_text(const schema::TurnStateT& turn, bool compaction) {
  const std::string who = fmt::format("{}:{}", turn.provider, turn.model);
  if (turn.failure == schema::FailureKind::authentication) {
    return fmt::format("{} refused the key: {}", who, turn.failure_message);
  }
  if (turn.failure != schema::FailureKind::context_overflow) {
    return fmt::format("{}: {}", who, turn.failure_message);
  }
  return fmt::format(
      "the session no longer fits the model's context window, and compaction {} (the provider "
      "said: "
      "{}); resume with {}, or start a new session",
      compaction ? "cannot make it shorter" : "is off", turn.failure_message,
      compaction ? "a model whose window is larger" : "compaction = \"auto\"");
}

bool retryable(schema::FailureKind kind) {
  using enum schema::FailureKind;
  return kind == retryable_status || kind == connection || kind == stream_cut;
}

std::string rejection(const schema::CompactionStateT& compaction) {
  std::string codes;
  for (const auto& finding : compaction.findings) {
    if (codes.find(finding->code) != std::string::npos) continue;
    codes += (codes.empty() ? "" : ", ") + finding->code;
  }
  return fmt::format("{} summaries were not accepted, the last for {}", compaction.replies, codes);
}

Step next_for_compaction(const SessionState& state, const Signals& signals, const Limits& limits) {
  const auto& c = *state.compaction;
  if (signals.stop) return step::CancelCompaction{signals.reason};
  // One that a crash left open, in a session that goes on without compaction.
  if (!limits.compaction.enabled) {
    return step::CancelCompaction{"compaction has been turned off"};
  }
  if (c.replies > 0 && c.verdict == schema::GateVerdict::usable) return step::CommitCompaction{};
  if (c.replies >= limits.compaction.max_replies) {
    return step::CommitCompaction{rejection(c), true};
  }
  // A call that a person stopped is made again by whoever goes on.
  const bool stopped = c.failure == schema::FailureKind::cancelled;
  if (c.failures > 0 && !stopped && (!retryable(c.failure) || c.failures >= limits.max_attempts)) {
    return step::CommitCompaction{
        fmt::format("the summariser could not be asked: {}", c.failure_message)};
  }
  return step::RequestSummary{c.attempts + 1, c.failures > 0 ? c.retry_at : 0};
}

}  // namespace

Step next(const SessionState& state, const ToolTable& tools, const Signals& signals,
          const Limits& limits) {
  const auto& turn = *state.turn;
  if (!turn.open) return step::Idle{};
  if (state.request->open || state.compaction->request_open) return step::AbandonModel{};
  if (state.compaction->open) return next_for_compaction(state, signals, limits);
  if (!state.calls.empty()) return next_for_calls(state, tools, signals);
  if (turn.replied) return after_reply(state);
  if (signals.stop) return stop(state, signals);
  if (turn.iterations >= turn.max_iterations) {
    return step::EndTurn{
        TurnOutcome::iteration_limit,
        fmt::format("the limit of {} model responses was reached", turn.max_iterations),
        {},
        false};
  }
  if (turn.failures > 0) {
    if (turn.failure == schema::FailureKind::cancelled) {
      return step::EndTurn{TurnOutcome::interrupted, turn.failure_message, {}, false};
    }
    const bool overflow = turn.failure == schema::FailureKind::context_overflow;
    const auto cut = overflow ? due_compaction(state, limits.compaction) : std::nullopt;
    if (cut) return step::StartCompaction{*cut};
    if (!retryable(turn.failure) || turn.failures >= limits.max_attempts) {
      return step::EndTurn{
          TurnOutcome::failed, failure_text(turn, limits.compaction.enabled), {}, false};
    }
  }
  if (auto cut = due_compaction(state, limits.compaction)) {
    return step::StartCompaction{std::move(*cut)};
  }
  return step::RequestModel{state.request->attempts + 1, turn.failures > 0 ? turn.retry_at : 0};
}

}  // namespace daybook::engine
