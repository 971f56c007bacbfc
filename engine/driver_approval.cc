#include <fmt/format.h>

#include "engine/await.h"
#include "engine/driver_impl.h"
#include "engine/events.h"
#include "schema/utf8.h"

namespace daybook::engine {

using journal::Batch;
using Kind = TurnReport::Kind;

namespace {
constexpr std::size_t kSummaryBytes = 100;

/// The shell's folder lasts from one command to the next; other tools work in the workspace.
std::string call_folder(const SessionState& state, std::string_view tool) {
  if (tool == "run_shell" && !state.shell_cwd.empty()) return state.shell_cwd;
  return state.policy->roots.empty() ? std::string() : state.policy->roots.front()->path;
}
}  // namespace

Driver::Impl::Report Driver::Impl::ask_approval(step::AskApproval step) {
  auto request = tool_request(*find_call(state_, step.call_id));
  if (!request) co_return fail(std::move(request.error()));
  Question question{
      state_.session,
      step.call_id,
      request->tool,
      request->arguments,
      fmt::format("{} {}", request->tool, first_line(request->arguments, kSummaryBytes)),
      call_folder(state_, request->tool)};
  if (!step.asked) {
    // Nobody is asked about what cannot run whatever they answer.
    const auto plan = co_await plan_one(*request);
    if (!*plan) {
      step::RefuseCall refusal{step.call_id, "The call was not run: " + plan->error().message};
      co_return co_await refuse_call(std::move(refusal));
    }
    Batch batch;
    schema::ApprovalRequestedT event;
    event.call_id = step.call_id;
    event.tool = request->tool;
    event.arguments_digest =
        std::make_unique<schema::Digest>(*find_call(state_, step.call_id)->arguments_digest);
    event.summary = question.summary;
    event.policy_generation = state_.policy->generation;
    batch.add(in_turn(std::move(event)));
    if (auto ok = co_await append(std::move(batch)); !ok) co_return fail(std::move(ok.error()));
  }
  if (signals_.stop) co_return std::nullopt;
  auto answer = co_await await_callback<Answer>(
      io_, [&](auto done) { world_.approver.ask(question, std::move(done)); });
  if (answer.kind == Answer::Kind::unavailable) {
    co_return TurnReport{Kind::needs_approval, "", false, "", {step.call_id}};
  }
  if (answer.kind == Answer::Kind::cancelled) {
    if (!signals_.stop) stop("the question was cancelled");
    co_return std::nullopt;
  }
  const CallState& call = *find_call(state_, step.call_id);
  const bool deny = answer.kind == Answer::Kind::deny;
  Batch batch;
  schema::ApprovalDecidedT decided;
  decided.call_id = step.call_id;
  decided.arguments_digest = std::make_unique<schema::Digest>(*call.arguments_digest);
  decided.decision = deny ? schema::Decision::deny : schema::Decision::allow;
  decided.scope = answer.kind == Answer::Kind::allow_session ? schema::ApprovalScope::session
                                                             : schema::ApprovalScope::once;
  decided.actor = answer.actor;
  batch.add(in_turn(std::move(decided)));
  std::string told = "The call was not run: a person denied it.";
  if (!answer.note.empty()) told += " They said: " + answer.note;
  add_decided(batch, call, deny ? schema::Decision::deny : schema::Decision::allow, answer.actor,
              told);
  if (answer.kind == Answer::Kind::allow_session) {
    auto grants = state_.policy->grants;
    grants.push_back(call.tool);
    std::vector<executor::Root> roots;
    for (const auto& root : state_.policy->roots) roots.push_back({root->path, root->writable});
    batch.add(in_turn(policy_changed(state_.policy->generation + 1, state_.policy->mode, roots,
                                     grants, answer.actor)));
  }
  if (auto ok = co_await append(std::move(batch)); !ok) co_return fail(std::move(ok.error()));
  co_return std::nullopt;
}

}  // namespace daybook::engine
