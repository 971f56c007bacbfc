#include "replay/price_call.h"

#include <algorithm>

namespace daybook::replay {
namespace {

std::uint64_t sum(std::initializer_list<std::uint64_t> counts) {
  std::uint64_t total = 0;
  for (const std::uint64_t count : counts) {
    if (__builtin_add_overflow(total, count, &total)) return ~std::uint64_t{0};
  }
  return total;
}

std::uint64_t less(std::uint64_t from, std::uint64_t count) {
  return from > count ? from - count : 0;
}

bool equal_folded(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    const auto fold = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return fold(x) == fold(y);
  });
}

/// Whether `name` says that nothing special was asked for.
bool is_standard(std::string_view name, std::span<const std::string_view> standard) {
  return name.empty() ||
         std::ranges::any_of(standard, [&](auto one) { return equal_folded(name, one); });
}

std::optional<Multiplier> factor_of(const Multipliers& table, std::string_view name,
                                    std::span<const std::string_view> standard) {
  for (const auto& [known, factor] : table) {
    if (equal_folded(known, name)) return factor;
  }
  if (is_standard(name, standard)) return Multiplier{};
  return std::nullopt;
}

constexpr std::array kWrites = {TokenClass::cache_write, TokenClass::cache_write_5m,
                                TokenClass::cache_write_1h};

constexpr std::array<std::string_view, 2> kStandardTiers = {"standard", "default"};
constexpr std::array<std::string_view, 2> kStandardSpeeds = {"standard", "default"};
constexpr std::array<std::string_view, 2> kStandardRegions = {"global", "not_available"};

/// The row for a date and tier: one written for the tier, or a standard one.
const PriceRow* select_row(std::span<const PriceRow* const> rows, std::string_view tier,
                           std::int64_t at, Unpriced& why) {
  if (rows.empty()) {
    why = Unpriced::model;
    return nullptr;
  }
  const bool dated = std::ranges::any_of(
      rows, [](const PriceRow* row) { return row->from != kNoBegin || row->to != kNoEnd; });
  if (at == 0 && dated) {
    why = Unpriced::no_date;
    return nullptr;
  }
  for (const PriceRow* row : rows) {
    if (!row->tier.empty() && equal_folded(row->tier, tier) && row->holds_at(at)) return row;
  }
  for (const PriceRow* row : rows) {
    if (row->tier.empty() && row->holds_at(at)) return row;
  }
  why = Unpriced::date;
  return nullptr;
}

const LongContext* long_context_of(const PriceRow& row, std::uint64_t whole_input) {
  const LongContext* found = nullptr;
  for (const LongContext& context : row.long_contexts) {
    const bool passed =
        context.inclusive ? whole_input >= context.above : whole_input > context.above;
    if (passed) found = &context;
  }
  return found;
}

void select_multipliers(CallRates& rates, const CallUsage& usage) {
  const PriceRow& row = *rates.row;
  const Multipliers& tiers = rates.long_context != nullptr && rates.long_context->tiers
                                 ? *rates.long_context->tiers
                                 : row.tiers;
  const auto put = [&](std::optional<Multiplier> found, Multiplier& out, Unpriced why) {
    if (found) {
      out = *found;
    } else if (rates.why == Unpriced::no) {
      rates.why = why;
    }
  };
  if (row.tier.empty() || !equal_folded(row.tier, usage.service_tier)) {
    put(factor_of(tiers, usage.service_tier, kStandardTiers), rates.tier, Unpriced::tier);
  }
  put(factor_of(row.speeds, usage.speed, kStandardSpeeds), rates.speed, Unpriced::speed);
  put(factor_of(row.regions, usage.region, kStandardRegions), rates.region, Unpriced::region);
}

MoneyRange hull(const MoneyRange& a, const MoneyRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

/// Of tokens that may be of several classes; nothing when one of those has no price.
std::optional<MoneyRange> price_of_either(const CallRates& rates,
                                          std::span<const TokenClass> classes,
                                          std::uint64_t count) {
  std::optional<MoneyRange> all;
  for (const TokenClass what : classes) {
    const auto one = rates.price(what, count);
    if (!one) return std::nullopt;
    all = all ? hull(*all, *one) : *one;
  }
  return all;
}

/// The uncached input. What the provider did not tell apart may have been a read or a write, when
/// the row has other prices for those.
std::optional<MoneyRange> price_input(const CallRates& rates, const ClassCounts& counts,
                                      std::uint64_t count) {
  std::array<TokenClass, 5> classes = {TokenClass::input};
  std::size_t used = 1;
  const auto add = [&](TokenClass what) {
    if (rates.low[what]) classes[used++] = what;
  };
  if (counts.input_may_be_read) add(TokenClass::cache_read);
  if (counts.input_may_be_written) {
    for (const TokenClass what : kWrites) add(what);
  }
  return price_of_either(rates, std::span(classes).first(used), count);
}

}  // namespace

std::uint64_t ClassCounts::whole_input() const {
  return sum({(*this)[TokenClass::input], (*this)[TokenClass::cache_read],
              (*this)[TokenClass::cache_write_5m], (*this)[TokenClass::cache_write_1h],
              (*this)[TokenClass::cache_write]});
}

std::uint64_t ClassCounts::tokens() const {
  return sum({whole_input(), (*this)[TokenClass::output]});
}

ClassCounts class_counts(const CallUsage& usage) {
  ClassCounts out;
  const std::uint64_t read = usage.cache_read.value_or(0);
  const std::uint64_t write_5m = usage.cache_write_5m.value_or(0);
  const std::uint64_t write_1h = usage.cache_write_1h.value_or(0);
  const std::uint64_t split = sum({write_5m, write_1h});
  const std::uint64_t writes = std::max(usage.cache_write.value_or(split), split);
  const std::uint64_t cached = sum({read, writes});
  const auto set = [&](TokenClass what, std::uint64_t count) { out.of[index_of(what)] = count; };

  if (usage.input_uncached) {
    // A total besides may say that more was read than the parts account for.
    set(TokenClass::input,
        std::max(*usage.input_uncached, less(usage.input_total.value_or(0), cached)));
  } else if (usage.input_total) {
    set(TokenClass::input, less(*usage.input_total, cached));
    out.input_may_be_read = !usage.cache_read;
  }
  // In a total there may be writes that nobody reported.
  out.input_may_be_written = usage.input_total && !usage.cache_write && split == 0;
  set(TokenClass::cache_read, read);
  set(TokenClass::cache_write_5m, write_5m);
  set(TokenClass::cache_write_1h, write_1h);
  set(TokenClass::cache_write, writes - split);
  set(TokenClass::output, usage.output.value_or(0));
  set(TokenClass::web_search, usage.web_searches.value_or(0));
  out.input_known = usage.input_uncached || usage.input_total;
  out.read_known = usage.cache_read || usage.input_total;
  out.write_known = usage.cache_write || usage.cache_write_5m || usage.cache_write_1h ||
                    usage.input_total.has_value();
  out.output_known = usage.output.has_value();
  out.searches_known = !usage.searches_open;
  out.plausible = std::ranges::all_of(out.of, [](auto count) { return count <= kMostTokens; });
  return out;
}

schema::Authority authority_of(const CallUsage& usage, const ClassCounts& counts) {
  const bool sure =
      usage.authority == schema::Authority::exact || usage.authority == schema::Authority::derived;
  return sure && !counts.whole() ? schema::Authority::lower_bound : usage.authority;
}

std::string_view name_of(Unpriced why) {
  switch (why) {
    case Unpriced::no:
      return "priced";
    case Unpriced::model:
      return "no price for this model";
    case Unpriced::date:
      return "no price for that date";
    case Unpriced::stale:
      return "its price was read more than 180 days before the call";
    case Unpriced::no_date:
      return "the time of the call is not known, and the price changed";
    case Unpriced::tier:
      return "no price for this service tier";
    case Unpriced::speed:
      return "no price for this speed";
    case Unpriced::region:
      return "no price for this region";
    case Unpriced::token_class:
      return "no price for a class of tokens";
    case Unpriced::implausible:
      return "a count that cannot be right";
  }
  return "";
}

std::optional<MoneyRange> CallRates::price(TokenClass what, std::uint64_t count) const {
  if (!low[what] || !high[what]) return std::nullopt;
  if (what == TokenClass::web_search) {
    return MoneyRange{Money::of(count, *low[what]), Money::of(count, *high[what])};
  }
  const std::array factors = {tier, speed, region};
  return MoneyRange{Money::of(count, *low[what], factors), Money::of(count, *high[what], factors)};
}

std::optional<MoneyRange> price_tokens(const CallRates& rates, const ClassCounts& counts,
                                       TokenClass what, std::uint64_t count) {
  constexpr std::array kLifetimes = {TokenClass::cache_write_5m, TokenClass::cache_write_1h};
  if (what == TokenClass::input) return price_input(rates, counts, count);
  if (auto priced = rates.price(what, count)) return priced;
  if (what == TokenClass::cache_write) return price_of_either(rates, kLifetimes, count);
  const bool is_write = what == TokenClass::cache_write_5m || what == TokenClass::cache_write_1h;
  return is_write ? rates.price(TokenClass::cache_write, count) : std::nullopt;
}

CallRates call_rates(std::span<const PriceRow* const> rows, const CallUsage& usage,
                     std::uint64_t whole_input, PriceMoment moment) {
  CallRates out;
  out.row = select_row(rows, usage.service_tier, moment.priced_at, out.why);
  if (out.row == nullptr) return out;
  if (moment.priced_at >= out.row->stale_from) out.why = Unpriced::stale;
  out.long_context = long_context_of(*out.row, whole_input);
  out.low = out.long_context != nullptr ? out.long_context->rates : out.row->rates;
  // Fees are the same however long the request is.
  const auto search = index_of(TokenClass::web_search);
  if (!out.low.of[search]) out.low.of[search] = out.row->rates.of[search];
  out.high = out.low;
  if (out.row->peak) {
    out.peak_unknown = moment.called_at == 0;
    out.at_peak = !out.peak_unknown && out.row->peak->holds_at(moment.called_at);
    if (out.at_peak || out.peak_unknown) out.high = out.row->peak->rates;
    if (out.at_peak) out.low = out.high;
    for (std::size_t i = 0; i < kTokenClasses; ++i) {
      if (out.high.of[i] < out.low.of[i]) std::swap(out.low.of[i], out.high.of[i]);
    }
  }
  select_multipliers(out, usage);
  return out;
}

CallCost price_call(std::span<const PriceRow* const> rows, const CallUsage& usage,
                    PriceMoment moment) {
  CallCost out;
  out.counts = class_counts(usage);
  out.rates = call_rates(rows, usage, out.counts.whole_input(), moment);
  out.why = out.counts.plausible ? out.rates.why : Unpriced::implausible;
  const auto sold = [&](TokenClass what) { return out.rates.low[what].has_value(); };
  // Where nobody bills writes, nobody reports them.
  if (out.rates.row != nullptr && std::ranges::none_of(kWrites, sold)) {
    out.counts.write_known = true;
  }
  const bool usable = out.rates.usable() && out.counts.plausible;
  for (std::size_t i = 0; i < kTokenClasses; ++i) {
    const auto what = static_cast<TokenClass>(i);
    const std::uint64_t count = out.counts[what];
    if (count == 0) continue;
    CostLine& line = out.lines[out.line_count++];
    line.what = what;
    line.count = count;
    if (usable) line.cost = price_tokens(out.rates, out.counts, what, count);
    if (line.cost) {
      out.total += *line.cost;
      continue;
    }
    if (out.why == Unpriced::no) out.why = Unpriced::token_class;
    std::uint64_t& unpriced =
        what == TokenClass::web_search ? out.unpriced_searches : out.unpriced_tokens;
    unpriced = sum({unpriced, count});
  }
  if (out.line_count == 0) out.why = Unpriced::no;
  return out;
}

}  // namespace daybook::replay
