#include <fmt/format.h>

#include <ostream>

#include "replay/recorded_compaction.h"
#include "tools/counted.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/read_journal.h"
#include "tools/replay_actions.h"
#include "tools/replay_cases.h"
#include "tools/table.h"

namespace daybook::tools {
namespace {

std::string json_of(const replay::RecordedCompaction& each) {
  JsonWriter out;
  out.begin_object().member("id", each.id()).member("session", each.session.str());
  out.member("version", each.version).member("number", each.number);
  out.member("source", each.source).member("trigger", each.trigger);
  if (each.at != 0) out.member("at", rfc3339(each.at));
  out.member("first", each.first).member("last", each.last);
  if (each.tokens_before != 0) out.member("tokens_before", each.tokens_before);
  if (each.tokens_after != 0) out.member("tokens_after", each.tokens_after);
  out.member("end", replay::name_of(each.end));
  // Other programs' logs do not tell which calls were the summariser's.
  if (each.missing.empty()) out.member("calls", each.calls);
  out.member("pieces", each.pieces);
  out.member("missing", each.missing);
  return out.end_object().text();
}

std::string tokens(std::uint64_t count) {
  return count == 0 ? "?" : std::to_string(count);
}

}  // namespace

Result<int> replay_list(Context& context, const Arguments& arguments) {
  if (!arguments.list("OPERAND").empty()) {
    return fail(ErrorCode::invalid_argument,
                "'replay list' takes no operand; name sessions with --sessions");
  }
  auto journal = open_for_reading(context, arguments);
  if (!journal) return fail(std::move(journal.error()));
  auto cases = wanted_compactions(**journal, arguments.list("--sessions"));
  if (!cases) return fail(std::move(cases.error()));
  if (arguments.flag("--json")) {
    for (const auto& each : *cases) context.out << json_of(each) << '\n';
    return kExitOk;
  }
  if (cases->empty()) {
    context.err << "no compaction is recorded; sessions compact by themselves when they grow long, "
                   "and 'daybook import' brings those of other programs\n";
    return kExitOk;
  }
  Table table({"ID", "FROM", "WHEN", "TRIGGER", "TOKENS", "END", "CALLS"});
  bool imported = false;
  std::uint64_t unknown = 0;
  std::uint64_t empty = 0;
  for (const auto& each : *cases) {
    imported = imported || !each.missing.empty();
    unknown += each.end == replay::CompactionEnd::unknown ? 1 : 0;
    empty += each.pieces == 0 ? 1 : 0;
    table.add({each.id(), each.source, each.at == 0 ? "?" : short_time(each.at), each.trigger,
               fmt::format("{} to {}", tokens(each.tokens_before), tokens(each.tokens_after)),
               std::string(replay::name_of(each.end)),
               each.missing.empty() ? std::to_string(each.calls) : "?"});
  }
  table.print(context.out, context.columns, context.colour());
  if (imported) {
    context.err << "imported ones lack the request's exact bytes, its instruction and the system "
                   "prompt; --json says what each lacks\n";
  }
  if (unknown > 0) {
    context.err << fmt::format("END is unknown of {}: the log holds no summary of it\n", unknown);
  }
  if (empty > 0) {
    context.err << fmt::format("{} cannot be replayed: nothing of what was replaced is recorded\n",
                               counted(empty, "compaction"));
  }
  return kExitOk;
}

}  // namespace daybook::tools
