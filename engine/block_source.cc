#include "engine/block_source.h"

namespace daybook::engine {
namespace {

template <class NativeT>
std::vector<std::unique_ptr<NativeT>> copies(const std::vector<std::unique_ptr<NativeT>>& from) {
  std::vector<std::unique_ptr<NativeT>> to;
  to.reserve(from.size());
  for (const auto& each : from) to.push_back(std::make_unique<NativeT>(*each));
  return to;
}

/// The user's messages that may be quoted: those of the last block, and those that are replaced.
Result<std::vector<UserText>> replaced_users(journal::Journal& journal, const SessionState& state,
                                             std::span<const PastItem> span) {
  std::vector<UserText> users;
  for (const auto& user : state.compaction->users) {
    auto text = journal::content_bytes(journal, user->text.get());
    if (!text) return fail(std::move(text.error()));
    users.push_back({user->version, std::move(*text)});
  }
  // The first message of the session is pinned, and needs no second place.
  bool pinned = state.compaction->committed == 0;
  for (const PastItem& item : span) {
    if (item.kind != SpanKind::kUser) continue;
    if (!std::exchange(pinned, false)) users.push_back({item.version, item.text});
  }
  return users;
}

}  // namespace

std::size_t bytes_for(const SessionState& state, std::uint64_t tokens) {
  const std::uint64_t per_mib =
      state.request->tokens_per_mib == 0 ? 1U << 18U : state.request->tokens_per_mib;
  return (tokens << 20U) / per_mib;
}

Result<SourcedBlock> source_block(journal::Journal& journal, const SessionState& state,
                                  const CompactionLimits& limits, std::span<const PastItem> span,
                                  std::string_view summary, std::string_view reason,
                                  std::string_view transcript_path) {
  const auto& c = *state.compaction;
  auto session = SessionId::parse(state.session);
  if (!session) return fail(std::move(session.error()));
  SourcedBlock sourced;
  sourced.work = {copies(c.files), copies(c.commands)};
  DAYBOOK_TRY(extend_work(journal, *session, state.workspace, c.first, c.last, sourced.work));
  auto users = replaced_users(journal, state, span);
  if (!users) return fail(std::move(users.error()));
  const auto first_prompt = journal::content_bytes(journal, state.first_prompt.get());
  if (!first_prompt) return fail(first_prompt.error());

  std::string prior;
  if (summary.empty() && c.last_summary) {
    auto text = journal::content_bytes(journal, c.last_summary.get());
    if (!text) return fail(std::move(text.error()));
    prior = std::move(*text);
  }

  const CompactionBudgets budgets = budgets_of(limits);
  BlockParts parts;
  parts.summary = summary;
  parts.prior = prior;
  parts.reason = reason;
  parts.first_prompt = *first_prompt;
  parts.users = std::move(*users);
  parts.users_left_out = c.users_left_out;
  parts.work = &sourced.work;
  parts.transcript = transcript_path;
  parts.number = c.number;
  parts.pinned_bytes = bytes_for(state, budgets.pinned);
  parts.users_bytes = bytes_for(state, budgets.users);
  parts.work_bytes = bytes_for(state, budgets.work);
  sourced.block = make_block(std::move(parts));
  return sourced;
}

}  // namespace daybook::engine
