#include <fmt/format.h>

#include <ostream>

#include "replay/replay_state.h"
#include "tools/counted.h"
#include "tools/format.h"
#include "tools/read_journal.h"
#include "tools/replay_actions.h"
#include "tools/replay_cases.h"
#include "tools/score_text.h"

namespace daybook::tools {
namespace {

/// Every summary that a replay made, with its score.
Result<int> show_replay(Context& context, const Arguments& arguments, journal::Journal& journal,
                        const SessionId& session) {
  auto state = replay::load_replay(journal, session);
  if (!state) return fail(std::move(state.error()));
  const std::size_t all = state->cases.size() * state->arms.size() * state->replicates;
  std::size_t done = 0;
  std::size_t shown = 0;
  for (const auto& [key, unit] : state->units) {
    done += unit.done ? 1 : 0;
    if (unit.attempts.empty()) continue;
    ++shown;
    const auto& last = unit.attempts.back();
    auto text = replay::attempt_text(journal, last);
    if (!text) return fail(std::move(text.error()));
    auto prepared = replay::PreparedCase::load(journal, state->cases.at(key.item));
    if (!prepared) return fail(std::move(prepared.error()));
    if (!arguments.flag("--json")) {
      context.out << fmt::format("== {} of {}, replicate {}, {}{}\n", state->arms.at(key.arm).name,
                                 state->cases[key.item], key.replicate,
                                 counted(unit.attempts.size(), "attempt"),
                                 unit.done ? "" : ", not finished");
      context.out << printable(*text) << '\n';
    }
    const ScoredUnit place{state->arms.at(key.arm).name, key.replicate, unit.attempts.size(),
                           unit.done};
    print_score(context, **prepared, *text, {*text, last.stop}, arguments.flag("--json"), &place);
  }
  if (done < all) {
    context.err << fmt::format(
        "replay {} is not finished: {} of {} made{}; go on with: daybook replay run --name {}\n",
        session.str(), done, counted(all, "summary", "summaries"),
        shown == 0 ? ", none to show" : "", session.str());
  }
  return kExitOk;
}

Result<int> show_case(Context& context, const Arguments& arguments, journal::Journal& journal,
                      const std::string& id) {
  auto prepared = replay::PreparedCase::load(journal, id);
  if (!prepared) return fail(std::move(prepared.error()));
  const auto& of = (*prepared)->recorded();
  if (!arguments.flag("--json")) {
    context.out << fmt::format("{}: {}, {}, from {}; it ended with: {}\n", id,
                               counted(of.recorded.pieces, "piece"),
                               counted((*prepared)->span_bytes(), "byte"), of.recorded.source,
                               replay::name_of(of.recorded.end));
    if (!of.recorded.missing.empty()) {
      context.out << fmt::format("not recorded: {}\n", of.recorded.missing);
    }
    context.out << (of.summary.empty() ? std::string("no summary\n")
                                       : printable(of.summary) + "\n");
  }
  print_score(context, **prepared, of.summary, {of.summary, engine::SummaryStop::kNatural},
              arguments.flag("--json"));
  return kExitOk;
}

}  // namespace

Result<int> replay_show(Context& context, const Arguments& arguments) {
  auto id = replay_operand(arguments, "a recorded compaction, or the name of a replay");
  if (!id) return fail(std::move(id.error()));
  auto journal = open_for_reading(context, arguments);
  if (!journal) return fail(std::move(journal.error()));
  if (id->find('@') != std::string::npos) {
    auto whole = wanted_case(**journal, *id);
    if (!whole) return fail(std::move(whole.error()));
    return show_case(context, arguments, **journal, *whole);
  }
  auto info = find_session(**journal, *id);
  if (!info) return fail(std::move(info.error()));
  return show_replay(context, arguments, **journal, info->session);
}

}  // namespace daybook::tools
