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
using PaidList = std::array<Paid, 4>;

/// By class, the tokens from `from` to `to`, of all that were paid, spread in proportion. Whole
/// tokens: what one portion rounds off the next one has.
std::array<std::uint64_t, 4> spread(const std::array<std::uint64_t, 4>& paid, std::uint64_t from,
                                    std::uint64_t to) {
  std::uint64_t all = 0;
  for (const std::uint64_t tokens : paid) all += tokens;
  const auto upto = [&](std::uint64_t tokens, std::uint64_t position) {
    return static_cast<std::uint64_t>(static_cast<Int128>(position) * tokens /
                                      std::max<std::uint64_t>(all, 1));
  };
  std::array<std::uint64_t, 4> shares{};
  std::uint64_t before = 0;
  std::uint64_t taken = 0;
  for (std::size_t i = 0; i < paid.size(); ++i) {
    before += paid[i];
    const std::uint64_t reached = upto(before, to) - upto(before, from);
    shares[i] = reached - taken;
    taken = reached;
  }
  return shares;
}

/// Extra cost of those tokens.
Money in_proportion(const PaidList& paid, std::uint64_t from, std::uint64_t to, Money read) {
  std::array<std::uint64_t, 4> tokens{};
  std::ranges::transform(paid, tokens.begin(), &Paid::tokens);
  const auto shares = spread(tokens, from, to);
  Money sum;
  for (std::size_t i = 0; i < paid.size(); ++i) sum += (paid[i].rate - read) * shares[i];
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

/// Expired tokens are taken to be spread over the classes like all others.
std::optional<Money> hour_extra(const CallVerdict& verdict, const PaidClasses& classes,
                                const CacheRates& rates) {
  if (!rates.write_5m || !rates.write_1h || *rates.write_1h <= *rates.write_5m) return {};
  std::uint64_t writes = classes.write_5m + classes.write;
  std::uint64_t at = 0;
  for (const CachePortion& portion : verdict.lost) {
    const auto gone = spread({classes.uncached, classes.write_5m, classes.write_1h, classes.write},
                             at, at + portion.tokens);
    at += portion.tokens;
    const bool sole = portion.causes.relation == CauseSet::Relation::sole;
    if (sole && remedy_cost(portion.causes.leaves.front()) == RemedyCost::hour) {
      writes -= gone[1] + gone[3];
    }
  }
  return (*rates.write_1h - *rates.write_5m) * writes;
}

/// What is paid, and how it would be were every lost token read.
struct Tokens {
  PaidClasses classes;
  std::uint64_t read = 0;
  std::uint64_t reads = 0;  // with the lost ones
  std::uint64_t output = 0;
};

bool all_priced(const CacheRates& rates, const Tokens& tokens) {
  const auto known = [](const std::optional<Money>& rate, std::uint64_t count) {
    return rate.has_value() || count == 0;
  };
  return known(rates.uncached, tokens.classes.uncached) && known(rates.read, tokens.reads) &&
         known(rates.write_5m, tokens.classes.write_5m) &&
         known(rates.write_1h, tokens.classes.write_1h) &&
         known(rates.write, tokens.classes.write) && known(rates.output, tokens.output);
}

struct RatesEnds {
  CacheRates low, high;
};

/// `counts`: which tokens may be of other classes.
RatesEnds both_ends(const CallRates& rates, const ClassCounts& counts) {
  RatesEnds out;
  const auto price = [&](std::optional<Money> CacheRates::*into, TokenClass what) {
    const auto one = price_tokens(rates, counts, what, 1);
    if (!one) return;
    out.low.*into = one->low;
    out.high.*into = one->high;
  };
  price(&CacheRates::uncached, TokenClass::input);
  price(&CacheRates::read, TokenClass::cache_read);
  price(&CacheRates::write, TokenClass::cache_write);
  price(&CacheRates::write_5m, TokenClass::cache_write_5m);
  price(&CacheRates::write_1h, TokenClass::cache_write_1h);
  price(&CacheRates::output, TokenClass::output);
  price(&CacheRates::search, TokenClass::web_search);
  return out;
}

/// One end of what a call cost.
struct End {
  Money total;
  Money ideal;
  std::vector<Money> points;    // by portion
  std::vector<Money> cheapest;  // by portion
  std::vector<Money> dearest;   // by portion
};

End end_of(const CallVerdict& verdict, const CacheRates& rates, const Tokens& tokens,
           Money searches) {
  End made;
  const Money read = rates.read.value_or(Money());
  const PaidClasses& classes = tokens.classes;
  const PaidList paid = {{{classes.uncached, rates.uncached.value_or(Money())},
                          {classes.write_5m, rates.write_5m.value_or(Money())},
                          {classes.write_1h, rates.write_1h.value_or(Money())},
                          {classes.write, rates.write.value_or(Money())}}};
  const Money besides = rates.output.value_or(Money()) * tokens.output + searches;
  made.total = read * tokens.read + besides;
  for (const Paid& each : paid) made.total += each.rate * each.tokens;
  PaidList cheapest = paid;
  std::ranges::sort(cheapest, {}, &Paid::rate);
  PaidList dearest = paid;
  std::ranges::sort(dearest, std::greater{}, &Paid::rate);
  std::uint64_t at = 0;
  Money wasted;
  for (const CachePortion& portion : verdict.lost) {
    made.points.push_back(in_proportion(paid, at, at + portion.tokens, read));
    made.cheapest.push_back(in_order(cheapest, portion.tokens, read));
    made.dearest.push_back(in_order(dearest, portion.tokens, read));
    wasted += made.points.back();
    at += portion.tokens;
  }
  // Counted from the other side: what is read for less, and what is then left of each class.
  made.ideal = read * tokens.reads + besides;
  made.ideal += in_proportion(paid, at, classes.all(), Money());
  DAYBOOK_CHECK(made.total == made.ideal + wasted);
  return made;
}

}  // namespace

MoneyRange CallMoney::wasted() const {
  MoneyRange sum;
  for (const CacheWaste& each : waste) sum += each.point;
  return sum;
}

PaidClasses paid_classes(const CacheCall& call) {
  const ClassCounts counts = class_counts(call.usage);
  return {counts[TokenClass::input], counts[TokenClass::cache_write_5m],
          counts[TokenClass::cache_write_1h], counts[TokenClass::cache_write]};
}

CallPrice price_of(const PriceBook& book, const CacheCall& call) {
  return CallPrices(book).of(call);
}

CacheRates rates_of(const PriceBook& book, const CacheCall& call) {
  const auto rows = book.rows_for(call.scope.provider, call.scope.model);
  const CallCost cost = price_call(rows, call.usage, {call.start, call.start});
  if (!cost.rates.usable() || !cost.counts.plausible) return {};
  return both_ends(cost.rates, {}).low;
}

CallPrice CallPrices::of(const CacheCall& call) {
  const auto [rows, fresh] = rows_.try_emplace({call.scope.provider, call.scope.model});
  if (fresh) rows->second = book_.rows_for(call.scope.provider, call.scope.model);
  const CallCost cost = price_call(rows->second, call.usage, {call.start, call.start});
  CallPrice out;
  out.total = cost.total;
  out.unpriced_tokens = cost.unpriced_tokens;
  out.unpriced_searches = cost.unpriced_searches;
  // A count that cannot be right has no price.
  if (!cost.rates.usable() || !cost.counts.plausible) return out;
  const RatesEnds ends = both_ends(cost.rates, cost.counts);
  out.low = ends.low;
  out.high = ends.high;
  return out;
}

CallMoney money_of(const CallVerdict& verdict, const CallPrice& price) {
  const CacheCall& call = *verdict.call;
  CallMoney money;
  money.waste.resize(verdict.lost.size());
  money.unpriced_tokens = price.unpriced_tokens;
  money.unpriced_searches = price.unpriced_searches;
  money.searches = price.low.search.value_or(Money()) * call.usage.web_searches.value_or(0);
  Tokens tokens;
  tokens.classes = paid_classes(call);
  tokens.read = verdict.measured ? verdict.read : call.read();
  tokens.reads = tokens.read + verdict.lost_tokens();
  tokens.output = call.usage.output.value_or(0);
  // Of figures that contradict each other nobody knows what was lost.
  const bool whole = !verdict.measured || tokens.classes.all() + call.read() == verdict.input;
  money.priced = whole && all_priced(price.low, tokens) && all_priced(price.high, tokens);
  if (!money.priced) {
    money.total = money.ideal = price.total;
    return money;
  }
  const End low = end_of(verdict, price.low, tokens, money.searches);
  const End high = end_of(verdict, price.high, tokens, money.searches);
  money.total = {low.total, high.total};
  money.ideal = {low.ideal, high.ideal};
  for (std::size_t i = 0; i < money.waste.size(); ++i) {
    money.waste[i] = {{low.points[i], high.points[i]}, low.cheapest[i], high.dearest[i]};
  }
  money.hour_extra = hour_extra(verdict, tokens.classes, price.low);
  money.ping = price.low.read.value_or(Money()) * tokens.reads;
  money.writes_missing = !call.writes_told() && (price.low.write_5m || price.low.write_1h);
  return money;
}

std::optional<KeepWarm> keep_warm(const CallVerdict& verdict, const CallMoney& money) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const auto gap = verdict.gap();
  if (!gap || gap->most < 0 || verdict.life_s == 0 || !money.priced) return {};
  const auto pings = static_cast<std::uint64_t>(gap->most / kSecond) / verdict.life_s;
  return KeepWarm{pings, money.ping * pings};
}

}  // namespace daybook::replay
