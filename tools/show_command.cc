#include <fmt/format.h>

#include <ostream>

#include "tools/command.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/read_journal.h"
#include "tools/transcript.h"

namespace daybook::tools {
namespace {

/// Lines of a call's arguments or result that people see; log --full has all of them.
constexpr std::size_t kShortLines = 12;

std::string json_of(const TranscriptItem& item) {
  JsonWriter out;
  out.begin_object().member("version", item.version);
  if (item.at_ns != 0) out.member("recorded_at", rfc3339(item.at_ns));
  out.member("turn", item.turn).member("kind", item.kind).member("title", item.title);
  if (!item.body.empty()) out.member("body", item.body);
  return out.end_object().text();
}

bool is_long(const TranscriptItem& item) {
  return item.kind == "call" || item.kind == "result" || item.kind == "reasoning";
}

std::string_view colour_of(const TranscriptItem& item) {
  if (item.kind == "hole" || item.kind == "failure" || item.kind == "unknown") return "\x1b[31m";
  if (item.kind == "prompt" || item.kind == "text") return "\x1b[1m";
  return "\x1b[2m";
}

void print_body(std::ostream& out, const TranscriptItem& item) {
  const std::string text = printable(item.body);
  std::string_view rest = text;
  while (rest.ends_with('\n')) rest.remove_suffix(1);
  for (std::size_t lines = 0; !rest.empty(); ++lines) {
    if (is_long(item) && lines == kShortLines) {
      out << fmt::format("    ... {} more bytes\n", rest.size());
      return;
    }
    const std::size_t end = rest.find('\n');
    out << "    " << rest.substr(0, end) << '\n';
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
}

void print_item(Context& context, const TranscriptItem& item) {
  const bool colour = context.colour();
  context.out << fmt::format("{:>5}  ", item.version);
  if (colour) context.out << colour_of(item);
  context.out << one_line(item.title);
  if (colour) context.out << "\x1b[0m";
  context.out << '\n';
  print_body(context.out, item);
}

Result<int> run(Context& context, const Arguments& arguments) {
  const auto journal = open_for_reading(context, arguments);
  if (!journal) return fail(journal.error());
  const auto info = find_session(**journal, *arguments.text("SESSION"));
  if (!info) return fail(info.error());
  const std::uint64_t last = arguments.number("--at").value_or(info->head.version);
  DAYBOOK_TRY(check_version(*info, last));
  bool damaged = false;
  Transcript transcript(**journal);
  DAYBOOK_TRY((*journal)->read(info->session, 1, journal::ReadMode::lenient,
                               [&](const journal::Entry& entry) {
                                 if (entry.version > last) return false;
                                 for (const TranscriptItem& item : transcript.items(entry)) {
                                   damaged = damaged || item.kind == "hole";
                                   if (arguments.flag("--json")) {
                                     context.out << json_of(item) << '\n';
                                   } else {
                                     print_item(context, item);
                                   }
                                 }
                                 return context.out.good();
                               }));
  return damaged ? kExitDamaged : kExitOk;
}

}  // namespace

Command show_command() {
  return {"show",
          "Print a session as a readable transcript",
          {{"SESSION", "name of a session, or a start of it"}},
          {{"--at", ValueKind::number, "VERSION", "stop after this version"}},
          run};
}

}  // namespace daybook::tools
