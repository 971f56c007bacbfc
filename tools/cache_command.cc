#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <ostream>

#include "engine/nearest.h"
#include "replay/cache_what_if.h"
#include "tools/cache_calls.h"
#include "tools/cache_text.h"
#include "tools/cache_what_if_text.h"
#include "tools/command.h"
#include "tools/counted.h"
#include "tools/format.h"
#include "tools/log_losses.h"
#include "tools/open_prices.h"
#include "tools/read_journal.h"
#include "tools/time_span.h"
#include "tools/wanted_call.h"

namespace daybook::tools {
namespace {

constexpr std::uint64_t kCallsShown = 20;

/// Where the calls come from, and what was lost on the way.
struct Calls {
  std::function<Result<void>(const CacheCallVisitor&)> visit;
  replay::SegmentBytes bytes;        // empty: figures only
  std::string session;               // that --session names; "": all
  std::optional<WantedCall> wanted;  // by --why
  ReportSpan span = {};              // that is reported
  std::uint64_t undated = 0;         // calls without a time, which are in no span
  std::vector<std::string> losses = {};
  ExitCode exit_code_of_losses = kExitDamaged;

  /// The session that --session or --why names, as it was written; "": none.
  std::string given_session() const {
    return wanted && wanted->event_id.empty() ? wanted->session : session;
  }
  void set_session(const std::string& name) {
    if (wanted) {
      wanted->session = name;
    } else {
      session = name;
    }
  }
  /// `reported`: how many calls were of the session and the span.
  void tell_nothing(Context& context, std::uint64_t reported) const {
    if (reported > 0 || (session.empty() && !span.given())) return;
    context.err << "daybook: no call is of "
                << (session.empty() ? "this span"
                    : span.given()  ? "this session and span"
                                    : "this session")
                << '\n';
  }
  bool wants(const replay::CacheCall& call) {
    if (!session.empty() && call.session != session) return false;
    undated += span.given() && call.start == 0 ? 1 : 0;
    return span.holds(call.start);
  }
  int exit_code(Context& context) const {
    if (undated > 0) {
      context.err << fmt::format("daybook: {} without a time left out by --since or --until\n",
                                 counted(undated, "call", "calls"));
    }
    for (const std::string& loss : losses) context.err << "daybook: " << one_line(loss) << '\n';
    return losses.empty() ? kExitOk : exit_code_of_losses;
  }
};

/// Every session is looked at, also when one is named: what the others cached could be read.
Result<void> use_journal(const std::shared_ptr<journal::Journal>& journal, Calls& calls) {
  if (const std::string given = calls.given_session(); !given.empty()) {
    const auto info = find_session(*journal, given);
    if (!info) return fail(info.error());
    calls.set_session(info->session.str());
  }
  calls.bytes = segment_bytes(*journal);
  calls.visit = [journal, &calls](const CacheCallVisitor& visit) -> Result<void> {
    const auto holes = visit_cache_calls(*journal, "", visit);
    if (!holes) return fail(holes.error());
    if (*holes > 0) {
      calls.losses.push_back(
          fmt::format("{} left out; see daybook verify",
                      counted(*holes, "damaged event was", "damaged events were")));
    }
    return {};
  };
  return {};
}

Result<void> use_logs(Context& context, const Arguments& arguments, Calls& calls) {
  DAYBOOK_TRY(check_no_journal(arguments));
  auto paths = given_logs(context, arguments);
  if (!paths) return fail(paths.error());
  calls.exit_code_of_losses = kExitLosses;
  calls.visit = [paths = std::move(*paths), &context,
                 &calls](const CacheCallVisitor& visit) -> Result<void> {
    const auto name_session = [&](const std::set<std::string>& sessions) -> Result<void> {
      const std::string given = calls.given_session();
      if (given.empty()) return {};
      const auto session = find_log_session(given, sessions);
      if (!session) return fail(session.error());
      calls.set_session(*session);
      return {};
    };
    auto losses = visit_cache_log_calls(paths, context.err, name_session, visit);
    if (!losses) return fail(losses.error());
    calls.losses = std::move(*losses);
    return {};
  };
  return {};
}

/// A model whose provider a log does not name has the rules of whom its price is.
class Vendors {
 public:
  explicit Vendors(const replay::PriceBook& prices) : prices_(prices) {}

  void name(replay::CacheCall& call) {
    if (replay::CacheRuleBook::shipped().knows(call)) return;
    const auto [found, fresh] = known_.try_emplace({call.scope.provider, call.scope.model});
    if (fresh) {
      const auto rows = prices_.rows_for(call.scope.provider, call.scope.model);
      const bool one = !rows.empty() && std::ranges::all_of(rows, [&](const auto* row) {
        return row->provider == rows.front()->provider;
      });
      if (one) found->second = rows.front()->provider;
    }
    if (!found->second.empty()) call.provider_kind = found->second;
  }

 private:
  const replay::PriceBook& prices_;
  std::map<std::pair<std::string, std::string>, std::string> known_;  // "": nobody's, or several'
};

/// The call that --why names, or what to say when there is none.
class Search {
 public:
  explicit Search(const WantedCall& wanted) : wanted_(wanted) {}

  bool matches(const replay::CacheCall& call) {
    const bool here = call.session == wanted_.session && wanted_.event_id.empty();
    if (call.original) {
      // In files a copy has no number, and by its id the original was met before.
      const bool copy = here && call.version != 0 &&
                        wanted_.matches(call.session, call.version, call.request_version, call.id);
      if (copy) original_ = call.original;
      return false;
    }
    if (here && (nearest_ == 0 || distance(call.version) < distance(nearest_))) {
      nearest_ = call.version;
    }
    return wanted_.matches(call.session, call.version, call.request_version, call.id);
  }

  Error not_found() const {
    const auto error = [&](std::string_view more) {
      return Error{ErrorCode::not_found,
                   fmt::format("there is no call '{}'{}", wanted_.shown(), more)};
    };
    if (original_) {
      return error(fmt::format(" that counts: it is a copy of {}:{}", original_->session,
                               original_->version));
    }
    if (nearest_ != 0) {
      return error(fmt::format("; the nearest of its session is {}:{}", wanted_.session, nearest_));
    }
    return error(
        ": name one as SESSION:VERSION or by its id, as the table of calls of daybook cache does");
  }

 private:
  std::uint64_t distance(std::uint64_t version) const {
    return std::max(version, wanted_.version) - std::min(version, wanted_.version);
  }

  const WantedCall& wanted_;
  std::uint64_t nearest_ = 0;
  std::shared_ptr<const replay::OriginalCall> original_;
};

Result<int> why(Context& context, const Arguments& arguments, Calls& calls,
                const replay::PriceBook& prices) {
  const auto& book = replay::CacheRuleBook::shipped();
  replay::CacheAttributor attributor(book, calls.bytes);
  Search search(*calls.wanted);
  bool found = false;
  DAYBOOK_TRY(calls.visit([&](replay::CacheCall call) {
    const bool wanted = search.matches(call);
    if (call.original) {
      attributor.adopt(std::move(call));
      return true;
    }
    const auto verdict = attributor.take(std::move(call));
    if (!wanted) return true;
    found = true;
    const auto money = money_of(verdict, price_of(prices, *verdict.call));
    if (arguments.flag("--json")) {
      print_cache_call_json(context.out, verdict, money, book.rules(*verdict.call), calls.bytes);
    } else {
      print_cache_call(context, verdict, money, book.rules(*verdict.call), calls.bytes);
    }
    return false;
  }));
  if (found) return kExitOk;
  return fail(search.not_found());
}

/// Another model must have a price, or the comparison says nothing.
Result<void> check_model(const replay::CachePolicy& policy, const replay::PriceBook& prices) {
  if (policy.model.empty() || !prices.rows_for(policy.provider, policy.model).empty()) return {};
  std::vector<std::string> known;
  for (const auto& row : prices.rows()) {
    for (const std::string& model : row.models) known.push_back(row.provider + ':' + model);
  }
  const std::string name = policy.provider + ':' + policy.model;
  const std::string near = engine::nearest(name, known);
  return fail(ErrorCode::invalid_argument,
              fmt::format("--what-if model={}: there is no price for this model{}; docs/prices.md "
                          "tells how to add one",
                          name, near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

/// What could not be compared, and whether that leaves anything to show.
struct Refusals {
  std::uint64_t compared = 0;
  std::uint64_t skipped = 0;
  std::map<std::string, std::uint64_t> reasons;

  Result<void> check() const {
    if (compared == 0 && skipped > 0) {
      return fail(ErrorCode::invalid_argument,
                  "--what-if needs the requests of the calls, and none of these has one: logs are "
                  "read for their figures only, `daybook import` first keeps their transcripts");
    }
    for (const auto& [reason, calls] : reasons) {
      if (calls == compared) {
        return fail(ErrorCode::invalid_argument, fmt::format("--what-if {}", reason));
      }
    }
    return {};
  }
};

Result<replay::CachePolicy> policy_of(const Arguments& arguments, const replay::PriceBook& prices) {
  replay::CachePolicy policy;
  for (const std::string& text : arguments.list("--what-if")) {
    DAYBOOK_TRY(replay::CachePolicy::add(policy, text));
  }
  DAYBOOK_TRY(check_model(policy, prices));
  return policy;
}

Result<int> what_if(Context& context, const Arguments& arguments, Calls& calls,
                    const replay::PriceBook& prices, const replay::CachePolicy& policy) {
  const auto& book = replay::CacheRuleBook::shipped();
  replay::WhatIf both(book, policy);
  WhatIfReport report(policy, arguments.number("--calls").value_or(kCallsShown));
  Refusals refusals;
  replay::CallPrices recorded_prices(prices);
  DAYBOOK_TRY(calls.visit([&](const replay::CacheCall& call) {
    if (call.original) {
      both.adopt(call);
      return true;
    }
    const auto made = both.take(call);
    if (!calls.wants(call)) return true;
    if (!made) {
      ++refusals.skipped;
      report.skip();
      return true;
    }
    ++refusals.compared;
    replay::CacheCall other = call;
    if (!policy.model.empty()) {
      other.scope.provider = other.provider_kind = policy.provider;
      other.scope.model = policy.model;
    }
    if (const std::string reason = policy.refusal(other, book.rules(other)); !reason.empty()) {
      ++refusals.reasons[reason];
    }
    const auto pinged = made->pinged ? rates_of(prices, *made->pinged) : replay::CacheRates{};
    report.add(*made, recorded_prices.of(call).total, rates_of(prices, call),
               {rates_of(prices, other), pinged});
    return true;
  }));
  DAYBOOK_TRY(refusals.check());
  for (const replay::LatePings& late : both.late_pings()) {
    if (calls.wants(*late.call)) report.add_late(late, rates_of(prices, *late.call));
  }
  for (const auto& [reason, count] : refusals.reasons) report.note(reason, count);
  calls.tell_nothing(context, refusals.compared + refusals.skipped);
  if (arguments.flag("--json")) {
    report.print_json(context.out, calls.undated);
  } else if (refusals.compared == 0) {
    context.out << "0 calls to compare\n";
  } else {
    report.print(context);
  }
  return calls.exit_code(context);
}

Result<int> losses(Context& context, const Arguments& arguments, Calls& calls,
                   const replay::PriceBook& prices) {
  replay::CacheAttributor attributor(replay::CacheRuleBook::shipped(), calls.bytes);
  replay::CacheReport report(arguments.number("--calls").value_or(kCallsShown));
  replay::CallPrices rates(prices);
  DAYBOOK_TRY(calls.visit([&](replay::CacheCall call) {
    if (call.original) {
      report.add_copy(call);
      attributor.adopt(std::move(call));
      return true;
    }
    const auto verdict = attributor.take(std::move(call));
    const auto money = money_of(verdict, rates.of(*verdict.call));
    if (calls.wants(*verdict.call)) {
      report.add(verdict, money);
    } else {
      report.add_unreported(verdict, money);
    }
    return true;
  }));
  DAYBOOK_CHECK(report.conserved());
  calls.tell_nothing(context, report.calls);
  if (arguments.flag("--json")) {
    print_cache_json(context.out, report, calls.undated);
  } else {
    print_cache_report(context, report);
  }
  return calls.exit_code(context);
}

Result<void> check_options(const Arguments& arguments) {
  if (!arguments.text("--why")) return {};
  for (const char* option : {"--what-if", "--session", "--since", "--until", "--calls"}) {
    const bool given = std::string_view(option) == "--calls" ? arguments.number(option).has_value()
                                                             : !arguments.list(option).empty();
    if (!given) continue;
    return fail(ErrorCode::invalid_argument,
                fmt::format("--why explains one call: {} does not go with it", option));
  }
  return {};
}

Result<int> run(Context& context, const Arguments& arguments) {
  DAYBOOK_TRY(check_options(arguments));
  const auto prices = open_prices(context, arguments);
  if (!prices) return fail(prices.error());
  const auto policy = policy_of(arguments, *prices);
  if (!policy) return fail(policy.error());
  const auto calendar = calendar_of(context, arguments);
  if (!calendar) return fail(calendar.error());
  const auto span = span_of(arguments, *calendar);
  if (!span) return fail(span.error());
  Calls calls;
  calls.span = *span;
  calls.session = arguments.text("--session").value_or("");
  if (const auto text = arguments.text("--why")) {
    auto wanted = parse_wanted_call(*text);
    if (!wanted) return fail(std::move(wanted.error()));
    calls.wanted = std::move(*wanted);
  }
  if (arguments.list("PATH").empty()) {
    auto journal = open_for_reading(context, arguments);
    if (!journal) return fail(journal.error());
    DAYBOOK_TRY(use_journal(std::move(*journal), calls));
  } else {
    DAYBOOK_TRY(use_logs(context, arguments, calls));
  }
  calls.visit = [given = std::move(calls.visit),
                 vendors = std::make_shared<Vendors>(*prices)](const CacheCallVisitor& visit) {
    return given([&](replay::CacheCall call) {
      vendors->name(call);
      return visit(std::move(call));
    });
  };
  if (calls.wanted) return why(context, arguments, calls, *prices);
  if (arguments.flag("--what-if")) return what_if(context, arguments, calls, *prices, *policy);
  return losses(context, arguments, calls, *prices);
}

}  // namespace

Command cache_command() {
  return {
      "cache",
      "Say why calls missed the prompt cache, and what that cost",
      {{"PATH", "log file or folder to read instead of the journal", false, true}},
      {{"--session", ValueKind::text, "SESSION", "only this session's calls"},
       {"--since", ValueKind::text, "DATE", "calls from this day or time on"},
       {"--until", ValueKind::text, "DATE", "calls to the end of this day, or before a time"},
       {"--timezone", ValueKind::text, "NAME",
        "zone that days are of, such as Europe/Berlin (default: the system's)"},
       {"--why", ValueKind::text, "CALL", "explain one call: SESSION:VERSION, or its id"},
       {"--what-if", ValueKind::list, "POLICY",
        "simulate another policy: 1h, stable-tools, stable-system, no-clock, keep-warm[=SECONDS], "
        "compact=TOKENS, model=PROVIDER:MODEL"},
       {"--prices", ValueKind::text, "FILE", "prices that go over the shipped ones"},
       {"--calls", ValueKind::number, "N", "how many of the costliest calls to list"}},
      run};
}

}  // namespace daybook::tools
