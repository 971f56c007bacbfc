// Findings of the cache analysis for people and in JSON.
#pragma once

#include <iosfwd>

#include "replay/cache_report.h"
#include "tools/command.h"
#include "tools/json_writer.h"

namespace daybook::tools {

void print_cache_report(Context& context, const replay::CacheReport& report);
/// Lines: one "total", then "cause", "introduced", "session", "call", "vendor".
/// `undated`: calls without a time, which no span holds.
void print_cache_json(std::ostream& out, const replay::CacheReport& report, std::uint64_t undated);

/// Why one call missed: the first difference, the rule, the money, the remedy.
void print_cache_call(Context& context, const replay::CallVerdict& verdict,
                      const replay::CallMoney& money, const replay::CacheRules& rules,
                      const replay::SegmentBytes& bytes);
void print_cache_call_json(std::ostream& out, const replay::CallVerdict& verdict,
                           const replay::CallMoney& money, const replay::CacheRules& rules,
                           const replay::SegmentBytes& bytes);

std::string_view evidence_name(schema::Evidence evidence);

/// A member with the two ends of a cost: {"low":"0.1","high":"0.12"}.
void write_money(JsonWriter& out, std::string_view name, const replay::MoneyRange& money);

/// A member with a log's time (UTC ns), null for 0: the log does not tell it.
void write_log_time(JsonWriter& out, std::string_view name, std::int64_t at);

}  // namespace daybook::tools
