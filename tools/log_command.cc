#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <ostream>

#include "tools/command.h"
#include "tools/event_json.h"
#include "tools/fd_stream.h"
#include "tools/read_journal.h"

namespace daybook::tools {
namespace {

/// Longest content shown without --full.
constexpr std::size_t kContentLimit = 4'096;
constexpr std::chrono::milliseconds kPollInterval{200};

/// False once the caller should stop.
bool wait_for_more(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, stop, kPollInterval, [] { return false; });
  return !stop.stop_requested();
}

Result<int> run(Context& context, const Arguments& arguments) {
  const auto opened = open_for_reading(context, arguments);
  if (!opened) return fail(opened.error());
  journal::Journal& journal = **opened;
  const auto info = find_session(journal, *arguments.text("SESSION"));
  if (!info) return fail(info.error());

  EventJsonOptions options{&journal, kContentLimit};
  if (arguments.flag("--full")) options.content_limit = std::string::npos;
  std::uint64_t next = arguments.number("--from").value_or(1);
  // What follows may not be there yet.
  if (!arguments.flag("--follow") || next == 0) DAYBOOK_TRY(check_version(*info, next));
  bool damaged = false;
  do {
    DAYBOOK_TRY(journal.read(info->session, next, journal::ReadMode::lenient,
                             [&](const journal::Entry& entry) {
                               const auto json = event_json(entry, options);
                               context.out << json.text << '\n';
                               damaged = damaged || json.damaged;
                               next = std::max(next, entry.version + 1);
                               return context.out.good();
                             }));
    context.out.flush();
    if (!arguments.flag("--follow") || !context.out.good()) break;
    const auto* out = dynamic_cast<const FdBuffer*>(context.out.rdbuf());
    if (out != nullptr && out->reader_is_gone()) break;
    if (!wait_for_more(context.stop)) break;
    DAYBOOK_TRY(journal.refresh());
  } while (true);
  return damaged ? kExitDamaged : kExitOk;
}

}  // namespace

Command log_command() {
  return {"log",
          "Print a session's events, one JSON object a line",
          {{"SESSION", "name of a session, or a start of it"}},
          {{"--follow", ValueKind::flag, "", "go on with new events until interrupted"},
           {"--from", ValueKind::number, "VERSION", "first event to print"},
           {"--full", ValueKind::flag, "", "print contents whole, however long"}},
          run};
}

}  // namespace daybook::tools
