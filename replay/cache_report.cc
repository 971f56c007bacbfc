#include "replay/cache_report.h"

#include <algorithm>

namespace daybook::replay {

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
    if (a.waste != b.waste) return a.waste > b.waste;
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
  total += money.total;
  ideal += money.ideal;
  waste += money.wasted();
  unpriced_tokens += money.unpriced_tokens;
  unpriced_calls += money.priced ? 0 : 1;
  session.input += verdict.input;
  session.read += verdict.read;
  session.lost += lost_here;
  session.total += money.total;
  session.waste += money.wasted();
  for (std::size_t i = 0; i < verdict.lost.size(); ++i) {
    const CachePortion& portion = verdict.lost[i];
    for (CacheSum* sum :
         {&by_cause[portion.causes], &by_introduced[introduced_by(verdict, portion)]}) {
      ++sum->calls;
      sum->tokens += portion.tokens;
      sum->waste += money.waste[i].point;
      if (!money.priced) sum->unpriced_tokens += portion.tokens;
    }
  }
  if (const auto label = vendor_verdict(call.verdict)) {
    ++vendor[{label->label, compare(*label, verdict)}];
  }
  const CachePortion* main = verdict.main_loss();
  if (main == nullptr) return;
  keep({call.id, call.session, call.version, call.start, call.scope.model, call.evidence,
        main->causes.code(), introduced_by(verdict, *main), lost_here, verdict.input,
        money.wasted(), money.priced});
}

bool CacheReport::conserved() const {
  std::uint64_t new_tokens = 0;
  for (const auto& [code, sum] : fresh) new_tokens += sum.tokens;
  std::uint64_t attributed = 0;
  Money wasted;
  for (const auto& [causes, sum] : by_cause) {
    attributed += sum.tokens;
    wasted += sum.waste;
  }
  return input == read + attributed + new_tokens && total == ideal + wasted;
}

}  // namespace daybook::replay
