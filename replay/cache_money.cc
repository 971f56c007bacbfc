#include "replay/cache_money.h"

#include <algorithm>
#include <array>
#include <functional>

#include "replay/price_call.h"

namespace daybook::replay {
namespace {

struct Paid {
  std::uint64_t tokens = 0;
  Money rate;
};
using PaidList = std::array<Paid, 3>;

/// Extra cost of the tokens from `from` to `to`, of `all` that were paid, spread in proportion.
/// Whole tokens: what one portion rounds off the next one has.
Money in_proportion(const PaidList& paid, std::uint64_t all, std::uint64_t from, std::uint64_t to,
                    Money read) {
  const auto upto = [&](std::uint64_t tokens, std::uint64_t position) {
    return static_cast<std::uint64_t>(static_cast<Int128>(position) * tokens / all);
  };
  Money sum;
  std::uint64_t before = 0;
  std::uint64_t taken = 0;
  for (const Paid& each : paid) {
    const std::uint64_t after = before + each.tokens;
    const std::uint64_t reached = upto(after, to) - upto(after, from);
    sum += (each.rate - read) * (reached - taken);
    taken = reached;
    before = after;
  }
  return sum;
}

/// Extra cost of `tokens`, taken from the classes in the given order.
Money in_order(const PaidList& paid, std::uint64_t tokens, Money read) {
  Money sum;
  for (const Paid& each : paid) {
    const std::uint64_t here = std::min(tokens, each.tokens);
    sum += (each.rate - read) * here;
    tokens -= here;
  }
  return sum;
}

/// Fees that no token bears.
void add_searches(CallMoney& money, std::uint64_t searches, const CacheRates& rates) {
  if (!rates.search) {
    money.unpriced_searches = searches;
    return;
  }
  money.searches = *rates.search * searches;
  money.total += money.searches;
  money.ideal += money.searches;
}

/// Expired tokens are taken to be spread over the classes like all others.
std::optional<Money> hour_extra(const CallVerdict& verdict, const PaidClasses& classes,
                                const CacheRates& rates) {
  if (!rates.write_5m || !rates.write_1h || *rates.write_1h <= *rates.write_5m) return {};
  std::uint64_t expired = 0;
  for (const CachePortion& portion : verdict.lost) {
    const bool sole = portion.causes.relation == CauseSet::Relation::sole;
    if (sole && remedy_cost(portion.causes.leaves.front()) == RemedyCost::hour) {
      expired += portion.tokens;
    }
  }
  const std::uint64_t all = classes.uncached + classes.write_5m + classes.write_1h;
  const auto gone = static_cast<std::uint64_t>(static_cast<Int128>(expired) * classes.write_5m /
                                               std::max<std::uint64_t>(all, 1));
  return (*rates.write_1h - *rates.write_5m) * (classes.write_5m - gone);
}

}  // namespace

Money CallMoney::wasted() const {
  Money sum;
  for (const CacheWaste& each : waste) sum += each.point;
  return sum;
}

PaidClasses paid_classes(const CacheCall& call) {
  PaidClasses paid;
  paid.uncached = call.uncached().value_or(0);
  paid.write_1h = call.usage.cache_write_1h.value_or(0);
  const std::uint64_t writes = call.usage.cache_write.value_or(0);
  paid.write_5m =
      writes > paid.write_1h ? writes - paid.write_1h : call.usage.cache_write_5m.value_or(0);
  return paid;
}

CacheRates rates_of(const PriceBook& book, const CacheCall& call) {
  return CallPrices(book).of(call);
}

CacheRates CallPrices::of(const CacheCall& call) {
  CacheRates out;
  // A count that cannot be right has no price.
  const ClassCounts counts = class_counts(call.usage);
  if (!counts.plausible) return out;
  const auto [rows, fresh] = rows_.try_emplace({call.scope.provider, call.scope.model});
  if (fresh) rows->second = book_.rows_for(call.scope.provider, call.scope.model);
  const CallRates rates =
      call_rates(rows->second, call.usage, call.input().value_or(counts.whole_input()),
                 {call.start, call.start});
  if (!rates.usable()) return out;
  const auto price = [&](TokenClass what) -> std::optional<Money> {
    const auto one = rates.price(what, 1);
    return one ? std::optional(one->low) : std::nullopt;
  };
  out.uncached = price(TokenClass::input);
  out.read = price(TokenClass::cache_read);
  out.write_5m = price(TokenClass::cache_write_5m);
  if (!out.write_5m) out.write_5m = price(TokenClass::cache_write);
  out.write_1h = price(TokenClass::cache_write_1h);
  out.output = price(TokenClass::output);
  out.search = price(TokenClass::web_search);
  return out;
}

CallMoney money_of(const CallVerdict& verdict, const CacheRates& rates) {
  const CacheCall& call = *verdict.call;
  CallMoney money;
  money.waste.resize(verdict.lost.size());
  const PaidClasses classes = paid_classes(call);
  const std::uint64_t output = call.usage.output.value_or(0);
  const std::uint64_t read_here = verdict.measured ? verdict.read : call.read();
  const std::uint64_t reads = read_here + verdict.lost_tokens();
  const auto known = [](const std::optional<Money>& rate, std::uint64_t tokens) {
    return rate.has_value() || tokens == 0;
  };
  const std::uint64_t all = classes.uncached + classes.write_5m + classes.write_1h;
  // Figures that contradict each other cannot be priced either.
  const bool whole = !verdict.measured || all + read_here == verdict.input;
  money.priced = whole && known(rates.uncached, classes.uncached) && known(rates.read, reads) &&
                 known(rates.write_5m, classes.write_5m) &&
                 known(rates.write_1h, classes.write_1h) && known(rates.output, output);
  add_searches(money, call.usage.web_searches.value_or(0), rates);
  if (!money.priced) {
    money.unpriced_tokens = std::max(verdict.input, all + read_here) + output;
    return money;
  }
  const Money read = rates.read.value_or(Money());
  PaidList paid = {{{classes.uncached, rates.uncached.value_or(Money())},
                    {classes.write_5m, rates.write_5m.value_or(Money())},
                    {classes.write_1h, rates.write_1h.value_or(Money())}}};
  const Money answer = rates.output.value_or(Money()) * output;
  money.total += read * read_here + answer;
  for (const Paid& each : paid) money.total += each.rate * each.tokens;
  PaidList cheapest = paid;
  std::ranges::sort(cheapest, {}, &Paid::rate);
  PaidList dearest = paid;
  std::ranges::sort(dearest, std::greater{}, &Paid::rate);
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < verdict.lost.size(); ++i) {
    const std::uint64_t tokens = verdict.lost[i].tokens;
    money.waste[i] = {in_proportion(paid, all, at, at + tokens, read),
                      in_order(cheapest, tokens, read), in_order(dearest, tokens, read)};
    at += tokens;
  }
  // Counted from the other side: what is read for less, and what is then left of each class.
  money.ideal += read * reads + answer;
  money.ideal += in_proportion(paid, std::max<std::uint64_t>(all, 1), at, all, Money());
  DAYBOOK_CHECK(money.total == money.ideal + money.wasted());
  money.hour_extra = hour_extra(verdict, classes, rates);
  money.ping = read * reads;
  money.writes_missing = !call.writes_told() && (rates.write_5m || rates.write_1h);
  return money;
}

std::optional<KeepWarm> keep_warm(const CallVerdict& verdict, const CallMoney& money) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t gap = verdict.call->start - verdict.since;
  if (verdict.since == 0 || verdict.call->start == 0 || gap < 0 || verdict.life_s == 0) return {};
  if (!money.priced) return {};
  const auto pings = static_cast<std::uint64_t>(gap / kSecond) / verdict.life_s;
  return KeepWarm{pings, money.ping * pings};
}

}  // namespace daybook::replay
