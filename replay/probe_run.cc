#include "replay/probe_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "engine/events.h"
#include "engine/summary_request.h"

namespace daybook::replay {
namespace {

constexpr std::string_view kLineage = "probe";
/// So many refusals before any answer: it is not the prompts.
constexpr std::size_t kRefusals = 3;
constexpr std::string_view kSystem =
    "You answer about the texts you are given, exactly in the form you are asked for. You call no "
    "tools.";

template <class Number>
bool take_number(std::string_view& text, Number& number, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  return true;
}

std::string lineage_of(const ProbeKey& key) {
  return fmt::format("{} {} {} {} {} {:016x} {}", kLineage, name_of(key.layer), key.unit.arm,
                     key.unit.item, key.unit.replicate, key.prompt, key.sample);
}

std::optional<ProbeKey> probe_of(std::string_view lineage, std::string model) {
  if (!lineage.starts_with(kLineage)) return std::nullopt;
  lineage.remove_prefix(kLineage.size());
  if (!lineage.starts_with(' ')) return std::nullopt;
  lineage.remove_prefix(1);
  const auto layer = layer_named(lineage.substr(0, lineage.find(' ')));
  if (!layer) return std::nullopt;
  lineage.remove_prefix(std::min(lineage.size(), name_of(*layer).size() + 1));
  ProbeKey key;
  key.model = std::move(model);
  key.layer = *layer;
  const bool read = take_number(lineage, key.unit.arm, 10) &&
                    take_number(lineage, key.unit.item, 10) &&
                    take_number(lineage, key.unit.replicate, 10) &&
                    take_number(lineage, key.prompt, 16) && take_number(lineage, key.sample, 10);
  if (!read || !lineage.empty()) return std::nullopt;
  return key;
}

/// What the probe asks for, but no more than the model's longest answer.
std::uint64_t reply_budget(const engine::ModelChoice& choice, const PlannedProbe& probe) {
  const std::uint64_t most = choice.params.max_output_tokens;
  return most == 0 ? probe.reply_tokens : std::min(most, probe.reply_tokens);
}

engine::PreparedRequest request_for(const engine::ModelChoice& choice, const PlannedProbe& probe) {
  engine::SummaryAsk ask;
  ask.max_tokens = reply_budget(choice, probe);
  return engine::prepare_prompt(engine::summariser(choice, ask), kSystem, probe.prompt);
}

/// The text of an answer as its event holds it; null when it has none.
std::unique_ptr<const schema::ContentT> text_of_answer(const schema::ModelResponded& e) {
  if (e.blocks() == nullptr) return nullptr;
  for (const auto* block : *e.blocks()) {
    if (block->kind() != schema::BlockKind::text || block->text() == nullptr) continue;
    return std::unique_ptr<const schema::ContentT>(block->text()->UnPack());
  }
  return nullptr;
}

class ProbeRunner {
 public:
  ProbeRunner(const ProbeWorld& world, const SessionId& session, const ProbeWish& wish,
              std::optional<Money> max_cost)
      : world_(world),
        session_(session),
        wish_(wish),
        max_cost_(max_cost),
        replay_(world.calls.journal, session),
        probes_(session, world.calls.prices),
        calls_(world.calls, session, [this](const journal::Entry& entry) -> Result<void> {
          probes_.take(entry);
          return replay_.take(entry);
        }) {}

  Result<ProbeOutcome> run(const std::string& owner);

 private:
  Result<bool> visit(const PlannedProbe& probe);
  Result<CallEnd> ask(const PlannedProbe& probe, std::string& refusal);
  Result<void> record(const engine::ModelOutcome& outcome);

  const ProbeWorld& world_;
  SessionId session_;
  const ProbeWish& wish_;
  std::optional<Money> max_cost_;
  ReplayFold replay_;
  ProbeFold probes_;
  RecordedCalls calls_;
  std::size_t all_ = 0;
  std::size_t done_ = 0;
  std::size_t answered_ = 0;  // by this run
  ProbeOutcome outcome_;
};

Result<void> ProbeRunner::record(const engine::ModelOutcome& outcome) {
  const std::uint64_t request = replay_.state().open_request;
  journal::Batch batch;
  if (outcome.reply) {
    batch.add(draft(engine::responded(batch, outcome, *outcome.reply, 0), 0, request));
  } else {
    batch.add(draft(engine::failed(batch, outcome.reply.error(), 0), 0, request));
  }
  return calls_.append(std::move(batch));
}

/// `refusal`: why the endpoint would not take this prompt; stays empty otherwise.
Result<CallEnd> ProbeRunner::ask(const PlannedProbe& probe, std::string& refusal) {
  const auto& choice = world_.model.choice;
  RecordedCalls::Question question;
  question.model = &world_.model;
  question.lineage = lineage_of(probe.key);
  // A scenario answers the probes in the order of the plan.
  question.number = static_cast<std::uint32_t>(done_ + 1);
  question.request = [&] { return request_for(choice, probe); };
  question.allowed = [&](const engine::PreparedRequest& request) -> Result<bool> {
    if (!max_cost_) return true;
    const Spent most =
        most_for(world_.calls, choice, request.event.body_size, reply_budget(choice, probe));
    auto allowed = allows(*max_cost_, probes_.answers().spent, most, choice);
    if (allowed && !*allowed) outcome_.next_call = most.money;
    return allowed;
  };
  question.record = [&](const engine::ModelOutcome& outcome, bool last) {
    if (last && !outcome.reply) refusal = told(choice, outcome.reply.error());
    return record(outcome);
  };
  return calls_.ask(question);
}

Result<bool> ProbeRunner::visit(const PlannedProbe& probe) {
  if (probes_.answers().by_key.count(probe.key) == 0) {
    if (world_.calls.stopped()) {
      outcome_.end = CallEnd::stopped;
      return false;
    }
    std::string refusal;
    auto end = ask(probe, refusal);
    if (!end && end.error().code == ErrorCode::io) {
      return fail(ErrorCode::io,
                  fmt::format("{}; what is answered stays, and the same command goes on",
                              end.error().message));
    }
    if (!end) return fail(std::move(end.error()));
    outcome_.end = *end;
    if (outcome_.end != CallEnd::done) return false;
    if (refusal.empty()) {
      ++answered_;
    } else {
      outcome_.refusal = std::move(refusal);
      if (++outcome_.refused >= kRefusals && answered_ == 0) {
        return fail(ErrorCode::io, outcome_.refusal);
      }
    }
  }
  ++done_;
  world_.progress(done_, all_, probes_.answers().spent);
  return true;
}

Result<ProbeOutcome> ProbeRunner::run(const std::string& owner) {
  DAYBOOK_TRY(calls_.load());
  const ReplayState state = replay_.state();  // probes change nothing in it
  if (state.started_at == 0) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("session {} is not a replay", session_.str()));
  }
  auto counted = plan_probes(world_.calls.journal, state, wish_, [&](const auto&) -> Result<bool> {
    ++all_;
    return true;
  });
  if (!counted) return fail(std::move(counted.error()));
  DAYBOOK_TRY(calls_.acquire(owner, schema::OwnReason::resume, state.open_request));
  auto asked = plan_probes(world_.calls.journal, state, wish_,
                           [&](const auto& probe) { return visit(probe); });
  if (!asked) return fail(std::move(asked.error()));
  DAYBOOK_TRY(calls_.release(outcome_.end == CallEnd::done ? "done" : "stopped"));
  outcome_.spent = probes_.answers().spent;
  return std::move(outcome_);
}

}  // namespace

ProbeFold::ProbeFold(const SessionId& session, const PriceBook& prices)
    : prices_(prices), calls_(session.str(), [this](Call call) {
        const auto key = probe_of(call.lineage, "");
        if (!key) return;
        ++answers_.calls;
        PaidCall paid{call.provider, call.model(), call.usage, call.started_at, call.answered};
        if (may_be_billed_ && !call.usage.any()) {
          paid.usage = most_usage(body_bytes_, reply_limit_.value_or(reply_tokens(key->layer)));
          paid.at_most = true;
        }
        answers_.spent.add(prices_, paid);
      }) {}

void ProbeFold::take(const journal::Entry& entry) {
  const schema::Event& event = *entry.event;
  may_be_billed_ = may_have_been_billed(event);
  calls_.take(event);
  if (const auto* requested = event.payload_as_ModelRequested()) {
    body_bytes_ = requested->body_size();
    reply_limit_ = reply_limit_of(*requested);
    open_ =
        probe_of(text_of(requested->lineage()),
                 fmt::format("{}:{}", text_of(requested->provider()), text_of(requested->model())));
  } else if (const auto* responded = event.payload_as_ModelResponded()) {
    if (open_) {
      answers_.by_key[*open_] = {
          text_of_answer(*responded),
          engine::summary_stop(responded->stop()) == engine::SummaryStop::kNatural};
    }
    open_.reset();
  }
}

Result<ProbePlan> price_probes(const CallWorld& world, const engine::ModelChoice& choice,
                               const ReplayState& state, const ProbeAnswers& answers,
                               const ProbeWish& wish) {
  ProbePlan plan;
  auto gaps = plan_probes(world.journal, state, wish, [&](const auto& probe) -> Result<bool> {
    ++plan.probes;
    if (answers.by_key.count(probe.key) != 0) {
      ++plan.answered;
      return true;
    }
    const auto request = request_for(choice, probe);
    plan.bytes += request.event.body_size;
    plan.reply_tokens += reply_budget(choice, probe);
    const Spent most =
        most_for(world, choice, request.event.body_size, reply_budget(choice, probe));
    plan.most.money += most.money;
    plan.most.unpriced_tokens += most.unpriced_tokens;
    return true;
  });
  if (!gaps) return fail(std::move(gaps.error()));
  plan.gaps = std::move(*gaps);
  return plan;
}

Result<ProbeOutcome> run_probes(const ProbeWorld& world, const SessionId& session,
                                const std::string& owner, const ProbeWish& wish,
                                std::optional<Money> max_cost) {
  return ProbeRunner(world, session, wish, max_cost).run(owner);
}

}  // namespace daybook::replay
