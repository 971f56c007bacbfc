#include "replay/replay_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "engine/summary_request.h"

namespace daybook::replay {
namespace {

constexpr std::string_view kLineage = "replay";

/// splitmix64: the same order everywhere for one seed.
std::uint64_t draw(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

Arm arm_of(const schema::ReplayArm& from) {
  Arm arm;
  arm.name = text_of(from.name());
  arm.mechanical = from.mechanical();
  arm.shape = from.shape();
  if (!arm.mechanical) {
    arm.model = fmt::format("{}:{}", text_of(from.provider()), text_of(from.model()));
  }
  arm.summary_tokens = static_cast<std::uint32_t>(from.summary_tokens());
  arm.reasoning = text_of(from.reasoning());
  arm.temperature = text_of(from.temperature());
  arm.retries = from.retries();
  return arm;
}

}  // namespace

std::string code_of(engine::GateCode code) {
  return fmt::format("{}-{}", check_of(code), name_of(code));
}

std::string lineage_of(const UnitKey& key) {
  return fmt::format("{} {} {} {}", kLineage, key.arm, key.item, key.replicate);
}

std::optional<UnitKey> unit_of(std::string_view lineage) {
  if (!lineage.starts_with(kLineage)) return std::nullopt;
  lineage.remove_prefix(kLineage.size());
  UnitKey key;
  for (std::uint32_t* part : {&key.arm, &key.item, &key.replicate}) {
    if (!lineage.starts_with(' ')) return std::nullopt;
    lineage.remove_prefix(1);
    const auto [end, error] =
        std::from_chars(lineage.data(), lineage.data() + lineage.size(), *part);
    if (error != std::errc()) return std::nullopt;
    lineage.remove_prefix(static_cast<std::size_t>(end - lineage.data()));
  }
  if (!lineage.empty()) return std::nullopt;
  return key;
}

std::vector<UnitKey> ReplayState::order() const {
  std::vector<UnitKey> keys;
  for (std::uint32_t item = 0; item < cases.size(); ++item) {
    for (std::uint32_t arm = 0; arm < arms.size(); ++arm) {
      for (std::uint32_t replicate = 1; replicate <= replicates; ++replicate) {
        keys.push_back({arm, item, replicate});
      }
    }
  }
  std::uint64_t random = seed;
  for (std::size_t i = keys.size(); i > 1; --i) std::swap(keys[i - 1], keys[draw(random) % i]);
  return keys;
}

ReplayFold::ReplayFold(journal::Journal& journal, const SessionId& session)
    : journal_(journal), calls_(session.str(), [this](Call call) {
        const auto key = unit_of(call.lineage);
        if (!key) return;
        PaidCall paid{call.provider, call.model(), call.usage, call.started_at, call.answered};
        if (may_be_billed_ && !call.usage.any() && key->arm < state_.arms.size()) {
          paid.usage = most_usage(body_bytes_, reply_tokens_);
          paid.at_most = true;
        }
        state_.units[*key].calls.push_back(std::move(paid));
      }) {}

Result<void> ReplayFold::attempted(const journal::Entry& entry, const schema::ReplayAttempted& e) {
  const UnitKey key{e.arm(), e.item(), e.replicate()};
  AttemptMade made;
  made.version = entry.version;
  made.request = e.request();
  made.verdict = e.verdict();
  if (e.summary() != nullptr) made.summary.reset(e.summary()->UnPack());
  made.gate_version = e.gate_version();
  if (e.request() != 0) made.stop = engine::summary_stop(stop_);
  if (e.findings() != nullptr) {
    for (const auto* finding : *e.findings()) {
      made.codes.emplace_back(text_of(finding->code()));
      made.evidence.emplace_back(text_of(finding->evidence()));
      made.repair +=
          fmt::format("- {}: {}\n", text_of(finding->code()), text_of(finding->evidence()));
    }
  }
  auto& unit = state_.units[key];
  unit.attempts.push_back(std::move(made));
  unit.done = e.last();
  return {};
}

void ReplayFold::requested(const journal::Entry& entry, const schema::ModelRequested& e) {
  ++state_.requests;
  body_bytes_ = e.body_size();
  state_.open_request = entry.version;
  state_.open_unit = unit_of(text_of(e.lineage()));
  if (!state_.open_unit || state_.open_unit->arm >= state_.arms.size()) return;
  const std::uint32_t arm = state_.open_unit->arm;
  const auto limit = reply_limit_of(e);
  reply_tokens_ = limit.value_or(state_.arms[arm].summary_tokens);
  if (!limit) return;
  auto& least = state_.reply_limits.emplace(arm, *limit).first->second;
  least = std::min(least, *limit);
}

Result<void> ReplayFold::take(const journal::Entry& entry) {
  const schema::Event& event = *entry.event;
  may_be_billed_ = may_have_been_billed(event);
  calls_.take(event);
  if (const auto* started = event.payload_as_ReplayStarted()) {
    state_.started_at = entry.version;
    state_.replicates = started->replicates();
    state_.seed = started->seed();
    if (started->arms() != nullptr) {
      for (const auto* arm : *started->arms()) state_.arms.push_back(arm_of(*arm));
    }
    if (started->cases() != nullptr) {
      for (const auto* item : *started->cases()) {
        state_.cases.push_back(fmt::format("{}@{}", text_of(item->session()), item->version()));
      }
    }
  } else if (const auto* asked = event.payload_as_ModelRequested()) {
    requested(entry, *asked);
  } else if (const auto* attempt = event.payload_as_ReplayAttempted()) {
    return attempted(entry, *attempt);
  } else if (const auto* responded = event.payload_as_ModelResponded()) {
    stop_ = responded->stop();
    state_.open_request = 0;
    state_.open_unit.reset();
  } else if (event.payload_type() == schema::Payload::ModelFailed ||
             event.payload_type() == schema::Payload::ModelAbandoned) {
    state_.open_request = 0;
    state_.open_unit.reset();
  }
  return {};
}

Result<ReplayState> load_replay(journal::Journal& journal, const SessionId& session) {
  ReplayFold fold(journal, session);
  Result<void> status;
  auto read = journal.read(session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    status = fold.take(entry);
    return status.has_value();
  });
  if (!read) return fail(std::move(read.error()));
  if (!status) return fail(std::move(status.error()));
  if (fold.state().started_at == 0) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("session {} is not a replay; 'daybook sessions' marks those that are",
                            session.str()));
  }
  return fold.state();
}

Result<std::string> attempt_text(journal::Journal& journal, const AttemptMade& attempt) {
  return journal::content_bytes(journal, attempt.summary.get());
}

}  // namespace daybook::replay
