#include "tools/log_codex_lines.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

#include "schema/ids.h"
#include "tools/log_codex_usage.h"
#include "tools/log_file.h"
#include "tools/log_identity.h"
#include "tools/log_parts.h"

namespace daybook::tools {
namespace {

/// Hashes of what names a line beyond doubt: ids that Codex gives once, and counters.
void strong_hashes(const CodexLine& line, std::vector<std::uint64_t>& hashes) {
  hashes.clear();
  if (!line.payload.is_object()) return;
  line.payload.members([&](std::string_view key, JsonSpan value) {
    const bool id = is_key(key, "call_id") || is_key(key, "turn_id") || is_key(key, "response_id");
    const bool counters = is_key(key, "info") && value.is_object() && line.kind.is("token_count");
    if ((id && value.is_string()) || counters) hashes.push_back(xxh3_64(as_bytes(value.raw())));
  });
}

template <class Visit>
void each_line(const LogSource& source, const Visit& visit) {
  auto bytes = open_log(source);
  if (!bytes) return;
  LineReader lines(**bytes);
  LogLine line;
  while (true) {
    const auto got = lines.next(line);
    if (!got || !*got) return;
    const auto record = JsonSpan::whole(line.text);
    if (record && !visit(CodexLine(*record), line, **bytes)) return;
  }
}

/// The folders in which a fork's parent may lie, when the fork alone was given: its own, those of
/// the other days (sessions/YYYY/MM/DD), and the archive.
std::vector<std::filesystem::path> folders_near(const LogSource& source) {
  namespace fs = std::filesystem;
  const fs::path own = fs::path(source.path).parent_path();
  const auto is_number = [](const fs::path& folder) {
    const std::string name = folder.filename().string();
    return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
  };
  const bool of_a_day =
      is_number(own) && is_number(own.parent_path()) && is_number(own.parent_path().parent_path());
  if (!of_a_day) return {own};
  const fs::path sessions = own.parent_path().parent_path().parent_path();
  return {sessions, sessions.parent_path() / "archived_sessions"};
}

/// A thread's log near another one, which alone was given.
std::optional<LogSource> log_near(const LogSource& source, const std::string& thread) {
  namespace fs = std::filesystem;
  if (thread.empty()) return {};
  std::vector<std::string> named;
  for (const fs::path& folder : folders_near(source)) {
    std::error_code error;
    fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied,
                                        error);
    const bool deep = folder != fs::path(source.path).parent_path();
    for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
      if (!deep) at.disable_recursion_pending();
      const bool names_it = at->path().filename().string().find(thread) != std::string::npos;
      std::error_code ignored;
      if (names_it && at->path() != source.path && at->is_regular_file(ignored)) {
        named.push_back(at->path().string());
      }
    }
  }
  const auto found = discover_logs(named);
  if (!found) return {};
  const std::vector<LogSource> joined = join_parts(found->sources);
  return finder_over(joined)(LogKind::codex, thread);
}

}  // namespace

CodexLine::CodexLine(JsonSpan record) {
  JsonSpan timestamp;
  JsonSpan bare_type;
  record.members([&](std::string_view key, JsonSpan value) {
    if (is_key(key, "type")) bare_type = value;
    if (is_key(key, "payload")) payload = value;
    if (is_key(key, "timestamp")) timestamp = value;
    if (is_key(key, "ordinal")) ordinal = value.count();
  });
  enveloped = payload.is_object();
  if (enveloped) {
    type = bare_type;
    kind = payload["type"];
  } else {
    payload = record;
    kind = bare_type;
  }
  const LogTime time = time_of(timestamp);
  at = time.at;
  time_wrong = time.wrong;
}

CodexOrigins::CodexOrigins(JsonSpan meta) {
  thread = meta["id"].text();
  if (thread.empty()) thread = meta["session_id"].text();
  const JsonSpan subagent = meta["source"]["subagent"];
  const JsonSpan spawn = subagent["thread_spawn"];
  forked = meta["forked_from_id"].text();
  parent = meta["parent_thread_id"].text();
  if (parent.empty()) parent = spawn["parent_thread_id"].text();
  agent = spawn["agent_role"].text();
  if (agent.empty()) agent = meta["agent_role"].text();
  const std::string thread_source = meta["thread_source"].text();
  if (spawn || thread_source == "subagent") {
    relation = schema::Relation::subagent;
  } else if (subagent || (!thread_source.empty() && thread_source != "user")) {
    relation = schema::Relation::side_call;
    if (agent.empty()) agent = subagent.is_string() ? subagent.text() : thread_source;
  } else if (!forked.empty()) {
    relation = schema::Relation::fork;
  }
  if (agent.empty()) agent = meta["originator"].text();
  if (parent.empty()) parent = forked;
  if (relation == schema::Relation::none && !parent.empty()) relation = schema::Relation::subagent;
  const std::string root = meta["session_id"].text();
  if (parent.empty() && relation != schema::Relation::none && root != thread) parent = root;
  history_start = meta["subagent_history_start_ordinal"].count();
}

namespace {

/// Which threads a file holds lines of besides its own, and how far the first second reaches.
struct ForeignPart {
  std::vector<std::string> threads;
  std::uint64_t burst_end = 0;
  std::uint64_t figures_end = 0;  // behind the last figures within the burst
  bool figures_in_burst = false;
};

ForeignPart foreign_part(const LogSource& source, const std::string& own_thread,
                         const std::string& forked_from, std::int64_t burst_at) {
  ForeignPart found;
  if (!forked_from.empty()) found.threads.push_back(forked_from);
  std::int64_t start = burst_at;
  bool in_burst = true;
  bool met_foreign = false;
  each_line(source, [&](const CodexLine& line, const LogLine& text, const ByteSource&) {
    const std::uint64_t end = text.offset + text.bytes.size();
    const bool meta = line.type.is("session_meta");
    if (meta) {
      const CodexOrigins origins(line.payload);
      const bool own = origins.thread == own_thread;
      // The header of a fork that copied none.
      if (own && !forked_from.empty() && start == 0) start = line.at;
      if (own) return true;
      if (std::ranges::find(found.threads, origins.thread) == found.threads.end()) {
        found.threads.push_back(origins.thread);
      }
      if (!met_foreign) {
        start = line.at;
        in_burst = true;
      }
      met_foreign = true;
    }
    if (start == 0) return true;
    in_burst = in_burst && line.at - start < kCodexBurstNs;
    if (in_burst || meta) found.burst_end = end;
    const bool figures = in_burst && line.kind.is("token_count");
    if (figures) found.figures_end = end;
    found.figures_in_burst = found.figures_in_burst || meta || figures;
    return true;
  });
  return found;
}

}  // namespace

std::optional<LogSource> codex_log(const LogSource& source, const LogFinder& finder,
                                   const std::string& thread) {
  auto found = finder ? finder(LogKind::codex, thread) : std::nullopt;
  return found && found->path != source.path ? found : log_near(source, thread);
}

void visit_codex_lines(
    const LogSource& source,
    const std::function<bool(const CodexLine&, const EarlierLine&, std::uint64_t at)>& visit) {
  each_line(source, [&](const CodexLine& line, const LogLine& text, const ByteSource& bytes) {
    const auto part = bytes.part_at(text.offset);
    const LogSource& file = part.number == 0 ? source : source.rest[part.number - 1];
    return visit(line, {text.text, file.file, text.offset - part.start, false, false}, text.offset);
  });
}

CodexCopied copied_history(const LogSource& source, const LogFinder& finder,
                           const std::string& own_thread, const std::string& forked_from,
                           std::int64_t burst_at) {
  const ForeignPart foreign = foreign_part(source, own_thread, forked_from, burst_at);
  CodexCopied found;
  std::unordered_set<std::uint64_t> known;
  std::vector<std::uint64_t> hashes;
  for (const std::string& thread : foreign.threads) {
    const auto parent = codex_log(source, finder, thread);
    if (!parent) {
      // The first one is the file that was copied, which holds what it copied itself.
      found.estimated = found.estimated || thread == foreign.threads.front();
      continue;
    }
    each_line(*parent, [&](const CodexLine& line, const LogLine&, const ByteSource&) {
      strong_hashes(line, hashes);
      known.insert(hashes.begin(), hashes.end());
      return true;
    });
  }
  found.estimated = found.estimated && foreign.figures_in_burst;
  // The parent went on after it was copied: what it has alone does not matter here. Lines of the
  // copied part that carry no id lie before one that does.
  bool after_foreign = !forked_from.empty();
  each_line(source, [&](const CodexLine& line, const LogLine& text, const ByteSource&) {
    const std::uint64_t end = text.offset + text.bytes.size();
    if (line.type.is("session_meta") && CodexOrigins(line.payload).thread != own_thread) {
      after_foreign = true;
      found.end = end;
      return true;
    }
    if (!after_foreign) return true;
    strong_hashes(line, hashes);
    const bool shared =
        std::ranges::any_of(hashes, [&](std::uint64_t hash) { return known.contains(hash); });
    if (shared) found.end = end;
    return true;
  });
  // A parent's file that was cut, or is damaged, does not hold all that was copied of it.
  if (found.end > 0 && found.end < foreign.figures_end) found.estimated = true;
  if (found.estimated) found.end = std::max(found.end, foreign.burst_end);
  return found;
}

std::unordered_set<std::string> conflicting_records(const LogSource& source,
                                                    const std::string& own_thread) {
  std::unordered_set<std::string> found;
  CodexCounter counter(false);
  each_line(source, [&](const CodexLine& line, const LogLine&, const ByteSource&) {
    if (!is_own_record(line, own_thread)) return true;
    CodexCount count;
    if (counter.record(line.payload, count) == CodexCounter::Record::conflicting) {
      found.insert(count.record);
    }
    return true;
  });
  return found;
}

bool is_own_record(const CodexLine& line, const std::string& own_thread) {
  if (!line.type.is("token_usage_record")) return false;
  const std::string thread = line.payload["thread_id"].text();
  return thread.empty() || thread == own_thread;
}

bool is_codex_call(JsonSpan item) {
  const JsonSpan type = item["type"];
  return type.is("function_call") || type.is("custom_tool_call") || type.is("local_shell_call");
}

std::string codex_tool(JsonSpan item) {
  const std::string name = item["name"].text();
  return name.empty() ? item["type"].text() : name;
}

std::optional<std::uint64_t> codex_searches(JsonSpan item) {
  // The latter in the output of `codex exec --json`.
  if (!item["type"].is("web_search_call") && !item["type"].is("web_search")) return {};
  const JsonSpan action = item["action"]["type"];
  if (!action.is_string()) return 0;
  return action.is("search") ? std::optional<std::uint64_t>(1) : std::nullopt;
}

std::string codex_text(JsonSpan content) {
  if (content.is_string()) return content.text();
  std::string out;
  content.items([&](JsonSpan item) {
    const JsonSpan text = item["text"];
    if (!text.is_string()) return;
    if (!out.empty()) out += '\n';
    out += text.text();
  });
  return out;
}

bool is_codex_context(std::string_view text) {
  constexpr std::array<std::string_view, 11> kStarts = {"# AGENTS.md",
                                                        "<environment_context",
                                                        "<user_instructions",
                                                        "<turn_aborted",
                                                        "<permissions",
                                                        "<INSTRUCTIONS",
                                                        "<skill",
                                                        "<hook",
                                                        "<user_shell_command",
                                                        "<subagent_notification",
                                                        "<collaboration_mode"};
  while (!text.empty() && (text[0] == ' ' || text[0] == '\n')) text.remove_prefix(1);
  return text.empty() ||
         std::ranges::any_of(kStarts, [&](auto start) { return text.starts_with(start); });
}

}  // namespace daybook::tools
