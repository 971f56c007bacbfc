#include "replay/call_table.h"

#include <algorithm>
#include <tuple>

namespace daybook::replay {
namespace {

constexpr std::size_t kFirstSlots = 1024;
constexpr std::uint64_t kMostStored = ~std::uint32_t{0};

using Member = std::optional<std::uint64_t> CallUsage::*;
constexpr std::array<Member, 8> kMembers = {&CallUsage::input_uncached, &CallUsage::input_total,
                                            &CallUsage::cache_read,     &CallUsage::cache_write,
                                            &CallUsage::cache_write_5m, &CallUsage::cache_write_1h,
                                            &CallUsage::output,         &CallUsage::web_searches};
constexpr std::size_t kOutput = 6;
constexpr std::uint16_t kSearchesOpen = 1u << 8;  // in StoredCall::present

/// Texts joined so that different ones never join to the same.
std::string joined(std::initializer_list<std::string_view> parts) {
  constexpr std::size_t kMostLengthText = 20;
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size() + kMostLengthText + 1;
  std::string key;
  key.reserve(size);
  for (const std::string_view part : parts) {
    key += std::to_string(part.size());
    key += ':';
    key += part;
  }
  return key;
}

template <class Value>
std::uint32_t intern(std::unordered_map<std::string, std::uint32_t>& indexes,
                     std::vector<Value>& values, std::string key, const Value& value) {
  const auto [found, added] =
      indexes.try_emplace(std::move(key), static_cast<std::uint32_t>(values.size()));
  if (added) values.push_back(value);
  return found->second;
}

/// Ids are made of times and digests; multiplying spreads those that differ in few bits.
std::uint64_t hash_of(const Uuid& id) {
  return (id.hi ^ id.lo * 0x9e3779b97f4a7c15U) * 0xd6e8feb86659fd93U;
}

auto session_order(const CallSession& it) {
  return std::tie(it.kind, it.id, it.stored, it.parent, it.relation, it.project, it.agent,
                  it.title);
}

auto names_order(const CallNames& it) {
  return std::tie(it.provider, it.provider_kind, it.model, it.service_tier, it.speed, it.region);
}

/// Imports of older builds named a model that a log does not tell.
std::string_view model_of(const Call& call) {
  return call.model() == "unknown" ? std::string_view() : call.model();
}

bool same_names(const Call& call, const CallNames& it) {
  return model_of(call) == it.model && call.provider == it.provider &&
         call.provider_kind == it.provider_kind && call.usage.service_tier == it.service_tier &&
         call.usage.speed == it.speed && call.usage.region == it.region;
}

}  // namespace

std::uint32_t CallTable::session_index(const Call& call) {
  if (call.session == last_session_ && last_session_ != nullptr) return last_session_index_;
  static const CallSession kNone;
  const CallSession& it = call.session == nullptr ? kNone : *call.session;
  const char relation = static_cast<char>(it.relation);
  last_session_index_ =
      intern(session_indexes_, sessions_,
             joined({it.kind, it.id, it.stored, it.parent, std::string_view(&relation, 1),
                     it.project, it.agent, it.title}),
             it);
  last_session_ = call.session;
  return last_session_index_;
}

std::uint32_t CallTable::names_index(const Call& call) {
  if (last_names_index_ && same_names(call, names_[*last_names_index_])) return *last_names_index_;
  const CallNames names{call.provider,           call.provider_kind, std::string(model_of(call)),
                        call.usage.service_tier, call.usage.speed,   call.usage.region};
  last_names_index_ = intern(names_indexes_, names_,
                             joined({names.provider, names.provider_kind, names.model,
                                     names.service_tier, names.speed, names.region}),
                             names);
  return *last_names_index_;
}

std::uint32_t CallTable::tools_index(const Call& call) {
  const std::string text = called_tools(call);
  return intern(tools_indexes_, tools_, text, text);
}

StoredCall CallTable::stored(const Call& call) {
  StoredCall made;
  made.id = call.id;
  made.started_at = call.started_at;
  made.session = session_index(call);
  made.names = names_index(call);
  made.tools = tools_index(call);
  made.authority = call.usage.authority;
  made.answered = call.answered;
  for (std::size_t i = 0; i < kMembers.size(); ++i) {
    const auto& count = call.usage.*kMembers[i];
    if (!count) continue;
    made.present = static_cast<std::uint16_t>(made.present | 1u << i);
    made.counts[i] = static_cast<std::uint32_t>(std::min(*count, kMostStored));
  }
  if (call.usage.searches_open) made.present |= kSearchesOpen;
  return made;
}

CallUsage CallTable::usage_of(const StoredCall& call) const {
  CallUsage usage;
  for (std::size_t i = 0; i < kMembers.size(); ++i) {
    if ((call.present >> i & 1) != 0) usage.*kMembers[i] = call.counts[i];
  }
  usage.searches_open = (call.present & kSearchesOpen) != 0;
  usage.authority = call.authority;
  const CallNames& names = names_of(call);
  usage.service_tier = names.service_tier;
  usage.speed = names.speed;
  usage.region = names.region;
  return usage;
}

CopyRank CallTable::rank_of(const StoredCall& call) const {
  const bool reported = (call.present >> kOutput & 1) != 0;
  const CallSession& session = session_of(call);
  return {reported ? std::uint64_t{call.counts[kOutput]} + 1 : 0, call.authority,
          tools_of(call).size(), session.relation == schema::Relation::none,
          !session.agent.empty()};
}

bool CallTable::is_before(const StoredCall& a, const StoredCall& b) const {
  const auto sessions = [&](const StoredCall& it) { return session_order(session_of(it)); };
  if (sessions(a) != sessions(b)) return sessions(a) < sessions(b);
  const auto names = [&](const StoredCall& it) { return names_order(names_of(it)); };
  if (names(a) != names(b)) return names(a) < names(b);
  const auto rest = [&](const StoredCall& it) {
    return std::tie(tools_of(it), it.counts, it.present, it.answered);
  };
  return rest(a) < rest(b);
}

CallTable::Slot& CallTable::slot_of(const Uuid& id, std::uint64_t hash) {
  const std::size_t mask = slots_.size() - 1;
  const auto tag = static_cast<std::uint32_t>(hash);
  std::size_t at = first_slot(hash);
  while (slots_[at].call != 0 && (slots_[at].tag != tag || calls_[slots_[at].call - 1].id != id)) {
    at = (at + 1) & mask;
  }
  slots_[at].tag = tag;
  return slots_[at];
}

void CallTable::grow() {
  slots_.assign(std::max(kFirstSlots, slots_.size() * 2), Slot{});
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    slot_of(calls_[i].id, hash_of(calls_[i].id)).call = static_cast<std::uint32_t>(i + 1);
  }
}

void CallTable::add(const Call& call) {
  if ((calls_.size() + 1) * 10 > slots_.size() * 7) grow();
  const std::uint64_t hash = hash_of(call.id);
  // The slot lies anywhere in megabytes: it comes while the call is packed.
  __builtin_prefetch(&slots_[first_slot(hash)]);
  StoredCall made = stored(call);
  starts_.resize(sessions_.size());
  told_by_.resize(sessions_.size());
  starts_[made.session].add(made.started_at);
  if (!call.again) {
    ++told_;
    ++told_by_[made.session];
  }
  Slot& slot = slot_of(call.id, hash);
  if (slot.call == 0) {
    calls_.push_back(made);
    slot.call = static_cast<std::uint32_t>(calls_.size());
    return;
  }
  merge(slot.call - 1, made);
}

void CallTable::merge(std::uint32_t into, const StoredCall& copy) {
  StoredCall& kept = calls_[into];
  const StoredCall other = kept;
  const CopyRank ranks[] = {rank_of(copy), rank_of(kept)};
  const bool equal = ranks[0] == ranks[1];
  const bool better = equal ? is_before(copy, kept) : ranks[0].is_over(ranks[1]);
  if (better) kept = copy;
  const bool apart = !Originals::same(session_of(copy), session_of(other));
  if (equal && apart) ties_.emplace_back(into, better ? other : copy);
  const std::int64_t a = other.started_at, b = copy.started_at;
  kept.started_at = a == 0 ? b : b == 0 ? a : std::min(a, b);
}

void CallTable::settle() {
  if (ties_.empty()) return;
  Originals originals;
  for (std::size_t i = 0; i < sessions_.size(); ++i) originals.note(sessions_[i], starts_[i]);
  for (const auto& [index, copy] : ties_) {
    StoredCall& kept = calls_[index];
    // Of those that were equal once, a better one may have come.
    if (rank_of(copy) != rank_of(kept)) continue;
    const CallSession &a = session_of(copy), &b = session_of(kept);
    const bool better =
        originals.is_before(a, b) || (Originals::same(a, b) && is_before(copy, kept));
    if (!better) continue;
    const std::int64_t earliest = kept.started_at;
    kept = copy;
    kept.started_at = earliest;
  }
  ties_.clear();
}

std::uint64_t CallTable::copies_in(std::string_view session) const {
  std::uint64_t copies = 0;
  for (std::size_t i = 0; i < told_by_.size(); ++i) {
    if (sessions_[i].name() == session) copies += told_by_[i];
  }
  for (const StoredCall& call : calls_) {
    if (session_of(call).name() == session && copies > 0) --copies;
  }
  return copies;
}

std::size_t CallTable::memory() const {
  std::size_t bytes =
      calls_.capacity() * sizeof(StoredCall) + slots_.capacity() * sizeof(slots_[0]);
  bytes += sessions_.capacity() * sizeof(CallSession) + names_.capacity() * sizeof(CallNames);
  for (const auto& text : tools_) bytes += sizeof(std::string) + text.capacity();
  for (const auto* indexes : {&session_indexes_, &names_indexes_, &tools_indexes_}) {
    for (const auto& [key, index] : *indexes) bytes += 2 * sizeof(std::string) + key.capacity();
  }
  return bytes;
}

}  // namespace daybook::replay
