#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "replay/cache_what_if.h"
#include "tools/cache_calls.h"
#include "tools/cache_text.h"
#include "tools/cache_what_if_text.h"
#include "tools/command.h"
#include "tools/format.h"
#include "tools/open_prices.h"
#include "tools/read_journal.h"

namespace daybook::tools {
namespace {

constexpr std::uint64_t kCallsShown = 20;

/// Where the calls come from, and what was lost on the way.
struct Calls {
  std::function<Result<void>(const CacheCallVisitor&)> visit;
  replay::SegmentBytes bytes;  // empty: figures only
  std::string session;         // that --session names; "": all
  std::vector<std::string> losses = {};
  ExitCode exit_code_of_losses = kExitDamaged;

  bool wants(const replay::CacheCall& call) const {
    return session.empty() || call.session == session;
  }
  int exit_code(Context& context) const {
    for (const std::string& loss : losses) context.err << "daybook: " << one_line(loss) << '\n';
    return losses.empty() ? kExitOk : exit_code_of_losses;
  }
};

/// Every session is looked at, also when one is named: what the others cached could be read.
Result<void> use_journal(const std::shared_ptr<journal::Journal>& journal,
                         const Arguments& arguments, Calls& calls) {
  if (const auto given = arguments.text("--session")) {
    const auto info = find_session(*journal, *given);
    if (!info) return fail(info.error());
    calls.session = info->session.str();
  }
  calls.bytes = segment_bytes(*journal);
  calls.visit = [journal, &calls](const CacheCallVisitor& visit) -> Result<void> {
    const auto holes = visit_cache_calls(*journal, "", visit);
    if (!holes) return fail(holes.error());
    if (*holes > 0) {
      calls.losses.push_back(
          fmt::format("{} damaged events were left out; see daybook verify", *holes));
    }
    return {};
  };
  return {};
}

void use_logs(const Context& context, const Arguments& arguments, Calls& calls) {
  std::vector<std::string> paths;
  for (const std::string& path : arguments.list("PATH")) {
    paths.push_back(path.starts_with('/') ? path : context.current_folder + '/' + path);
  }
  calls.session = arguments.text("--session").value_or("");
  calls.exit_code_of_losses = kExitLosses;
  calls.visit = [paths = std::move(paths), &calls](const CacheCallVisitor& visit) -> Result<void> {
    auto losses = visit_cache_log_calls(paths, visit);
    if (!losses) return fail(std::move(losses.error()));
    for (const std::string& file : losses->files) {
      calls.losses.push_back(file + "; its calls are missing");
    }
    if (losses->conflicts > 0) {
      calls.losses.push_back(fmt::format(
          "of {} responses the records disagree: their figures are left out", losses->conflicts));
    }
    if (losses->damaged_lines > 0) {
      calls.losses.push_back(
          fmt::format("{} damaged lines were left out; `daybook import --dry-run` names them",
                      losses->damaged_lines));
    }
    return {};
  };
}

/// Whether `name` is SESSION:VERSION of the call, or its id.
bool is_named(const replay::CacheCall& call, std::string_view name) {
  return call.id == name ||
         (call.version != 0 && name == fmt::format("{}:{}", call.session, call.version));
}

Result<int> why(Context& context, const Arguments& arguments, Calls& calls,
                const replay::PriceBook& prices) {
  const std::string name = *arguments.text("--why");
  const auto& book = replay::CacheRuleBook::shipped();
  replay::CacheAttributor attributor(book, calls.bytes);
  bool found = false;
  DAYBOOK_TRY(calls.visit([&](replay::CacheCall call) {
    const bool wanted = is_named(call, name);
    const auto verdict = attributor.take(std::move(call));
    if (!wanted) return true;
    found = true;
    const auto money = money_of(verdict, replay::rates_of(prices, *verdict.call));
    if (arguments.flag("--json")) {
      print_cache_call_json(context.out, verdict, money, calls.bytes);
    } else {
      print_cache_call(context, verdict, money, book.rules(*verdict.call), calls.bytes);
    }
    return false;
  }));
  if (found) return kExitOk;
  return fail(ErrorCode::not_found,
              fmt::format("there is no call '{}': name one as SESSION:VERSION or by its id, as the "
                          "table of calls of daybook cache does",
                          name));
}

Result<int> what_if(Context& context, const Arguments& arguments, Calls& calls,
                    const replay::PriceBook& prices) {
  replay::CachePolicy policy;
  for (const std::string& text : arguments.list("--what-if")) {
    DAYBOOK_TRY(replay::CachePolicy::add(policy, text));
  }
  replay::WhatIf both(replay::CacheRuleBook::shipped(), policy);
  WhatIfReport report(policy, arguments.number("--calls").value_or(kCallsShown));
  DAYBOOK_TRY(calls.visit([&](const replay::CacheCall& call) {
    const auto made = both.take(call);
    if (!calls.wants(call)) return true;
    if (!made) {
      report.skip();
      return true;
    }
    replay::CacheCall other = call;
    if (!policy.model.empty()) {
      other.scope.provider = other.provider_kind = policy.provider;
      other.scope.model = policy.model;
    }
    report.add(*made, rates_of(prices, call), rates_of(prices, other));
    return true;
  }));
  if (arguments.flag("--json")) {
    report.print_json(context.out);
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
    const auto verdict = attributor.take(std::move(call));
    if (calls.wants(*verdict.call)) {
      report.add(verdict, money_of(verdict, rates.of(*verdict.call)));
    }
    return true;
  }));
  DAYBOOK_CHECK(report.conserved());
  if (arguments.flag("--json")) {
    print_cache_json(context.out, report);
  } else {
    print_cache_report(context, report);
  }
  return calls.exit_code(context);
}

Result<int> run(Context& context, const Arguments& arguments) {
  const auto prices = open_prices(context, arguments);
  if (!prices) return fail(prices.error());
  Calls calls;
  if (arguments.list("PATH").empty()) {
    auto journal = open_for_reading(context, arguments);
    if (!journal) return fail(journal.error());
    DAYBOOK_TRY(use_journal(std::move(*journal), arguments, calls));
  } else {
    use_logs(context, arguments, calls);
  }
  if (arguments.text("--why")) return why(context, arguments, calls, *prices);
  if (arguments.flag("--what-if")) return what_if(context, arguments, calls, *prices);
  return losses(context, arguments, calls, *prices);
}

}  // namespace

Command cache_command() {
  return {"cache",
          "Say why calls missed the prompt cache, and what that cost",
          {{"PATH", "log file or folder to read instead of the journal", false, true}},
          {{"--session", ValueKind::text, "SESSION", "only this session's calls"},
           {"--why", ValueKind::text, "CALL", "explain one call: SESSION:VERSION, or its id"},
           {"--what-if", ValueKind::list, "POLICY",
            "simulate another policy: 1h, stable-tools, stable-system, no-clock, keep-warm[=S], "
            "compact=TOKENS, model=PROVIDER:MODEL"},
           {"--prices", ValueKind::text, "FILE", "prices that go over the shipped ones"},
           {"--calls", ValueKind::number, "N", "how many of the costliest calls to list"}},
          run};
}

}  // namespace daybook::tools
