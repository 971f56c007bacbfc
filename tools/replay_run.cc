#include "replay/replay_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <random>

#include "engine/nearest.h"
#include "tools/bounded_text.h"
#include "tools/counted.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/open_prices.h"
#include "tools/read_journal.h"
#include "tools/replay_actions.h"
#include "tools/replay_cases.h"
#include "tools/replay_host.h"
#include "tools/session_run.h"

namespace daybook::tools {
namespace {

constexpr std::uint64_t kMostReplicates = 1'000;
constexpr std::size_t kMostArmsBytes = 1 << 20;

Result<std::string> text_of_file(const Context& context, const std::string& name) {
  const auto path = std::filesystem::path(context.current_folder) / name;
  std::ifstream in(path, std::ios::binary);
  std::string text = bounded_text(in, kMostArmsBytes);
  if (!in || std::filesystem::is_directory(path)) {
    return fail(ErrorCode::not_found,
                fmt::format("cannot read the arms file '{}'; give a TOML file, as docs/replay.md "
                            "describes it",
                            name));
  }
  if (text.size() > kMostArmsBytes) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("'{}' has more than {} bytes, which is no arms file", name, kMostArmsBytes));
  }
  return text;
}

/// The arms to compare, each with the model it calls.
Result<std::vector<replay::Arm>> chosen_arms(const Context& context, const Arguments& arguments,
                                             const engine::Config& config) {
  std::vector<replay::Arm> arms = replay::shipped_arms();
  const auto file = arguments.text("--arms");
  if (file) {
    auto text = text_of_file(context, *file);
    if (!text) return fail(std::move(text.error()));
    auto parsed = replay::parse_arms(*text, *file);
    if (!parsed) return fail(std::move(parsed.error()));
    arms = std::move(*parsed);
  }
  const auto& only = arguments.list("--only");
  for (const auto& name : only) {
    if (std::ranges::find(arms, name, &replay::Arm::name) != arms.end()) continue;
    std::vector<std::string> known;
    known.reserve(arms.size());
    for (const auto& arm : arms) known.push_back(arm.name);
    return fail(ErrorCode::invalid_argument,
                fmt::format("there is no arm '{}'{}", name, engine::suggestion(name, known)));
  }
  if (!only.empty()) {
    std::erase_if(arms,
                  [&](const auto& arm) { return std::ranges::find(only, arm.name) == only.end(); });
  }
  const std::string model = arguments.text("--model").value_or("");
  // Without a model or a file that asks for one, nothing leaves this machine.
  if (model.empty() && !file && only.empty()) {
    std::erase_if(arms, [](const auto& arm) { return !arm.mechanical; });
  }
  for (auto& arm : arms) {
    if (arm.mechanical || !arm.model.empty()) continue;
    arm.model = model.empty() ? config.model : model;
    if (!arm.model.empty()) continue;
    return fail(ErrorCode::invalid_argument,
                fmt::format("arm '{}' names no model: pass --model provider:model", arm.name));
  }
  return arms;
}

schema::ReplayStartedT started(const std::vector<replay::Arm>& arms,
                               const std::vector<engine::ResolvedModel>& models,
                               const std::vector<replay::RecordedCompaction>& cases,
                               std::uint64_t replicates, std::uint64_t seed) {
  schema::ReplayStartedT event;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    auto& to = event.arms.emplace_back(std::make_unique<schema::ReplayArmT>());
    to->name = arms[i].name;
    to->mechanical = arms[i].mechanical;
    to->shape = arms[i].shape;
    to->provider = models[i].provider.name;
    to->provider_kind = models[i].provider.kind;
    to->model = models[i].model;
    to->summary_tokens = arms[i].summary_tokens;
    to->reasoning = arms[i].reasoning;
    to->temperature = arms[i].temperature;
    to->retries = arms[i].retries;
  }
  for (const auto& each : cases) {
    auto& to = event.cases.emplace_back(std::make_unique<schema::ReplayCaseT>());
    to->session = each.session.str();
    to->version = each.version;
  }
  event.replicates = static_cast<std::uint32_t>(replicates);
  event.seed = seed;
  return event;
}

Result<std::vector<engine::ResolvedModel>> resolve(const Context& context,
                                                   const engine::Config& config,
                                                   const std::vector<replay::Arm>& arms) {
  std::vector<engine::ResolvedModel> models;
  for (const auto& arm : arms) {
    if (arm.mechanical) {
      models.emplace_back();
      continue;
    }
    auto model = resolve_replay_model(context, config, arm.model);
    if (!model) return fail(std::move(model.error()));
    models.push_back(std::move(*model));
  }
  return models;
}

void tell(Context& context, const Arguments& arguments, const SessionId& session,
          const replay::ReplayOutcome& outcome) {
  using replay::CallEnd;
  const auto& progress = outcome.progress;
  end_progress(context);
  const std::string_view end = outcome.end == CallEnd::done      ? "done"
                               : outcome.end == CallEnd::stopped ? "stopped"
                                                                 : "max-cost";
  if (arguments.flag("--json")) {
    JsonWriter out;
    out.begin_object().member("replay", session.str()).member("end", end);
    out.member("done", std::uint64_t{progress.done}).member("all", std::uint64_t{progress.all});
    out.member("cost_usd", progress.spent.money.exact());
    out.member("unpriced_tokens", progress.spent.unpriced_tokens);
    if (outcome.next_call) out.member("next_call_usd", outcome.next_call->exact());
    context.out << out.end_object().text() << '\n';
    return;
  }
  context.out << fmt::format("{} of {} made, {}; see them with: daybook replay report {}\n",
                             progress.done, counted(progress.all, "summary", "summaries"),
                             shown(progress.spent), session.str());
  if (outcome.end == CallEnd::done) return;
  if (outcome.end == CallEnd::stopped) {
    context.err << fmt::format("stopped; go on with: daybook replay run --name {}\n",
                               session.str());
  } else {
    context.err << fmt::format(
        "{}; go on with a higher one: daybook replay run --name {} --max-cost USD\n",
        too_dear(*outcome.next_call, progress.spent), session.str());
  }
}

/// What is to be run: a replay that exists, or a new one.
struct Wish {
  SessionId session;
  std::vector<replay::Arm> arms;
  std::vector<engine::ResolvedModel> models;
  std::optional<schema::ReplayStartedT> fresh;
};

Result<Wish> existing(const Context& context, const Arguments& arguments,
                      const engine::Config& config, journal::Journal& journal,
                      const SessionId& session) {
  auto state = replay::load_replay(journal, session);
  if (!state) return fail(std::move(state.error()));
  for (const char* option :
       {"--arms", "--only", "--model", "--sessions", "--replicates", "--seed"}) {
    if (arguments.list(option).empty()) continue;
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} exists and goes on as it was begun: {} does not go with it; give "
                            "another --name for a new replay",
                            session.str(), option));
  }
  auto models = resolve(context, config, state->arms);
  if (!models) return fail(std::move(models.error()));
  return Wish{session, std::move(state->arms), std::move(*models), std::nullopt};
}

/// Those with something to sum up; what is left out is said.
Result<std::vector<replay::RecordedCompaction>> replayable(
    Context& context, journal::Journal& journal, const std::vector<std::string>& sessions) {
  auto cases = wanted_compactions(journal, sessions);
  if (!cases) return cases;
  const std::size_t all = cases->size();
  std::erase_if(*cases, [](const auto& each) { return each.pieces == 0; });
  if (all == 0) {
    return fail(ErrorCode::not_found,
                "no compaction is recorded there; 'daybook replay list' shows what is");
  }
  if (cases->empty()) {
    return fail(ErrorCode::not_found,
                "nothing of what the compactions there replaced is recorded, so there is nothing "
                "to sum up; 'daybook replay list --json' says what each lacks");
  }
  if (cases->size() < all) {
    context.err << fmt::format("{} left out: nothing of what was replaced is recorded\n",
                               counted(all - cases->size(), "compaction is", "compactions are"));
  }
  return cases;
}

Result<Wish> fresh(Context& context, const Arguments& arguments, const engine::Config& config,
                   journal::Journal& journal, const SessionId& session) {
  auto arms = chosen_arms(context, arguments, config);
  if (!arms) return fail(std::move(arms.error()));
  auto models = resolve(context, config, *arms);
  if (!models) return fail(std::move(models.error()));
  auto cases = replayable(context, journal, arguments.list("--sessions"));
  if (!cases) return fail(std::move(cases.error()));
  const std::uint64_t replicates = arguments.number("--replicates").value_or(1);
  if (replicates < 1 || replicates > kMostReplicates) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("--replicates must be from 1 to {}, not {}", kMostReplicates, replicates));
  }
  auto event = started(*arms, *models, *cases, replicates, arguments.number("--seed").value_or(1));
  return Wish{session, std::move(*arms), std::move(*models), std::move(event)};
}

/// A name is taken whole: the beginning of another's is a new one, which is said.
Result<void> tell_of_near_names(Context& context, const Arguments& arguments,
                                journal::Journal& journal, const SessionId& session) {
  if (!arguments.text("--name")) return {};
  const auto near = journal.sessions(session.str());
  if (!near) return fail(near.error());
  if (near->empty()) return {};
  context.err << fmt::format(
      "'{}' is a new replay: --name takes whole names, and '{}' is another\n", session.str(),
      near->front().session.str());
  return {};
}

Result<SessionId> name_of(const Arguments& arguments) {
  if (const auto name = arguments.text("--name")) return SessionId::parse(*name);
  std::random_device random;
  return SessionId::parse(fmt::format("replay-{:08x}", random()));
}

Result<Wish> wish_of(Context& context, const Arguments& arguments, const engine::Config& config,
                     journal::Journal& journal) {
  if (!arguments.list("OPERAND").empty()) {
    return fail(ErrorCode::invalid_argument,
                "'replay run' takes no operand; name sessions with --sessions");
  }
  auto session = name_of(arguments);
  if (!session) return fail(std::move(session.error()));
  auto head = journal.head(*session);
  if (!head) return fail(std::move(head.error()));
  if (head->version > 0) return existing(context, arguments, config, journal, *session);
  DAYBOOK_TRY(tell_of_near_names(context, arguments, journal, *session));
  return fresh(context, arguments, config, journal, *session);
}

/// Opens the arms' models; a mechanical arm has none.
Result<std::vector<replay::ArmModel>> opened(ReplayHost& host, const Wish& wish) {
  std::vector<replay::ArmModel> models;
  for (const auto& model : wish.models) {
    if (model.provider.kind.empty()) {
      models.emplace_back();
      continue;
    }
    auto made = host.open(model);
    if (!made) return fail(std::move(made.error()));
    models.push_back(std::move(*made));
  }
  return models;
}

/// A limit that cannot be kept is found before anything is begun.
Result<void> check_prices(const replay::CallWorld& world, const std::vector<replay::ArmModel>& all,
                          const std::optional<replay::Money>& most) {
  if (!most) return {};
  for (const auto& model : all) {
    if (model.model == nullptr) continue;
    constexpr std::uint64_t kSome = 2;  // tokens of either class
    auto allowed = replay::allows(
        *most, {}, replay::most_for(world, model.choice, 2 * kSome, kSome), model.choice);
    if (!allowed) return fail(std::move(allowed.error()));
  }
  return {};
}

void tell_budgets(Context& context, const Wish& wish, const std::vector<replay::ArmModel>& models) {
  for (std::size_t i = 0; i < models.size(); ++i) {
    const auto& arm = wish.arms[i];
    if (models[i].model == nullptr) continue;
    const std::uint64_t budget = replay::reply_budget(arm, models[i]);
    if (budget >= arm.summary_tokens) continue;
    context.err << fmt::format(
        "arm {} asks for summaries of {}, not {}: {} has max_output_tokens = {} and "
        "context_window = {}\n",
        one_line(arm.name), counted(budget, "token"), counted(arm.summary_tokens, "token"),
        one_line(arm.model), models[i].reply, models[i].window);
  }
}

}  // namespace

Result<int> replay_run(Context& context, const Arguments& arguments) {
  const auto most = max_cost(arguments);
  if (!most) return fail(most.error());
  auto prices = open_prices(context, arguments);
  if (!prices) return fail(std::move(prices.error()));
  engine::ConfigSources sources{context.environment, context.current_folder, {}};
  sources.flags.journal = arguments.text("--journal");
  auto config = engine::load_config(sources);
  if (!config) return fail(std::move(config.error()));
  auto folder = journal_folder(context, arguments);
  if (!folder) return fail(std::move(folder.error()));
  auto journal = context.open_journal(*folder, journal::OpenMode::write);
  if (!journal) return fail(std::move(journal.error()));
  auto wish = wish_of(context, arguments, *config, **journal);
  if (!wish) return fail(std::move(wish.error()));

  ReplayHost host;
  auto models = opened(host, *wish);
  if (!models) return fail(std::move(models.error()));
  const replay::ReplayWorld world{
      host.world(context, **journal, *prices),
      [&](std::uint32_t arm) -> const replay::ArmModel& { return models->at(arm); },
      [&](const replay::ReplayProgress& progress) {
        show_progress(context, progress.done, progress.all, progress.spent);
      }};
  if (wish->fresh) {
    DAYBOOK_TRY(check_prices(world.calls, *models, *most));
    DAYBOOK_TRY(replay::start_replay(world, wish->session, context.owner, std::move(*wish->fresh)));
  }
  if (!arguments.flag("--json")) {
    context.err << "replay " << wish->session.str() << '\n';
    tell_budgets(context, *wish, *models);
  }
  auto outcome = replay::run_replay(world, wish->session, context.owner, *most);
  if (!outcome) return fail(std::move(outcome.error()));
  tell(context, arguments, wish->session, *outcome);
  return outcome->end == replay::CallEnd::done ? kExitOk : kExitInterrupted;
}

}  // namespace daybook::tools
