#include <fmt/format.h>

#include <charconv>
#include <ostream>

#include "replay/cache_what_if.h"
#include "tools/cache_calls.h"
#include "tools/cache_text.h"
#include "tools/cache_what_if_text.h"
#include "tools/command.h"
#include "tools/open_prices.h"
#include "tools/read_journal.h"

namespace daybook::tools {
namespace {

constexpr std::uint64_t kCallsShown = 20;

struct CallName {
  std::string session;
  std::uint64_t version = 0;
};

Result<CallName> call_named(journal::Journal& journal, const std::string& text) {
  const std::size_t at = text.rfind(':');
  CallName name;
  const char* end = text.data() + text.size();
  const bool good = at != std::string::npos && at > 0 &&
                    std::from_chars(text.data() + at + 1, end, name.version).ptr == end &&
                    name.version != 0;
  if (!good) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("'{}' names no call: use SESSION:VERSION, as the table of calls has it", text));
  }
  const auto info = find_session(journal, text.substr(0, at));
  if (!info) return fail(info.error());
  name.session = info->session.str();
  return name;
}

Result<int> why(Context& context, const Arguments& arguments, journal::Journal& journal,
                const replay::PriceBook& prices) {
  const auto name = call_named(journal, *arguments.text("--why"));
  if (!name) return fail(name.error());
  const auto bytes = segment_bytes(journal);
  const auto& book = replay::CacheRuleBook::shipped();
  replay::CacheAttributor attributor(book, bytes);
  bool found = false;
  const auto read = visit_cache_calls(journal, "", [&](replay::CacheCall call) {
    const bool wanted = call.session == name->session && call.version == name->version;
    const auto verdict = attributor.take(std::move(call));
    if (!wanted) return true;
    found = true;
    const auto money = money_of(verdict, replay::rates_of(prices, *verdict.call));
    if (arguments.flag("--json")) {
      print_cache_call_json(context.out, verdict, money, bytes);
    } else {
      print_cache_call(context, verdict, money, book.rules(*verdict.call), bytes);
    }
    return false;
  });
  if (!read) return fail(read.error());
  if (!found) {
    return fail(ErrorCode::not_found,
                fmt::format("session {} has no answer of a model at version {}; the table of calls "
                            "of daybook cache lists some that have",
                            name->session, name->version));
  }
  return kExitOk;
}

/// Takes every call that --session allows, in order.
Result<std::uint64_t> visit_wanted(journal::Journal& journal, const std::string& only,
                                   const std::function<void(const replay::CacheCall&)>& visit) {
  return visit_cache_calls(journal, only, [&](const replay::CacheCall& call) {
    visit(call);
    return true;
  });
}

Result<int> what_if(Context& context, const Arguments& arguments, journal::Journal& journal,
                    const std::string& only, const replay::PriceBook& prices) {
  replay::CachePolicy policy;
  for (const std::string& text : arguments.list("--what-if")) {
    DAYBOOK_TRY(replay::CachePolicy::add(policy, text));
  }
  const auto& book = replay::CacheRuleBook::shipped();
  replay::WhatIf both(book, policy);
  WhatIfReport report(policy, arguments.number("--calls").value_or(kCallsShown));
  const auto holes = visit_wanted(journal, only, [&](const replay::CacheCall& call) {
    const auto made = both.take(call);
    if (!made) return report.skip();
    replay::CacheCall other = call;
    if (!policy.model.empty()) {
      other.scope.provider = other.provider_kind = policy.provider;
      other.scope.model = policy.model;
    }
    report.add(*made, rates_of(prices, call), rates_of(prices, other));
  });
  if (!holes) return fail(holes.error());
  if (arguments.flag("--json")) {
    report.print_json(context.out);
  } else {
    report.print(context);
  }
  return *holes > 0 ? kExitDamaged : kExitOk;
}

Result<int> run(Context& context, const Arguments& arguments) {
  const auto journal = open_for_reading(context, arguments);
  if (!journal) return fail(journal.error());
  const auto opened = open_prices(context, arguments);
  if (!opened) return fail(opened.error());
  const replay::PriceBook& prices = *opened;
  if (arguments.text("--why")) return why(context, arguments, **journal, prices);
  std::string only;
  if (const auto given = arguments.text("--session")) {
    const auto info = find_session(**journal, *given);
    if (!info) return fail(info.error());
    only = info->session.str();
  }
  if (arguments.flag("--what-if")) return what_if(context, arguments, **journal, only, prices);
  replay::CacheAttributor attributor(replay::CacheRuleBook::shipped(), segment_bytes(**journal));
  replay::CacheReport report(arguments.number("--calls").value_or(kCallsShown));
  // Other sessions are looked at, too: what they cached could have been read.
  const auto holes = visit_cache_calls(**journal, "", [&](replay::CacheCall call) {
    const auto verdict = attributor.take(std::move(call));
    if (only.empty() || verdict.call->session == only) {
      report.add(verdict, money_of(verdict, replay::rates_of(prices, *verdict.call)));
    }
    return true;
  });
  if (!holes) return fail(holes.error());
  DAYBOOK_CHECK(report.conserved());
  if (arguments.flag("--json")) {
    print_cache_json(context.out, report);
  } else {
    print_cache_report(context, report);
  }
  if (*holes > 0) {
    context.err << fmt::format("daybook: {} damaged events were left out; see daybook verify\n",
                               *holes);
    return kExitDamaged;
  }
  return kExitOk;
}

}  // namespace

Command cache_command() {
  return {"cache",
          "Say why calls missed the prompt cache, and what that cost",
          {},
          {{"--session", ValueKind::text, "SESSION", "only this session's calls"},
           {"--why", ValueKind::text, "SESSION:VERSION", "explain one call"},
           {"--what-if", ValueKind::list, "POLICY",
            "simulate another policy: 1h, stable-tools, stable-system, no-clock, keep-warm[=S], "
            "compact=TOKENS, model=PROVIDER:MODEL"},
           {"--prices", ValueKind::text, "FILE", "prices that go over the shipped ones"},
           {"--calls", ValueKind::number, "N", "how many of the costliest calls to list"}},
          run};
}

}  // namespace daybook::tools
