#include "replay/cache_report.h"

#include <algorithm>
#include <set>

namespace daybook::replay {
namespace {

/// What writes of an hour win back of one leaf's losses, their cost taken off.
Money won_by_hours(const HourSum& session, Leaf leaf) {
  Money won;
  for (const auto& [each, money] : session.won) won += money;
  if (won <= session.extra) return {};
  // The first of the leaves bears the cost, as far as it can.
  Money left = session.extra;
  for (const auto& [each, money] : session.won) {
    const Money borne = std::min(left, money);
    if (each == leaf) return money - borne;
    left -= borne;
  }
  return {};
}

}  // namespace

HourSum& HourSum::operator+=(const HourSum& other) {
  for (const auto which : {&HourSum::won, &HourSum::pinged, &HourSum::pinged_long}) {
    for (const auto& [leaf, money] : other.*which) (this->*which)[leaf] += money;
  }
  extra += other.extra;
  sold = sold && other.sold;
  return *this;
}

bool dearer(const MoneyRange& a, const MoneyRange& b) {
  return std::tie(a.high, a.low) > std::tie(b.high, b.low);
}

std::string introduced_by(const CallVerdict& verdict, const CachePortion& portion) {
  static constexpr std::string_view kNamed[] = {"P1", "P2", "P3", "P4", "P5", "P8", "E2", "E3"};
  if (portion.causes.relation == CauseSet::Relation::one_of) return "not decided";
  std::string out;
  for (const Leaf leaf : portion.causes.leaves) {
    const LeafInfo& info = info_of(leaf);
    const auto cause = std::ranges::find(verdict.causes, leaf, &CacheCause::leaf);
    const bool named = std::ranges::find(kNamed, info.family) != std::end(kNamed);
    if (!out.empty()) out += " + ";
    out += named && cause != verdict.causes.end() ? cause->detail : std::string(info.meaning);
  }
  return out;
}

std::string call_name(const std::string& session, std::uint64_t version, const std::string& id) {
  return version == 0 ? id : session + ':' + std::to_string(version);
}

void CacheReport::keep(CostlyCall call) {
  const auto before = [](const CostlyCall& a, const CostlyCall& b) {
    if (a.waste != b.waste) return dearer(a.waste, b.waste);
    if (a.lost != b.lost) return a.lost > b.lost;
    return std::tie(a.session, a.version) < std::tie(b.session, b.version);
  };
  costly_.insert(std::ranges::upper_bound(costly_, call, before), std::move(call));
  if (costly_.size() > kept_) costly_.pop_back();
}

void CacheReport::add(const CallVerdict& verdict, const CallMoney& money) {
  const CacheCall& call = *verdict.call;
  ++calls;
  SessionSum& session = by_session[call.session];
  ++session.calls;
  session.evidence.insert(call.evidence);
  note_money(verdict, money);
  if (!verdict.measured) {
    ++unmeasured_calls;
    ++by_cause[CauseSet::sole(Leaf::unmeasured)].calls;
    return;
  }
  contradictions += verdict.contradicted ? 1 : 0;
  const std::uint64_t lost_here = verdict.lost_tokens();
  input += verdict.input;
  read += verdict.read;
  lost += lost_here;
  CacheSum& new_here = fresh[std::string(code_of(verdict.fresh_leaf))];
  ++new_here.calls;
  new_here.tokens += verdict.fresh;
  waste += money.wasted();
  session.input += verdict.input;
  session.read += verdict.read;
  session.lost += lost_here;
  session.waste += money.wasted();
  if (!money.priced) session.unpriced_tokens += lost_here;
  std::set<const CacheSum*> met;  // a call counts once in each
  for (std::size_t i = 0; i < verdict.lost.size(); ++i) {
    const CachePortion& portion = verdict.lost[i];
    for (CacheSum* sum :
         {&by_cause[portion.causes], &by_introduced[introduced_by(verdict, portion)]}) {
      sum->calls += met.insert(sum).second ? 1 : 0;
      sum->tokens += portion.tokens;
      sum->waste += money.waste[i].point;
      if (!money.priced) sum->unpriced_tokens += portion.tokens;
    }
  }
  if (money.priced) note_hours(verdict, money);
  latest_start_[chain_key(call.session, call.lineage)] = call.sent();
  if (const auto label = vendor_verdict(call.verdict)) {
    ++vendor[{label->label, compare(*label, verdict)}];
  }
  const CachePortion* main = verdict.main_loss();
  if (main == nullptr) return;
  keep({call.id, call.session, call.version, call.start, call.scope.model, call.evidence,
        main->causes.code(), introduced_by(verdict, *main), lost_here, verdict.input,
        money.wasted(), money.priced});
}

/// What a call was paid, measured or not.
void CacheReport::note_money(const CallVerdict& verdict, const CallMoney& money) {
  const CacheCall& call = *verdict.call;
  const bool any = call.usage.any();
  without_usage += any ? 0 : 1;
  without_output += any && !call.usage.output ? 1 : 0;
  without_write += verdict.measured && money.writes_missing ? 1 : 0;
  without_searches += any && call.usage.searches_open ? 1 : 0;
  total += money.total;
  ideal += money.ideal;
  unpriced_tokens += money.unpriced_tokens;
  unpriced_calls += money.unpriced_tokens > 0 ? 1 : 0;
  searches += call.usage.web_searches.value_or(0);
  search_fees += money.searches;
  unpriced_searches += money.unpriced_searches;
  by_session[call.session].total += money.total;
}

void CacheReport::add_unreported(const CallVerdict& verdict, const CallMoney& money) {
  if (verdict.measured && money.priced) note_dearer_writes(verdict, money);
}

void CacheReport::add_copy(const CacheCall& copy) {
  const std::string& one = family_of(copy.session);
  const std::string& other = family_of(copy.original->session);
  if (one != other) related_[std::max(one, other)] = std::min(one, other);
}

const std::string& CacheReport::family_of(const std::string& session) const {
  const std::string* at = &session;
  for (auto up = related_.find(*at); up != related_.end(); up = related_.find(*at)) {
    at = &up->second;
  }
  return *at;
}

std::map<std::string, HourSum> CacheReport::hours_by_family() const {
  std::map<std::string, HourSum> sums;
  for (const auto& [session, sum] : hours_) sums[family_of(session)] += sum;
  return sums;
}

HourSum& CacheReport::note_dearer_writes(const CallVerdict& verdict, const CallMoney& money) {
  HourSum& sum = hours_[verdict.call->session];
  sum.sold = sum.sold && money.hour_extra.has_value();
  if (money.hour_extra) sum.extra += *money.hour_extra;
  return sum;
}

void CacheReport::note_hours(const CallVerdict& verdict, const CallMoney& money) {
  constexpr std::int64_t kHour = 3'600'000'000'000;
  HourSum& sum = note_dearer_writes(verdict, money);
  // Behind a longer gap the tokens would have expired as well.
  const auto before = latest_start_.find(chain_key(verdict.call->session, verdict.call->lineage));
  auto gap = verdict.gap();
  if (!gap && before != latest_start_.end()) {
    gap = gap_between(before->second, verdict.call->sent());
  }
  const bool within = gap && gap->most < kHour;
  const auto pings = keep_warm(verdict, money);
  for (std::size_t i = 0; i < verdict.lost.size(); ++i) {
    const CauseSet& causes = verdict.lost[i].causes;
    if (causes.relation != CauseSet::Relation::sole) continue;
    const Leaf leaf = causes.leaves.front();
    if (remedy_cost(leaf) != RemedyCost::hour) continue;
    const Money lost_here = money.waste[i].point.low;
    if (within) sum.won[leaf] += lost_here;
    if (!pings) continue;
    auto& pinged = within ? sum.pinged : sum.pinged_long;
    pinged[leaf] += lost_here > pings->cost ? lost_here - pings->cost : Money();
  }
}

std::optional<Money> CacheReport::recoverable(const CauseSet& causes) const {
  if (causes.relation == CauseSet::Relation::one_of) return {};
  const auto found = by_cause.find(causes);
  if (found == by_cause.end()) return Money();
  const auto costs = [&](RemedyCost cost) {
    return std::ranges::any_of(causes.leaves, [&](Leaf leaf) { return remedy_cost(leaf) == cost; });
  };
  if (costs(RemedyCost::none)) return Money();
  if (costs(RemedyCost::unknown)) return {};
  if (!costs(RemedyCost::hour)) return found->second.waste.low;
  if (causes.relation == CauseSet::Relation::joint) return {};
  const Leaf leaf = causes.leaves.front();
  Money sum;
  bool told = false;
  for (const auto& [name, session] : hours_by_family()) {
    const auto pinged = [&](const std::map<Leaf, Money>& won) {
      const auto own = won.find(leaf);
      told = told || own != won.end();
      return own == won.end() ? Money() : own->second;
    };
    sum += pinged(session.pinged_long);
    if (!session.sold) sum += pinged(session.pinged);
    if (session.sold && session.won.contains(leaf)) {
      told = true;
      sum += won_by_hours(session, leaf);
    }
  }
  if (!told) return {};
  return std::min(sum, found->second.waste.low);
}

Money CacheReport::recoverable() const {
  Money sum;
  for (const auto& [causes, each] : by_cause) sum += recoverable(causes).value_or(Money());
  return sum;
}

bool CacheReport::conserved() const {
  std::uint64_t new_tokens = 0;
  for (const auto& [code, sum] : fresh) new_tokens += sum.tokens;
  std::uint64_t attributed = 0;
  MoneyRange wasted;
  for (const auto& [causes, sum] : by_cause) {
    attributed += sum.tokens;
    wasted += sum.waste;
  }
  MoneyRange again = ideal;
  again += wasted;
  return input == read + attributed + new_tokens && total == again;
}

}  // namespace daybook::replay
