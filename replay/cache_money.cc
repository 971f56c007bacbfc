#include "replay/cache_money.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace daybook::replay {
namespace {

constexpr int kDigits = 21;

struct Paid {
  std::uint64_t tokens = 0;
  CacheMoney rate = 0;
};
using PaidList = std::array<Paid, 3>;

/// Extra cost of the tokens from `from` to `to`, of `all` that were paid, spread in proportion.
/// Whole tokens: what one portion rounds off the next one has.
CacheMoney in_proportion(const PaidList& paid, std::uint64_t all, std::uint64_t from,
                         std::uint64_t to, CacheMoney read) {
  const auto upto = [&](std::uint64_t tokens, std::uint64_t position) {
    return static_cast<std::uint64_t>(static_cast<CacheMoney>(position) * tokens / all);
  };
  CacheMoney sum = 0;
  std::uint64_t before = 0;
  std::uint64_t taken = 0;
  for (const Paid& each : paid) {
    const std::uint64_t after = before + each.tokens;
    const std::uint64_t reached = upto(after, to) - upto(after, from);
    sum += static_cast<CacheMoney>(reached - taken) * (each.rate - read);
    taken = reached;
    before = after;
  }
  return sum;
}

/// Extra cost of `tokens`, taken from the classes in the given order.
CacheMoney in_order(const PaidList& paid, std::uint64_t tokens, CacheMoney read) {
  CacheMoney sum = 0;
  for (const Paid& each : paid) {
    const std::uint64_t here = std::min(tokens, each.tokens);
    sum += static_cast<CacheMoney>(here) * (each.rate - read);
    tokens -= here;
  }
  return sum;
}

std::string digits_of(CacheMoney money) {
  std::string text;
  do {
    text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(money % 10)));
    money /= 10;
  } while (money != 0);
  return text;
}

}  // namespace

CacheMoney CallMoney::wasted() const {
  CacheMoney sum = 0;
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

CallMoney money_of(const CallVerdict& verdict, const CacheRates& rates) {
  const CacheCall& call = *verdict.call;
  CallMoney money;
  money.waste.resize(verdict.lost.size());
  const PaidClasses classes = paid_classes(call);
  const std::uint64_t output = call.usage.output.value_or(0);
  const std::uint64_t reads = verdict.read + verdict.lost_tokens();
  const auto known = [](const std::optional<CacheMoney>& rate, std::uint64_t tokens) {
    return rate.has_value() || tokens == 0;
  };
  const std::uint64_t all = classes.uncached + classes.write_5m + classes.write_1h;
  // Figures that contradict each other cannot be priced either.
  const bool whole = all + verdict.read == verdict.input;
  money.priced = whole && known(rates.uncached, classes.uncached) && known(rates.read, reads) &&
                 known(rates.write_5m, classes.write_5m) &&
                 known(rates.write_1h, classes.write_1h) && known(rates.output, output);
  if (!money.priced) {
    money.unpriced_tokens = verdict.input + output;
    return money;
  }
  const CacheMoney read = rates.read.value_or(0);
  PaidList paid = {{{classes.uncached, rates.uncached.value_or(0)},
                    {classes.write_5m, rates.write_5m.value_or(0)},
                    {classes.write_1h, rates.write_1h.value_or(0)}}};
  money.total = static_cast<CacheMoney>(verdict.read) * read +
                static_cast<CacheMoney>(output) * rates.output.value_or(0);
  for (const Paid& each : paid) money.total += static_cast<CacheMoney>(each.tokens) * each.rate;
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
  money.ideal = static_cast<CacheMoney>(reads) * read +
                static_cast<CacheMoney>(output) * rates.output.value_or(0);
  money.ideal += in_proportion(paid, std::max<std::uint64_t>(all, 1), at, all, 0);
  DAYBOOK_CHECK(money.total == money.ideal + money.wasted());
  return money;
}

std::string exact_dollars(CacheMoney money) {
  const bool negative = money < 0;
  std::string text = digits_of(negative ? -money : money);
  if (text.size() <= kDigits) text.insert(0, kDigits + 1 - text.size(), '0');
  std::string cents = text.substr(text.size() - kDigits);
  const std::string dollars = text.substr(0, text.size() - kDigits);
  cents.erase(cents.find_last_not_of('0') + 1);
  return (negative ? "-" : "") + dollars + (cents.empty() ? "" : "." + cents);
}

std::string shown_dollars(CacheMoney money) {
  const std::string exact = exact_dollars(money < 0 ? -money : money);
  const std::string sign = money < 0 ? "-$" : "$";
  const std::size_t point = exact.find('.');
  if (point == std::string::npos) return sign + exact + (exact == "0" ? "" : ".00");
  std::size_t keep = point + 5;
  if (exact.starts_with("0.")) {
    const std::size_t first = exact.find_first_not_of('0', 2);
    keep = std::max(keep, first + 2);
  } else {
    keep = point + 3;
  }
  return sign + exact.substr(0, keep);
}

}  // namespace daybook::replay
