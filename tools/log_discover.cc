// Which files are logs, of which kind, and which of them are the same log twice.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>
#include <tuple>

#include "tools/log_claude_lines.h"
#include "tools/log_codex_lines.h"
#include "tools/log_file.h"
#include "tools/log_json.h"
#include "tools/log_source.h"
#include "tools/log_twins.h"

namespace daybook::tools {
namespace {

namespace fs = std::filesystem;

/// A file is looked through this far for a record that tells its kind: its first lines may be
/// damaged, or tell nothing.
constexpr std::uint64_t kMostProbedBytes = std::uint64_t{256} << 20;
/// Of a transcript, for the line that its conversation begins with.
constexpr std::uint64_t kMostBeforeConversation = std::uint64_t{256} << 10;
/// The first lines are also looked at as the start of one value over many lines.
constexpr int kMostDocumentLines = 25;

std::vector<std::string> comma_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (comma != 0) parts.emplace_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  return parts;
}

/// A rollout of April 2025.
bool is_codex_document(JsonSpan record) {
  return record["session"].is_object() && record["session"]["id"].is_string() &&
         record["items"].is_array();
}

bool is_codex_record(JsonSpan record) {
  const JsonSpan type = record["type"];
  if (record["payload"].is_object() && type.is_string()) return true;
  if (type.is_string()) {
    const std::string name = type.text();
    return name.starts_with("thread.") || name.starts_with("turn.") || name.starts_with("item.");
  }
  if (is_codex_document(record)) return true;
  // Before September 2025 a bare header came first.
  return record["id"].is_string() && record["timestamp"].is_string() &&
         (record["instructions"] || record["git"]);
}

/// Whose log a first record says this is; "": it does not say.
std::string codex_thread(JsonSpan record) {
  if (record["type"].is("thread.started")) return record["thread_id"].text();
  if (record["type"].is("session_meta")) return record["payload"]["id"].text();
  return record["payload"] ? std::string() : record["id"].text();
}

bool is_claude_record(JsonSpan record) {
  if (!record["type"].is_string()) return false;
  if (record["leafUuid"] && record["summary"]) return true;
  // Snapshots name no session.
  if (record["type"].is("file-history-snapshot") && record["snapshot"]) return true;
  return record["sessionId"].is_string() && !record["payload"];
}

std::optional<LogKind> kind_of_record(JsonSpan record) {
  if (record["daybook_export"]) return LogKind::daybook;
  if (record["schema_version"].text().starts_with("ATIF")) return LogKind::atif;
  if (is_codex_record(record)) return LogKind::codex;
  if (is_claude_record(record)) return LogKind::claude_code;
  if (record["role"].is_string() && record["ts"]) return LogKind::openworker;
  return {};
}

/// A document over many lines: its first bytes name its format.
bool is_atif_document(std::string_view start) {
  return start.find("\"schema_version\"") != std::string_view::npos &&
         start.find("\"ATIF") != std::string_view::npos;
}

/// A rollout of April 2025 over many lines: its header comes first.
bool is_split_codex_document(std::string_view start) {
  std::size_t at = log_json::skip_space(start, 0);
  if (at >= start.size() || start[at] != '{') return false;
  at = log_json::skip_space(start, at + 1);
  constexpr std::string_view kKey = "\"session\"";
  if (!start.substr(at).starts_with(kKey)) return false;
  at = start.find('{', at + kKey.size());
  if (at == std::string_view::npos) return false;
  const auto session = JsonSpan::start_of(start.substr(at));
  if (!session.value || !session.value["id"].is_string()) return false;
  const std::string_view rest = start.substr(at + session.end);
  return rest.find("\"items\"") != std::string_view::npos;
}

/// A little at a time at first: a log's kind nearly always shows in its first lines.
class Sips : public ByteSource {
 public:
  explicit Sips(ByteSource& from) : from_(from) {}
  Result<std::size_t> read(char* into, std::size_t size) override {
    constexpr std::size_t kSip = 8192;
    constexpr int kMostSips = 32;
    return from_.read(into, sips_++ < kMostSips ? std::min(size, kSip) : size);
  }
  std::uint64_t consumed() const override { return from_.consumed(); }

 private:
  ByteSource& from_;
  int sips_ = 0;
};

struct Probe {
  std::optional<LogKind> kind;
  std::uint64_t size = 0;  // on the disk
  bool document = false;   // one JSON value over many lines
  bool compressed = false;
  bool empty = true;
  bool gzip = false;
  bool whole = true;   // looked through to its end, or to what tells its kind
  bool begun = false;  // what tells its thread was found, or will not be
  std::string thread;  // these as LogSource has them
  std::int64_t begun_at = 0;
  bool goes_on = false;
};

/// What the conversation of a transcript begins with; titles and snapshots may come before it.
void look_at_conversation(JsonSpan record, Probe& found) {
  const ClaudeLine line(record);
  if (!line.parent || !line.uuid.is_string()) return;
  found.begun = true;
  found.begun_at = line.at;
  found.goes_on = line.parent.is_string() || line.logical_parent.is_string();
  if (line.session.is_string()) found.thread = line.session.text() + '/' + line.agent.text();
}

void look_at_line(std::string_view text, JsonTape& tape, Probe& found) {
  text.remove_prefix(std::min(text.find('{'), text.size()));
  const auto start = JsonSpan::start_of(text, &tape);
  if (!start.value.is_object()) return;
  if (!found.kind) found.kind = kind_of_record(start.value);
  if (found.kind == LogKind::claude_code) return look_at_conversation(start.value, found);
  found.begun = found.kind.has_value();
  found.document = found.kind == LogKind::codex && is_codex_document(start.value);
  if (found.kind != LogKind::codex) return;
  found.thread = codex_thread(start.value);
  found.begun_at = CodexLine(start.value).at;
}

void look_at_beginning(std::string_view beginning, Probe& found) {
  if (is_atif_document(beginning)) found.kind = LogKind::atif;
  if (is_split_codex_document(beginning)) {
    found.kind = LogKind::codex;
    found.document = true;
  }
  found.begun = found.kind.has_value();
}

Result<Probe> probe(const std::string& path) {
  auto bytes = open_bytes(path);
  if (!bytes) return fail(bytes.error());
  Probe found;
  found.compressed = (*bytes)->compressed();
  found.size = (*bytes)->disk_size();
  Sips sips(**bytes);
  LineReader lines(sips);
  LogLine line;
  std::string beginning;
  JsonTape tape;
  for (int i = 0; !found.begun; ++i) {
    found.whole = lines.read_bytes() < kMostProbedBytes;
    if (!found.whole) break;
    if (found.kind && lines.read_bytes() >= kMostBeforeConversation) break;
    const auto got = lines.next(line);
    if (!got && found.kind) break;
    if (!got) return fail(got.error());
    if (!*got) break;
    found.gzip = found.empty && line.text.starts_with("\x1f\x8b");
    found.empty = false;
    if (found.gzip) break;
    look_at_line(line.text, tape, found);
    if (found.kind || i >= kMostDocumentLines) continue;
    beginning.append(line.text.substr(0, 4096));
    look_at_beginning(beginning, found);
  }
  return found;
}

/// Where the last folder called `name` in a path begins; npos: there is none.
std::size_t folder_in(std::string_view path, std::string_view name) {
  for (std::size_t end = path.size();;) {
    const std::size_t at = path.substr(0, end).rfind(name);
    if (at == std::string_view::npos) return at;
    const std::size_t behind = at + name.size();
    const bool begins = at == 0 || path[at - 1] == '/';
    if (begins && behind < path.size() && path[behind] == '/') return at;
    end = behind - 1;
  }
}

std::string_view name_in(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// What a log is called wherever its program's folder lies.
std::string logical_name(LogKind kind, std::string_view path) {
  constexpr std::string_view kRoot = "projects";
  std::string_view name = name_in(path);
  if (kind == LogKind::claude_code) {
    const std::size_t root = folder_in(path, kRoot);
    if (root != std::string_view::npos) name = path.substr(root + kRoot.size());
    name.remove_prefix(std::min(name.find_first_not_of('/'), name.size()));
  }
  if (name.ends_with(".zst")) name.remove_suffix(4);
  return std::string(name);
}

/// A file that may be a log.
struct Candidate {
  fs::path path;
  bool named = false;  // not found in a folder
  bool link = false;   // found in one
};

/// Gathers candidates, and what cannot be looked into.
class Walk {
 public:
  Walk(Discovery& found, std::vector<Candidate>& candidates)
      : found_(found), candidates_(candidates) {}

  Result<void> start(const std::string& given) {
    if (given.empty()) {
      return fail(ErrorCode::invalid_argument, "a path is empty: name a log file or a folder");
    }
    std::error_code error;
    const fs::path path(given);
    const auto status = fs::status(path, error);
    if (status.type() == fs::file_type::none) {
      found_.unread.push_back({given, error.message()});
      return {};
    }
    if (!fs::exists(status)) {
      return fail(ErrorCode::not_found, fmt::format("{} does not exist: name a log file or a "
                                                    "folder that holds some",
                                                    given));
    }
    if (fs::is_directory(status)) {
      folder(path);
    } else {
      candidates_.push_back({path, true, false});
    }
    return {};
  }

 private:
  void folder(const fs::path& path) {
    std::error_code error;
    fs::recursive_directory_iterator at(path, error);
    if (error) {
      found_.unread.push_back({path.string(), error.message()});
      return;
    }
    for (const fs::recursive_directory_iterator end; at != end; at.increment(error)) {
      if (error) {
        found_.unread.push_back({path.string(), error.message()});
        return;
      }
      std::error_code ignored;
      if (at->is_symlink(ignored) && !at->is_regular_file(ignored)) {
        pass_link(at->path(), at->is_directory(ignored));
        continue;
      }
      if (at->is_directory(ignored)) {
        const std::string name = at->path().filename().string();
        if (name == "tool-results" || name == ".git" || name == "node_modules") {
          at.disable_recursion_pending();
        } else if (::access(at->path().c_str(), R_OK | X_OK) != 0) {
          found_.unread.push_back({at->path().string(), "no permission"});
          at.disable_recursion_pending();
        }
        continue;
      }
      if (!is_candidate(at->path())) continue;
      if (at->is_regular_file(ignored)) {
        candidates_.push_back({at->path(), false, at->is_symlink(ignored)});
      } else {
        found_.not_a_log.push_back({at->path().string(), "is not a regular file"});
      }
    }
  }

  /// Folders that links lead to may hold each other.
  void pass_link(const fs::path& path, bool folder) {
    if (folder) {
      found_.not_a_log.push_back(
          {path.string(), "is a link to a folder, which is not followed: name it to read it"});
    } else if (is_candidate(path)) {
      found_.not_a_log.push_back({path.string(), "is a link that leads to no file"});
    }
  }

  static bool is_candidate(const fs::path& path) {
    const std::string name = path.filename().string();
    if (name.ends_with(".jsonl") || name.ends_with(".jsonl.zst") || name.ends_with(".jsonl.gz")) {
      return true;
    }
    return name.ends_with(".json") &&
           (name.starts_with("rollout-") || name.find("trajectory") != std::string::npos);
  }

  Discovery& found_;
  std::vector<Candidate>& candidates_;
};

using Probed = std::optional<Result<Probe>>;  // filled by a thread

/// Opens the candidates, which is most of the work of finding logs, on all processors.
std::vector<Probed> probe_all(const std::vector<Candidate>& candidates) {
  constexpr unsigned kMostThreads = 4;
  constexpr std::size_t kWorthAThread = 32;
  std::vector<Probed> probed(candidates.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < candidates.size(); i = next++) {
      probed[i] = probe(candidates[i].path.string());
    }
  };
  std::vector<std::jthread> threads;
  const unsigned most = std::min(kMostThreads, std::thread::hardware_concurrency());
  for (unsigned i = 1; i < most && i * kWorthAThread < candidates.size(); ++i) {
    threads.emplace_back(work);
  }
  work();
  threads.clear();
  return probed;
}

void add_candidate(const Candidate& candidate, const Result<Probe>& known, Discovery& found) {
  const fs::path& path = candidate.path;
  if (!known) {
    found.unread.push_back(unread_file(path.string(), known.error()));
    return;
  }
  if (known->gzip) {
    found.unread.push_back({path.string(), "is compressed with gzip: unpack it, or use zstd"});
    return;
  }
  if (!known->kind && !known->whole) {
    found.unread.push_back({path.string(), fmt::format("no record of a known kind is in its first "
                                                       "{} MiB",
                                                       kMostProbedBytes >> 20)});
    return;
  }
  if (!known->kind) {
    const bool side_file =
        path.filename() == "history.jsonl" || path.filename() == "session_index.jsonl";
    if (candidate.named || !side_file) {
      found.not_a_log.push_back({path.string(), known->empty ? std::string(kEmptyFile)
                                                             : "holds no record of a known kind"});
    }
    return;
  }
  LogSource source;
  source.kind = *known->kind;
  source.path = path.string();
  source.compressed = known->compressed;
  source.plain = !known->compressed;
  source.document = known->document;
  source.thread = known->thread;
  source.begun_at = known->begun_at;
  source.goes_on = known->goes_on;
  source.size = known->size;
  source.file = logical_name(source.kind, source.path);
  found.sources.push_back(std::move(source));
}

/// A file to which several paths lead is one: that of its own path, or else of the first.
void drop_repeated(std::vector<LogSource>& sources) {
  std::map<std::string, std::size_t> kept;  // by target
  std::vector<bool> dropped(sources.size(), false);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    std::error_code ignored;
    const std::string target = fs::weakly_canonical(sources[i].path, ignored).string();
    const auto [other, fresh] = kept.try_emplace(target, i);
    if (fresh) continue;
    const bool better = sources[i].path == target;
    dropped[better ? other->second : i] = true;
    if (better) other->second = i;
  }
  std::size_t i = 0;
  std::erase_if(sources, [&](const LogSource&) { return dropped[i++]; });
}

}  // namespace

std::vector<std::string> usual_log_places(const engine::Environment& environment) {
  const auto variable = [&](std::string_view name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  std::vector<std::string> roots;
  const std::string home = variable("HOME");
  if (!home.empty()) roots = {home + "/.claude", home + "/.config/claude"};
  for (auto& folder : comma_list(variable("CLAUDE_CONFIG_DIR"))) roots.push_back(std::move(folder));
  std::vector<std::string> places;
  for (const std::string& root : roots) places.push_back(root + "/projects");
  roots.clear();
  if (!home.empty()) roots.push_back(home + "/.codex");
  for (auto& folder : comma_list(variable("CODEX_HOME"))) roots.push_back(std::move(folder));
  for (const std::string& root : roots) {
    places.push_back(root + "/sessions");
    places.push_back(root + "/archived_sessions");
  }
  if (!home.empty()) places.push_back(home + "/.config/coworker/conversations");
  std::vector<std::string> existing;
  for (const std::string& place : places) {
    std::error_code error;
    const std::string canonical = fs::canonical(place, error).string();
    if (!error && fs::is_directory(canonical, error) &&
        std::ranges::find(existing, canonical) == existing.end()) {
      existing.push_back(canonical);
    }
  }
  return existing;
}

Result<Discovery> discover_logs(std::span<const std::string> paths) {
  Discovery found;
  std::vector<Candidate> candidates;
  for (const std::string& path : paths) {
    if (path.empty()) {
      return fail(ErrorCode::invalid_argument, "PATH is empty: name a log file or a folder");
    }
    DAYBOOK_TRY(Walk(found, candidates).start(path));
  }
  const std::vector<Probed> probed = probe_all(candidates);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    add_candidate(candidates[i], *probed[i], found);
  }
  std::ranges::sort(found.sources, {}, &LogSource::path);
  std::ranges::sort(found.not_a_log, {}, &SkippedFile::path);
  std::ranges::sort(found.unread, {}, &SkippedFile::path);
  if (paths.size() > 1 || std::ranges::any_of(candidates, &Candidate::link)) {
    drop_repeated(found.sources);
  }
  found.sources = without_twins(std::move(found.sources));
  std::ranges::sort(found.sources, {},
                    [](const LogSource& source) { return std::tie(source.file, source.path); });
  return found;
}

}  // namespace daybook::tools
