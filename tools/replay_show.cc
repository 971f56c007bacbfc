#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "replay/replay_state.h"
#include "tools/counted.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/read_journal.h"
#include "tools/replay_actions.h"
#include "tools/replay_cases.h"
#include "tools/score_text.h"

namespace daybook::tools {
namespace {

/// A compaction without a summary has nothing to judge: what is known is why.
void show_without_summary(Context& context, const replay::CompactionCase& of, bool json) {
  const auto& recorded = of.recorded;
  if (json) {
    JsonWriter out;
    out.begin_object().member("case", recorded.id()).member("end", replay::name_of(recorded.end));
    if (!recorded.reason.empty()) out.member("reason", recorded.reason);
    context.out << out.end_object().text() << '\n';
    return;
  }
  context.out << (recorded.reason.empty()
                      ? std::string("no summary is recorded\n")
                      : fmt::format("no summary: {}\n", one_line(recorded.reason)));
  const bool goes_on = std::ranges::any_of(
      of.items, [](const auto& item) { return item.kind == engine::SpanKind::kPriorSummary; });
  if (recorded.end == replay::CompactionEnd::trimmed && goes_on) {
    context.out << "the earlier summary stands in its block\n";
  }
}

/// A unit whose call brought no reply: the recorded words on it, for there is no text to judge.
void show_without_reply(Context& context, const replay::AttemptMade& last, std::string_view id,
                        const ScoredUnit& place, bool json) {
  if (json) {
    JsonWriter out;
    out.begin_object().member("case", id).member("arm", place.arm);
    out.member("replicate", place.replicate).member("attempt", place.attempt);
    out.member("done", place.done).member("verdict", "unusable").key("findings").begin_array();
    for (std::size_t i = 0; i < last.codes.size(); ++i) {
      out.begin_object().member("code", last.codes[i]).member("evidence", last.evidence[i]);
      out.end_object();
    }
    context.out << out.end_array().end_object().text() << '\n';
    return;
  }
  context.out << "no reply\n";
  for (std::size_t i = 0; i < last.codes.size(); ++i) {
    context.out << fmt::format("  {}: {}\n", last.codes[i], one_line(last.evidence[i]));
  }
}

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
    const ScoredUnit place{state->arms.at(key.arm).name, key.replicate, unit.attempts.size(),
                           unit.done};
    if (!arguments.flag("--json")) {
      context.out << fmt::format(
          "== {} of {}, replicate {}, {}{}\n", place.arm, state->cases.at(key.item), key.replicate,
          counted(unit.attempts.size(), "attempt"), unit.done ? "" : ", not finished");
    }
    if (!last.summary) {
      show_without_reply(context, last, state->cases.at(key.item), place, arguments.flag("--json"));
      continue;
    }
    auto text = replay::attempt_text(journal, last);
    if (!text) return fail(std::move(text.error()));
    auto prepared = replay::PreparedCase::load(journal, state->cases.at(key.item));
    if (!prepared) return fail(std::move(prepared.error()));
    if (!arguments.flag("--json")) context.out << printable(*text) << '\n';
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
  }
  if (of.recorded.end != replay::CompactionEnd::summary) {
    show_without_summary(context, of, arguments.flag("--json"));
    return kExitOk;
  }
  if (!arguments.flag("--json")) context.out << printable(of.summary) << '\n';
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
