#include "tools/cost_explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "replay/price_call.h"
#include "tools/cost_calls.h"
#include "tools/cost_print.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/read_journal.h"
#include "tools/table.h"

namespace daybook::tools {
namespace {

using replay::Call;
using replay::CallCost;
using replay::CallRates;
using replay::CostLine;
using replay::Money;
using replay::Multiplier;
using replay::PriceRow;
using replay::Rate;
using replay::TokenClass;
using replay::Unpriced;

constexpr std::uint64_t kMillion = 1'000'000;

std::string session_name(const Call& call) {
  return call.session->stored.empty() ? call.session->id : call.session->stored;
}

std::string dollars(Rate rate) {
  return Money::of(kMillion, rate).exact();
}

std::string factor(Multiplier multiplier) {
  return fmt::format("{:g}", static_cast<double>(multiplier.thousandths) / 1000);
}

std::string_view name_of(schema::Authority authority) {
  constexpr std::string_view kNames[] = {"exact", "derived", "lower bound", "estimate"};
  return kNames[static_cast<std::size_t>(authority)];
}

/// "exact", "lower bound", ...; "not reported".
std::string_view trust(const Call& call, const CallCost& cost) {
  return call.usage.any() ? name_of(authority_of(call.usage, cost.counts)) : "not reported";
}

/// Classes that a usage does not tell, as JSON names them.
std::vector<std::string_view> missing_classes(const Call& call, const CallCost& cost) {
  std::vector<std::string_view> out;
  if (!call.usage.any()) return out;
  for (const auto& [known, what] :
       {std::pair{cost.counts.input_known, TokenClass::input},
        std::pair{cost.counts.read_known, TokenClass::cache_read},
        std::pair{cost.counts.write_known, TokenClass::cache_write},
        std::pair{cost.counts.output_known, TokenClass::output},
        std::pair{cost.counts.searches_known, TokenClass::web_search}}) {
    if (!known) out.push_back(replay::name_of(what));
  }
  return out;
}

/// "speed fast 2 x region us 1.1"; "": none.
std::string factors(const CallRates& rates, const replay::CallUsage& usage) {
  std::string out;
  const auto add = [&](const char* what, const std::string& name, Multiplier multiplier) {
    if (multiplier == Multiplier{}) return;
    out += fmt::format("{}{} {} {}", out.empty() ? "" : " × ", what, name, factor(multiplier));
  };
  add("tier", usage.service_tier, rates.tier);
  add("speed", usage.speed, rates.speed);
  add("region", usage.region, rates.region);
  return out;
}

std::string validity(const PriceRow& row) {
  if (row.valid_from.empty() && row.valid_to.empty()) return "at any date";
  if (row.valid_to.empty()) return "from " + row.valid_from;
  if (row.valid_from.empty()) return "before " + row.valid_to;
  return fmt::format("from {}, before {}", row.valid_from, row.valid_to);
}

/// The classes whose prices a line may have, when its own has none or is not the only one.
std::vector<TokenClass> classes_of(const CallCost& cost, const CostLine& line) {
  const replay::Rates& rates = cost.rates.low;
  std::vector<TokenClass> out;
  const auto add = [&](TokenClass what) {
    if (rates[what]) out.push_back(what);
  };
  add(line.what);
  if (line.what == TokenClass::input) {
    if (cost.counts.input_may_be_read) add(TokenClass::cache_read);
    if (cost.counts.input_may_be_written) {
      add(TokenClass::cache_write);
      add(TokenClass::cache_write_5m);
      add(TokenClass::cache_write_1h);
    }
  } else if (out.empty() && line.what == TokenClass::cache_write) {
    add(TokenClass::cache_write_5m);
    add(TokenClass::cache_write_1h);
  } else if (out.empty() &&
             (line.what == TokenClass::cache_write_5m || line.what == TokenClass::cache_write_1h)) {
    add(TokenClass::cache_write);
  }
  return out;
}

/// "5", or "6.25 to 10 (cache_write_5m or cache_write_1h)".
std::string price_of(const CallCost& cost, const CostLine& line) {
  if (!line.cost) return "no price";
  if (line.what == TokenClass::web_search) {
    const Rate rate = *cost.rates.low[line.what];
    return Money::of(1, rate).exact() + " each";
  }
  std::optional<Rate> low, high;
  std::string names;
  const auto classes = classes_of(cost, line);
  for (const TokenClass what : classes) {
    const Rate one_low = *cost.rates.low[what], one_high = *cost.rates.high[what];
    low = low ? std::min(*low, one_low) : one_low;
    high = high ? std::max(*high, one_high) : one_high;
    names += (names.empty() ? "" : " or ") + std::string(replay::name_of(what));
  }
  if (!low || *low == *high) return low ? dollars(*low) : "no price";
  const std::string range = fmt::format("{} to {}", dollars(*low), dollars(*high));
  return classes.size() > 1 ? fmt::format("{} ({})", range, names) : range;
}

std::string amount(const std::optional<replay::MoneyRange>& cost) {
  if (!cost) return "unpriced";
  return cost->is_exact() ? cost->low.exact()
                          : fmt::format("{} to {}", cost->low.exact(), cost->high.exact());
}

void print_heading(std::ostream& out, const Call& call, const CallCost& cost) {
  out << fmt::format("call      {}:{}{}\n", printable(session_name(call)), call.version,
                     call.pass == 0 ? "" : fmt::format(" (compaction pass {})", call.pass));
  out << fmt::format("event     {}\n", call.id.str());
  out << fmt::format("time      {}\n",
                     call.started_at == 0 ? "not known" : short_time(call.started_at));
  out << fmt::format("model     {}{}\n", one_line(call.model()),
                     call.provider.empty() ? "" : " at " + one_line(call.provider));
  const auto missing = missing_classes(call, cost);
  out << fmt::format("figures   {}{}{}\n", trust(call, cost),
                     missing.empty() ? "" : ": not reported: ", fmt::join(missing, ", "));
  if (!call.usage.any())
    out << "usage     none reported that can be read; the call may have been billed\n";
  if (const PriceRow* row = cost.rates.row) {
    const std::string names = fmt::format("{}: {}", row->provider.empty() ? "any" : row->provider,
                                          fmt::join(row->models, ", "));
    out << fmt::format("price     {}, {}\n", one_line(names), validity(*row));
    out << fmt::format("          {}:{}\n", row->file, row->line);
    if (!row->source.empty()) {
      out << fmt::format("source    {}{}\n", one_line(row->source),
                         row->read.empty() ? "" : ", read " + row->read);
    }
    if (!row->note.empty()) out << fmt::format("note      {}\n", one_line(row->note));
  }
  if (cost.rates.long_context != nullptr) {
    out << fmt::format("long      the input of {} tokens {} {}: every token pays the long price\n",
                       grouped(cost.counts.whole_input()),
                       cost.rates.long_context->inclusive ? "reaches" : "is above",
                       grouped(cost.rates.long_context->above));
  }
  if (cost.rates.at_peak) out << "peak      the call fell into the peak hours\n";
  if (cost.rates.peak_unknown) out << "peak      the hour of the call is not known\n";
  if (const auto text = factors(cost.rates, call.usage); !text.empty()) {
    out << "factors   " << one_line(text) << '\n';
  }
  if (cost.why != Unpriced::no) out << "unpriced  " << replay::name_of(cost.why) << '\n';
}

/// With a mark when it is the least that the call can have cost.
std::string total_of(const Call& call, const CallCost& cost) {
  if (!call.usage.any()) return "not known";
  if (cost.why != Unpriced::no && cost.total.high.is_zero()) return "unpriced";
  const bool least = authority_of(call.usage, cost.counts) == schema::Authority::lower_bound;
  return (least ? "≥ " : "") + amount(cost.total);
}

void print(Context& context, const Call& call, const CallCost& cost) {
  print_heading(context.out, call, cost);
  context.out << '\n';
  const bool scaled = !factors(cost.rates, call.usage).empty();
  Table table({"CLASS", "TOKENS", "$ PER MILLION", "COST $"}, 2);
  for (const CostLine& line : cost.used()) {
    const bool takes_factors = scaled && line.cost && line.what != TokenClass::web_search;
    table.add({std::string(replay::name_of(line.what)), grouped(line.count),
               price_of(cost, line) + (takes_factors ? " × factors" : ""), amount(line.cost)});
  }
  table.add(
      {"total", call.usage.any() ? grouped(cost.counts.tokens()) : "?", "", total_of(call, cost)});
  table.print(context.out, context.columns, context.colour());
}

void print_json(Context& context, const Call& call, const CallCost& cost) {
  JsonWriter out;
  out.begin_object();
  out.member("session", session_name(call)).member("version", call.version);
  out.member("pass", call.pass).member("event", call.id.str());
  out.key("started_at");
  call.started_at == 0 ? out.null() : out.value(rfc3339(call.started_at));
  out.member("provider", call.provider).member("model", call.model());
  out.member("service_tier", call.usage.service_tier).member("speed", call.usage.speed);
  out.member("region", call.usage.region);
  out.member("authority", trust(call, cost)).key("missing").begin_array();
  for (const std::string_view what : missing_classes(call, cost)) out.value(what);
  out.end_array();
  if (const PriceRow* row = cost.rates.row) {
    out.key("price").begin_object();
    out.member("provider", row->provider).key("models").begin_array();
    for (const std::string& model : row->models) out.value(model);
    out.end_array();
    out.member("valid_from", row->valid_from).member("valid_to", row->valid_to);
    out.member("source", row->source).member("read", row->read);
    out.member("file", row->file).member("line", row->line);
    out.member("long_context", cost.rates.long_context != nullptr);
    out.member("peak", cost.rates.at_peak);
    out.end_object();
  }
  out.key("lines").begin_array();
  for (const CostLine& line : cost.used()) {
    out.begin_object();
    out.member("class", replay::name_of(line.what)).member("count", line.count);
    if (line.cost) {
      out.member("cost_low_usd", line.cost->low.exact());
      out.member("cost_high_usd", line.cost->high.exact());
    }
    out.end_object();
  }
  out.end_array();
  out.member("cost_low_usd", cost.total.low.exact());
  out.member("cost_high_usd", cost.total.high.exact());
  out.member("unpriced_tokens", cost.unpriced_tokens);
  if (cost.why != Unpriced::no) out.member("why", replay::name_of(cost.why));
  context.out << out.end_object().text() << '\n';
}

}  // namespace

Result<int> explain_cost(Context& context, const CallSource& calls, const WantedCall& wanted,
                         const replay::PriceBook& book, std::optional<std::int64_t> prices_at,
                         bool json) {
  bool found = false;
  std::vector<std::uint64_t> others;  // of the same session
  DAYBOOK_TRY(calls([&](const Call& one) {
    if (!wanted.matches(session_name(one), one.version, one.request_version, one.id.str())) {
      if (session_name(one) == wanted.session) others.push_back(one.version);
      return;
    }
    if (found && !json) context.out << '\n';
    found = true;
    const auto rows = book.rows_for(one.provider, one.model());
    const CallCost cost =
        replay::price_call(rows, one.usage, {prices_at.value_or(one.started_at), one.started_at});
    json ? print_json(context, one, cost) : print(context, one, cost);
  }));
  if (found) return kExitOk;
  if (!others.empty()) {
    const auto distance = [&](std::uint64_t version) {
      return version > wanted.version ? version - wanted.version : wanted.version - version;
    };
    return fail(ErrorCode::not_found,
                fmt::format("there is no model call {}: of the {} of this session the nearest is "
                            "{}:{}",
                            wanted.shown(), others.size(), wanted.session,
                            *std::ranges::min_element(others, {}, distance)));
  }
  return fail(ErrorCode::not_found,
              fmt::format("there is no model call {}: `daybook log SESSION` lists the events, and "
                          "a call is a ModelRequested or what answered it",
                          wanted.shown()));
}

}  // namespace daybook::tools
