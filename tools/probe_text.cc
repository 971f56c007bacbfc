#include "tools/probe_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "tools/counted.h"
#include "tools/json_writer.h"
#include "tools/replay_host.h"
#include "tools/table.h"

namespace daybook::tools {
namespace {

using replay::ProbeArm;
using replay::ProbeLayer;
using replay::ProbeReport;

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(std::size_t part, std::size_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.0f}%", share(part, whole) * 100);
}

std::string mean(double sum, std::size_t count) {
  return count == 0 ? "-" : fmt::format("{:.2f}", sum / static_cast<double>(count));
}

bool has(const replay::ProbeWish& wish, ProbeLayer layer) {
  return std::ranges::find(wish.layers, layer) != wish.layers.end();
}

void print_questions(Context& context, const ProbeReport& report) {
  Table table({"ARM", "ANSWERS", "NO ANSWER", "RIGHT", "WRONG", "NOT KNOWN", "IN THE BLOCK", "GAP"},
              0);
  for (const ProbeArm& arm : report.arms) {
    const auto& q = arm.questions;
    if (q.answers + q.unanswered == 0) continue;
    const double gap = (share(q.in_block, q.answers) - share(q.right, q.answers)) * 100;
    // Of no answers there is none.
    const std::string points = q.answers == 0 ? "-" : fmt::format("{:+.0f} points", gap);
    table.add({arm.name, std::to_string(q.answers), std::to_string(q.unanswered),
               percent(q.right, q.answers), percent(q.wrong, q.answers),
               percent(q.not_known, q.answers), percent(q.in_block, q.answers), points});
  }
  context.out << "closed questions, answered from the block alone:\n";
  table.print(context.out, context.columns, context.colour());
}

void print_next_steps(Context& context, const ProbeReport& report) {
  Table table({"ARM", "ANSWERS", "NO ANSWER", "READABLE", "SAME TOOL", "SAME TARGET", "ARGUMENTS",
               "REPEATS"},
              0);
  for (const ProbeArm& arm : report.arms) {
    const auto& n = arm.next_step;
    if (n.answers + n.unanswered == 0) continue;
    table.add({arm.name, std::to_string(n.answers), std::to_string(n.unanswered),
               percent(n.readable, n.answers), percent(n.tool, n.answers),
               percent(n.target, n.answers), mean(n.similarity, n.answers),
               percent(n.repeats, n.answers)});
  }
  context.out << "the next tool call, against the recorded one:\n";
  table.print(context.out, context.columns, context.colour());
}

void print_judge(Context& context, const ProbeReport& report) {
  std::vector<std::string> headings = {"ARM", "ANSWERS", "NO ANSWER"};
  for (const auto name : replay::kQualityNames) {
    std::string heading(name);
    for (char& c : heading) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    headings.push_back(std::move(heading));
  }
  headings.insert(headings.end(), {"UNPROVEN", "UNREADABLE"});
  Table table(headings, 0);
  for (const ProbeArm& arm : report.arms) {
    const auto& j = arm.judge;
    if (j.answers + j.unanswered == 0) continue;
    std::vector<std::string> cells = {arm.name, std::to_string(j.answers),
                                      std::to_string(j.unanswered)};
    for (std::size_t i = 0; i < replay::kQualities; ++i) {
      cells.push_back(mean(static_cast<double>(j.sums.at(i)), j.grades.at(i)));
    }
    cells.push_back(std::to_string(j.unproven));
    cells.push_back(std::to_string(j.unreadable));
    table.add(cells);
  }
  context.out
      << "grades of the judge, 0 to 5 (not calibrated against people: they compare arms, and "
         "say nothing of how good a summary is):\n";
  table.print(context.out, context.columns, context.colour());
}

std::string_view figure_of(ProbeLayer layer) {
  switch (layer) {
    case ProbeLayer::questions:
      return "right answers";
    case ProbeLayer::next_step:
      return "same target";
    case ProbeLayer::judge:
      return "mean grade";
  }
  return "";
}

void print_pairs(Context& context, const ProbeReport& report) {
  for (const auto& pair : report.pairs) {
    const bool grades = pair.layer == ProbeLayer::judge;
    const double scale = grades ? 1 : 100;
    const std::string interval =
        pair.difference.interval
            ? fmt::format("95% interval {:+.1f} to {:+.1f}", pair.difference.interval->low * scale,
                          pair.difference.interval->high * scale)
            : "no interval: the sessions are too few or too alike";
    context.out << fmt::format(
        "{}, {} less {}: {:+.1f}{}, {} ({} of {}); Wilcoxon p = {:.4f}, with all "
        "comparisons (Holm) p = {:.4f}: {}\n",
        figure_of(pair.layer), report.arms[pair.b].name, report.arms[pair.a].name,
        pair.difference.mean * scale, grades ? "" : " points", interval,
        counted(pair.difference.pairs, "pair"), counted(pair.difference.clusters, "session"),
        pair.p, pair.p_holm, pair.p_holm < 0.05 ? "differ" : "no difference shown");
  }
}

void print_gaps(Context& context, const replay::ProbeGaps& gaps) {
  const auto tell = [&](std::size_t count, std::string_view why) {
    if (count > 0) context.out << fmt::format("not asked: {} of the summaries, {}\n", count, why);
  };
  tell(gaps.not_made, "which are not made yet");
  tell(gaps.refused, "which the gate refused");
  tell(gaps.no_questions, "whose history holds no fact to ask about (questions)");
  tell(gaps.no_next_step, "after which the session called no tool (next-step)");
  for (const auto& arm : gaps.family) {
    context.out << fmt::format(
        "not judged: arm {}, whose model is of the judge's own family; name another --model\n",
        arm);
  }
}

void add_gaps(JsonWriter& out, const replay::ProbeGaps& gaps) {
  out.key("not_asked").begin_object();
  out.member("not_made", std::uint64_t{gaps.not_made});
  out.member("refused", std::uint64_t{gaps.refused});
  out.member("no_questions", std::uint64_t{gaps.no_questions});
  out.member("no_next_step", std::uint64_t{gaps.no_next_step});
  out.key("own_family").begin_array();
  for (const auto& arm : gaps.family) out.value(arm);
  out.end_array().end_object();
}

void add_arm(JsonWriter& out, const ProbeArm& arm) {
  const auto& q = arm.questions;
  const auto& n = arm.next_step;
  const auto& j = arm.judge;
  out.begin_object().member("arm", arm.name);
  out.key("questions").begin_object();
  out.member("unanswered", std::uint64_t{q.unanswered});
  out.member("answers", std::uint64_t{q.answers}).member("right", std::uint64_t{q.right});
  out.member("wrong", std::uint64_t{q.wrong}).member("not_known", std::uint64_t{q.not_known});
  out.member("in_block", std::uint64_t{q.in_block}).end_object();
  out.key("next_step").begin_object();
  out.member("unanswered", std::uint64_t{n.unanswered});
  out.member("answers", std::uint64_t{n.answers}).member("readable", std::uint64_t{n.readable});
  out.member("same_tool", std::uint64_t{n.tool}).member("same_target", std::uint64_t{n.target});
  out.member("repeats", std::uint64_t{n.repeats});
  out.key("similarity")
      .raw(fmt::format("{:.6f}",
                       n.answers == 0 ? 0 : n.similarity / static_cast<double>(n.answers)));
  out.end_object().key("judge").begin_object();
  out.member("unanswered", std::uint64_t{j.unanswered});
  out.member("answers", std::uint64_t{j.answers});
  for (std::size_t i = 0; i < replay::kQualities; ++i) {
    if (j.grades.at(i) == 0) continue;
    std::string name(replay::kQualityNames.at(i));
    std::ranges::replace(name, ' ', '_');
    out.key(name).raw(fmt::format("{:.6f}", share(j.sums.at(i), j.grades.at(i))));
  }
  out.member("unreadable", std::uint64_t{j.unreadable});
  out.member("unproven", std::uint64_t{j.unproven}).end_object().end_object();
}

void add_pair(JsonWriter& out, const ProbeReport& report, const replay::ProbePair& pair) {
  const auto number = [&](const char* name, double value) {
    out.key(name).raw(fmt::format("{:.6f}", value));
  };
  out.begin_object().member("layer", name_of(pair.layer));
  out.member("a", report.arms[pair.a].name).member("b", report.arms[pair.b].name);
  out.member("pairs", std::uint64_t{pair.difference.pairs});
  number("difference", pair.difference.mean);
  if (pair.difference.interval) {
    number("low", pair.difference.interval->low);
    number("high", pair.difference.interval->high);
  }
  number("wilcoxon_p", pair.p);
  number("holm_p", pair.p_holm);
  out.end_object();
}

}  // namespace

void print_plan(Context& context, const replay::ProbeWish& wish, const replay::ProbePlan& plan) {
  const std::string cost = plan.most.unpriced_tokens > 0
                               ? "what they cost is not known: there is no price for the model"
                               : fmt::format("they cost {} at most", plan.most.money.shown());
  context.out << fmt::format(
      "{} of {} would be made ({} answered already): {} bytes of prompts, and replies of "
      "at most {} tokens; {}. Make them with --yes\n",
      counted(plan.probes - plan.answered, "call"), wish.model, plan.answered, plan.bytes,
      plan.reply_tokens, cost);
  print_gaps(context, plan.gaps);
}

std::string plan_json(const SessionId& session, const replay::ProbeWish& wish,
                      const replay::ProbePlan& plan) {
  JsonWriter out;
  out.begin_object().member("replay", session.str()).member("model", wish.model);
  out.member("calls", std::uint64_t{plan.probes - plan.answered});
  out.member("answered", std::uint64_t{plan.answered});
  out.member("prompt_bytes", plan.bytes).member("reply_tokens", plan.reply_tokens);
  if (plan.most.unpriced_tokens == 0) out.member("most_usd", plan.most.money.exact());
  add_gaps(out, plan.gaps);
  return out.end_object().text();
}

void print_probes(Context& context, const replay::ProbeWish& wish, const ProbeReport& report,
                  const replay::ProbeAnswers& answers) {
  context.out << fmt::format("{} of {} answered by {}; all probes of this replay: {}, {}\n",
                             report.answered, counted(report.probes, "probe"), wish.model,
                             counted(answers.calls, "call"), shown(answers.spent));
  if (has(wish, ProbeLayer::questions)) print_questions(context, report);
  if (has(wish, ProbeLayer::next_step)) print_next_steps(context, report);
  if (has(wish, ProbeLayer::judge)) print_judge(context, report);
  print_pairs(context, report);
  print_gaps(context, report.gaps);
}

std::string probe_json(const SessionId& session, const replay::ProbeWish& wish,
                       const ProbeReport& report, const replay::ProbeAnswers& answers,
                       const replay::ProbeOutcome& outcome) {
  const bool all = report.answered == report.probes;
  const std::string_view end = outcome.end == replay::CallEnd::stopped    ? "stopped"
                               : outcome.end == replay::CallEnd::too_dear ? "max-cost"
                               : all                                      ? "done"
                                                                          : "unfinished";
  JsonWriter out;
  out.begin_object().member("replay", session.str()).member("model", wish.model);
  out.member("probe_version", replay::kProbeVersion);
  out.member("probes", std::uint64_t{report.probes});
  out.member("answered", std::uint64_t{report.answered}).member("end", end);
  out.member("refused", std::uint64_t{outcome.refused});
  out.member("calls", std::uint64_t{answers.calls}).member("cost_usd", answers.spent.money.exact());
  out.member("unpriced_tokens", answers.spent.unpriced_tokens);
  out.member("unknown_calls", std::uint64_t{answers.spent.unknown_calls});
  out.member("at_most_calls", std::uint64_t{answers.spent.at_most_calls});
  out.key("arms").begin_array();
  for (const auto& arm : report.arms) add_arm(out, arm);
  out.end_array().key("pairs").begin_array();
  for (const auto& pair : report.pairs) add_pair(out, report, pair);
  out.end_array();
  add_gaps(out, report.gaps);
  return out.end_object().text();
}

}  // namespace daybook::tools
