#include "tools/log_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/log_parts.h"
#include "tools/log_readers.h"
#include "tools/log_restore.h"

namespace daybook::tools {

std::string_view name_of(LogKind kind) {
  switch (kind) {
    case LogKind::claude_code:
      return "claude-code";
    case LogKind::codex:
      return "codex";
    case LogKind::openworker:
      return "openworker";
    case LogKind::atif:
      return "atif";
    case LogKind::daybook:
      return "daybook";
  }
  return "";
}

SkippedFile unread_file(const std::string& path, const Error& error) {
  const std::string& message = error.message;
  const bool named = message.starts_with(path + " ");
  return {path, named ? message.substr(path.size() + 1) : message};
}

std::string DamagedLine::text() const {
  return fmt::format("{}, offset {}: {}", file, offset, what);
}

void LogReport::add(const LogReport& other) {
  bytes += other.bytes;
  committed += other.committed;
  lines += other.lines;
  calls += other.calls;
  events += other.events;
  metadata += other.metadata;
  duplicates += other.duplicates;
  unmapped += other.unmapped;
  damaged += other.damaged;
  conflicts += other.conflicts;
  damage.insert(damage.end(), other.damage.begin(), other.damage.end());
  for (const UnmappedType& type : other.types) {
    const auto found = std::ranges::find(types, type.type, &UnmappedType::type);
    if (found != types.end()) {
      found->count += type.count;
    } else {
      types.push_back(type);
    }
  }
  unread.insert(unread.end(), other.unread.begin(), other.unread.end());
  for (const std::string& note : other.notes) {
    if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
  }
}

LogFinder finder_over(std::span<const LogSource> sources) {
  return [sources](LogKind kind, std::string_view log_session) -> std::optional<LogSource> {
    if (log_session.empty()) return {};
    // Of copies, the longest.
    const LogSource* longest = nullptr;
    for (const LogSource& source : sources) {
      if (source.kind != kind || source.thread != log_session) continue;
      if (longest == nullptr || whole_size(source) > whole_size(*longest)) longest = &source;
    }
    if (longest != nullptr) return *longest;
    for (const LogSource& source : sources) {
      if (source.kind != kind || !source.thread.empty()) continue;
      std::string_view stem = source.file;
      stem = stem.substr(0, stem.rfind(".json"));
      const bool names_it = stem.ends_with(log_session) ||
                            stem.find(fmt::format("{}_", log_session)) != std::string_view::npos;
      if (names_it) return source;
    }
    return {};
  };
}

Result<LogReport> read_log(const LogSource& source, const LogReadOptions& options, LogSink& sink) {
  auto bytes = open_log(source);
  if (!bytes) return fail(bytes.error());
  return read_log_bytes(source, options, **bytes, sink);
}

Result<LogReport> read_log_bytes(const LogSource& source, const LogReadOptions& options,
                                 ByteSource& bytes, LogSink& sink) {
  LogReading reading(source, options, bytes, sink);
  std::unique_ptr<RecordReader> reader;
  switch (source.kind) {
    case LogKind::claude_code:
      reader = make_claude_reader(reading);
      break;
    case LogKind::codex:
      if (source.document) {
        DAYBOOK_TRY(read_codex_document(reading, bytes));
        return std::move(reading.report());
      }
      reader = make_codex_reader(reading);
      break;
    case LogKind::openworker:
      reader = make_openworker_reader(reading);
      break;
    case LogKind::atif:
      DAYBOOK_TRY(read_atif(reading, bytes));
      return std::move(reading.report());
    case LogKind::daybook:
      if (options.depth == Depth::usage) {
        auto report = read_export_calls(bytes, sink);
        if (report) {
          for (DamagedLine& damage : report->damage) damage.file = source.path;
        }
        return report;
      }
      return fail(ErrorCode::unsupported,
                  fmt::format("{} is an export of Daybook: import it, its events are "
                              "put back as they are",
                              source.path));
  }
  DAYBOOK_TRY(read_records(reading, bytes, *reader));
  return std::move(reading.report());
}

}  // namespace daybook::tools
