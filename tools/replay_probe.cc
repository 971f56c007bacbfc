#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "engine/config.h"
#include "engine/nearest.h"
#include "engine/script_model.h"
#include "replay/probe_report.h"
#include "tools/counted.h"
#include "tools/open_prices.h"
#include "tools/probe_text.h"
#include "tools/read_journal.h"
#include "tools/replay_actions.h"
#include "tools/replay_host.h"
#include "tools/session_run.h"

namespace daybook::tools {
namespace {

constexpr std::uint64_t kMostQuestions = 64;
constexpr std::uint64_t kMostSamples = 100;
/// Share of the judge's window that transcript and block may take, in percent.
constexpr std::uint64_t kJudgeShare = 60;
constexpr std::size_t kBytesPerToken = 4;

Result<std::vector<replay::ProbeLayer>> layers_of(const Arguments& arguments) {
  std::vector<replay::ProbeLayer> layers;
  std::vector<std::string> known;
  for (std::size_t i = 0; i < replay::kProbeLayers; ++i) {
    layers.push_back(static_cast<replay::ProbeLayer>(i));
    known.emplace_back(name_of(layers.back()));
  }
  if (arguments.list("--layer").empty()) return layers;
  layers.clear();
  for (const auto& name : arguments.list("--layer")) {
    const auto layer = replay::layer_named(name);
    if (!layer) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("there is no layer '{}'{}", name, engine::suggestion(name, known)));
    }
    layers.push_back(*layer);
  }
  return layers;
}

Result<std::uint64_t> number_of(const Arguments& arguments, std::string_view option,
                                std::uint64_t otherwise, std::uint64_t most) {
  const std::uint64_t value = arguments.number(option).value_or(otherwise);
  if (value >= 1 && value <= most) return value;
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} must be from 1 to {}, not {}", option, most, value));
}

Result<replay::ProbeWish> wish_of(const Arguments& arguments, const replay::ReplayState& state,
                                  const engine::ResolvedModel& model) {
  replay::ProbeWish wish;
  wish.model = fmt::format("{}:{}", model.provider.name, model.model);
  auto layers = layers_of(arguments);
  if (!layers) return fail(std::move(layers.error()));
  wish.layers = std::move(*layers);
  auto questions = number_of(arguments, "--questions", wish.questions, kMostQuestions);
  if (!questions) return fail(std::move(questions.error()));
  wish.questions = *questions;
  auto samples = number_of(arguments, "--replicates", wish.samples, kMostSamples);
  if (!samples) return fail(std::move(samples.error()));
  wish.samples = static_cast<std::uint32_t>(*samples);
  wish.judge_bytes = model.settings.context_window * kJudgeShare / 100 * kBytesPerToken;
  wish.only = arguments.list("--only");
  std::vector<std::string> arms;
  for (const auto& arm : state.arms) arms.push_back(arm.name);
  for (const auto& name : wish.only) {
    if (std::ranges::find(arms, name) != arms.end()) continue;
    return fail(ErrorCode::invalid_argument,
                fmt::format("the replay has no arm '{}'{}", name, engine::suggestion(name, arms)));
  }
  return wish;
}

/// Without `for_calls` no key is needed.
Result<engine::ResolvedModel> answering_model(const Context& context, const Arguments& arguments,
                                              bool for_calls) {
  const auto name = arguments.text("--model");
  if (!name) {
    return fail(ErrorCode::invalid_argument,
                "'replay probe' needs --model provider:model, the one that answers");
  }
  engine::ConfigSources sources{context.environment, context.current_folder, {}};
  sources.flags.journal = arguments.text("--journal");
  auto config = engine::load_config(sources);
  if (!config) return fail(std::move(config.error()));
  if (!for_calls) {
    for (auto& [provider, settings] : config->providers) settings.key_env.clear();
  }
  auto model = resolve_replay_model(context, *config, *name);
  // A plan needs no call, but a scenario that cannot be played is no plan.
  if (model && model->provider.kind == "script") {
    auto scenario = engine::load_scenario(model->model);
    if (!scenario) return fail(std::move(scenario.error()));
  }
  return model;
}

Result<replay::ProbeAnswers> load_answers(journal::Journal& journal, const SessionId& session,
                                          const replay::PriceBook& prices) {
  replay::ProbeFold fold(session, prices);
  auto read = journal.read(session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    fold.take(entry);
    return true;
  });
  if (!read) return fail(std::move(read.error()));
  return fold.answers();
}

/// One command's work; the journal is opened for writing only to make calls.
struct Probing {
  Context& context;
  const Arguments& arguments;
  const replay::PriceBook& prices;
  const engine::ResolvedModel& model;
  ReplayHost& host;
};

Result<int> report(const Probing& probing, journal::Journal& journal, const SessionId& session,
                   const replay::ReplayState& state, const replay::ProbeWish& wish,
                   const replay::ProbeOutcome& outcome) {
  auto answers = load_answers(journal, session, probing.prices);
  if (!answers) return fail(std::move(answers.error()));
  auto made = replay::make_probe_report(journal, state, *answers, wish);
  if (!made) return fail(std::move(made.error()));
  if (probing.arguments.flag("--json")) {
    probing.context.out << probe_json(session, wish, *made, *answers, outcome) << '\n';
  } else {
    print_probes(probing.context, wish, *made, *answers);
  }
  return kExitOk;
}

int tell_end(Context& context, const replay::ProbeOutcome& outcome) {
  if (outcome.refused > 0) {
    context.err << fmt::format(
        "not asked: {} that the endpoint would not take ({}); the same command tries again\n",
        counted(outcome.refused, "prompt"), outcome.refusal);
  }
  switch (outcome.end) {
    case replay::CallEnd::done:
      return outcome.refused == 0 ? kExitOk : kExitError;
    case replay::CallEnd::stopped:
      context.err << "stopped; the same command goes on\n";
      return kExitInterrupted;
    case replay::CallEnd::too_dear:
      context.err << fmt::format("{}; the same command with a higher one goes on\n",
                                 too_dear(*outcome.next_call, outcome.spent));
      return kExitInterrupted;
  }
  return kExitError;
}

/// Makes the calls that are missing. The exit code: whether all are made.
Result<int> make_calls(const Probing& probing, const SessionId& session,
                       const replay::ReplayState& state, const replay::ProbeWish& wish,
                       std::optional<replay::Money> most) {
  auto resolved = answering_model(probing.context, probing.arguments, true);
  if (!resolved) return fail(std::move(resolved.error()));
  auto folder = journal_folder(probing.context, probing.arguments);
  if (!folder) return fail(std::move(folder.error()));
  auto journal = probing.context.open_journal(*folder, journal::OpenMode::write);
  if (!journal) return fail(std::move(journal.error()));
  auto model = probing.host.open(*resolved);
  if (!model) return fail(std::move(model.error()));
  const replay::ProbeWorld world{
      probing.host.world(probing.context, **journal, probing.prices), *model,
      [&](std::size_t done, std::size_t all, const replay::Spent& spent) {
        show_progress(probing.context, done, all, spent);
      }};
  auto outcome = replay::run_probes(world, session, probing.context.owner, wish, most);
  end_progress(probing.context);
  if (!outcome) return fail(std::move(outcome.error()));
  auto told = report(probing, **journal, session, state, wish, *outcome);
  if (!told) return told;
  return tell_end(probing.context, *outcome);
}

Result<int> run(const Probing& probing) {
  const auto most = max_cost(probing.arguments);
  if (!most) return fail(most.error());
  auto given = replay_operand(probing.arguments, "the name of a replay");
  if (!given) return fail(std::move(given.error()));
  auto journal = open_for_reading(probing.context, probing.arguments);
  if (!journal) return fail(std::move(journal.error()));
  auto info = find_session(**journal, *given);
  if (!info) return fail(std::move(info.error()));
  auto state = replay::load_replay(**journal, info->session);
  if (!state) return fail(std::move(state.error()));
  auto wish = wish_of(probing.arguments, *state, probing.model);
  if (!wish) return fail(std::move(wish.error()));
  auto answers = load_answers(**journal, info->session, probing.prices);
  if (!answers) return fail(std::move(answers.error()));
  const auto world = probing.host.world(probing.context, **journal, probing.prices);
  auto plan = replay::price_probes(world, choice_of(probing.model), *state, *answers, *wish);
  if (!plan) return fail(std::move(plan.error()));
  const bool missing = plan->answered < plan->probes;
  if (missing && probing.arguments.flag("--yes")) {
    return make_calls(probing, info->session, *state, *wish, *most);
  }
  if (missing) {
    if (probing.arguments.flag("--json")) {
      probing.context.out << plan_json(info->session, *wish, *plan) << '\n';
      return kExitOk;
    }
    print_plan(probing.context, *wish, *plan);
    if (plan->answered == 0) return kExitOk;
  }
  return report(probing, **journal, info->session, *state, *wish, {});
}

}  // namespace

Result<int> replay_probe(Context& context, const Arguments& arguments) {
  auto prices = open_prices(context, arguments);
  if (!prices) return fail(std::move(prices.error()));
  auto model = answering_model(context, arguments, false);
  if (!model) return fail(std::move(model.error()));
  ReplayHost host;
  return run({context, arguments, *prices, *model, host});
}

}  // namespace daybook::tools
