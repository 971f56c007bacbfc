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

/// Output as reported, an absent one below zero.
std::uint64_t output_rank(const StoredCall& call) {
  return (call.present >> kOutput & 1) != 0 ? std::uint64_t{call.counts[kOutput]} + 1 : 0;
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

std::string tools_text(const Call& call) {
  std::vector<std::string_view> called(call.tools_called.begin(), call.tools_called.end());
  if (call.usage.web_searches.value_or(0) > 0) called.push_back("web_search");
  std::ranges::sort(called);
  called.erase(std::unique(called.begin(), called.end()), called.end());
  std::string text;
  for (const std::string_view tool : called) {
    if (!text.empty()) text += '+';
    text += tool;
  }
  return text;
}

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
  std::string text = tools_text(call);
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

struct CallTable::CopyRules {
  const CallTable& table;

  CopyRank rank(const StoredCall& it) const {
    return copy_rank(output_rank(it), it.authority, table.tools_of(it).size(),
                     table.session_of(it).relation);
  }
  std::pair<std::string_view, std::string_view> session(const StoredCall& it) const {
    const CallSession& session = table.session_of(it);
    return {session.kind, session.id};
  }
  std::int64_t& start(StoredCall& it) const { return it.started_at; }
  std::int64_t start(const StoredCall& it) const { return it.started_at; }
  auto rest(const StoredCall& it) const {
    return std::tuple_cat(session_order(table.session_of(it)), names_order(table.names_of(it)),
                          std::tie(table.tools_of(it), it.counts, it.present, it.answered));
  }
};

CallTable::Slot& CallTable::slot_of(const Uuid& id, std::uint64_t hash) {
  const std::size_t mask = slots_.size() - 1;
  const auto tag = static_cast<std::uint32_t>(hash);
  std::size_t at = static_cast<std::size_t>(hash >> 20) & mask;
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
  if (!call.again) ++told_;
  StoredCall made = stored(call);
  Slot& slot = slot_of(call.id, hash_of(call.id));
  if (slot.call == 0) {
    calls_.push_back(made);
    slot.call = static_cast<std::uint32_t>(calls_.size());
    return;
  }
  ties_.merge(calls_[slot.call - 1], slot.call - 1, made, CopyRules{*this});
}

void CallTable::settle() {
  ties_.settle(calls_, CopyRules{*this});
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
