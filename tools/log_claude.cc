// Claude Code transcripts: which session each line belongs to, and what kind of line it is.
#include <algorithm>
#include <array>
#include <filesystem>

#include "tools/log_claude_session.h"
#include "tools/log_identity.h"
#include "tools/log_readers.h"
#include "tools/log_scan.h"

namespace daybook::tools {
namespace {

constexpr std::array<std::string_view, 3> kMarkers = {"\"assistant\"", "\"compact_boundary\"",
                                                      "\"user\""};

constexpr std::string_view kAgent = "agent-";

/// Lines of people and tools tell no figures, only when a request can have been sent.
std::span<const std::string_view> markers(const LogReading& reading) {
  return std::span(kMarkers).first(reading.options().starts ? 3 : 2);
}

constexpr std::array<std::string_view, 15> kMetadataTypes = {
    "summary",         "attachment",     "progress",     "file-history-snapshot",
    "queue-operation", "last-prompt",    "custom-title", "ai-title",
    "agent-name",      "agent-setting",  "mode",         "permission-mode",
    "pr-link",         "bridge-session", "tag"};

class ClaudeReader : public RecordReader {
 public:
  explicit ClaudeReader(LogReading& reading) : reading_(reading), scan_(markers(reading)) {
    const std::string name = stem_of(reading.source().path);
    if (name.starts_with(kAgent)) {
      file_agent_ = name.substr(kAgent.size());
    } else {
      file_session_ = name;
    }
    read_metas(reading.source());
    for (const LogSource& part : reading.source().rest) read_metas(part);
  }

  bool is_record(JsonSpan value) const override {
    return value.is_object() && value["type"].is_string() &&
           (value["uuid"] || value["sessionId"] || value["leafUuid"] || value["timestamp"]);
  }

  void take(const LogRecord& record) override {
    ClaudeLine line(record.value);
    line.offset = record.offset;
    if (line.time_wrong) reading_.damaged(record.offset, std::string(kWrongTime));
    if (reading_.usage_only()) {
      take_usage(line);
      return;
    }
    Origin origin(reading_, record, line.at);
    if (latest_ == nullptr && !line.session && !is_conversation(line)) {
      const std::string type = line.type.text();
      early_.push_back({type, reason_of(type), std::move(origin)});
      head_.insert(hash_of(record));
      return;
    }
    ClaudeSession& session = session_of(line);
    keep_early(session);
    if (!begun_.contains(&session)) {
      if (is_conversation(line)) {
        begin(session, origin);
      } else {
        head_.insert(hash_of(record));
      }
    }
    follow(session, line, origin);
  }

  void take_damaged(Origin origin, const std::string& what) override {
    if (latest_ == nullptr) {
      early_.push_back({"", schema::ImportReason::damaged, std::move(origin), what});
    } else {
      latest_->log().keep("", schema::ImportReason::damaged, what, origin);
    }
  }

  void finish() override {
    if (!early_.empty()) keep_early(session_of(ClaudeLine{JsonSpan()}));
    for (auto& [key, session] : sessions_) session->finish();
  }

  std::size_t find(std::string_view text) const override { return scan_.find(text); }
  bool head_done() const override {
    return latest_ != nullptr && !latest_->log().header().title.empty();
  }

 private:
  void take_usage(const ClaudeLine& line) {
    ClaudeSession& session = session_of(line);
    Origin none;
    if (line.type.is("assistant")) {
      session.assistant(line, none);
    } else if (line.type.is("system") && line.subtype.is("compact_boundary")) {
      if (!is_repeated(line)) session.boundary(line, none);
    } else if (line.type.is("user")) {
      session.log().lead().line(line.at);
      if (head_done()) return;
      const std::string text = claude_text(line.message["content"]);
      if (!line.meta && !line.summary && !is_injected(text)) {
        session.log().start_turn(text, none, "");
      }
    }
  }

  /// The conversation may go on from one that another file holds.
  void begin(ClaudeSession& session, const Origin& first) {
    begun_.insert(&session);
    reading_.recall(session.log().id(), first, [&](const LogRecord& earlier) {
      session.log().go_on();
      // What stands before the conversation was read here already.
      if (head_.contains(hash_of(earlier))) return;
      const ClaudeLine line(earlier.value);
      Origin origin(reading_, earlier, line.at);
      follow(session, line, origin);
    });
  }

  void follow(ClaudeSession& session, const ClaudeLine& line, Origin& origin) {
    if (is_repeated(line)) {
      session.log().keep(line.type.text(), schema::ImportReason::duplicate, "the same line again",
                         origin);
      return;
    }
    dispatch(session, line, origin);
    session.place(line);
  }

  void dispatch(ClaudeSession& session, const ClaudeLine& line, Origin& origin) {
    if (line.type.is("assistant")) {
      session.assistant(line, origin);
      return;
    }
    if (line.type.is("user")) {
      session.user(line, origin);
    } else if (line.type.is("system") &&
               (line.subtype.is("compact_boundary") || line.subtype.is("microcompact_boundary"))) {
      session.boundary(line, origin);
    } else if (line.type.is("system")) {
      session.log().keep("system/" + line.subtype.text(), schema::ImportReason::metadata, "",
                         origin);
    } else {
      const std::string type = line.type.text();
      keep(session, type, reason_of(type), origin);
    }
  }

  static schema::ImportReason reason_of(const std::string& type) {
    const bool known = std::ranges::find(kMetadataTypes, type) != kMetadataTypes.end();
    return known ? schema::ImportReason::metadata : schema::ImportReason::unmapped;
  }

  static void keep(ClaudeSession& session, const std::string& type, schema::ImportReason reason,
                   Origin& origin) {
    const bool known = reason == schema::ImportReason::metadata;
    session.log().keep(type, reason, known ? "" : "a type that is not known", origin);
  }

  void keep_early(ClaudeSession& session) {
    for (EarlyLine& early : std::exchange(early_, {})) {
      if (early.reason == schema::ImportReason::damaged) {
        session.log().keep("", early.reason, early.damage, early.origin);
      } else {
        keep(session, early.type, early.reason, early.origin);
      }
    }
  }

  static std::uint64_t hash_of(const LogRecord& record) {
    return xxh3_64(as_bytes(record.value.raw()));
  }

  static bool is_conversation(const ClaudeLine& line) {
    return line.type.is("user") || line.type.is("assistant") || line.type.is("system");
  }

  /// Old rows appended again by a later compaction keep their uuid; so do those that another
  /// session of the file repeats as its own history.
  bool is_repeated(const ClaudeLine& line) {
    if (!line.uuid.is_string()) return false;
    return !uuids_[latest_].insert(xxh3_64(as_bytes(line.uuid.raw()))).second;
  }

  ClaudeSession& session_of(const ClaudeLine& line) {
    ClaudeSession& found = session_named_by(line);
    // Titles and snapshots, which may come first, say little: the next lines do.
    auto& header = found.log().header();
    if (header.workspace.empty() && line.cwd) header.workspace = line.cwd.text();
    if (header.program_version.empty() && line.version) {
      header.program_version = line.version.text();
    }
    if (header.started_at == 0) header.started_at = line.at;
    return found;
  }

  ClaudeSession& session_named_by(const ClaudeLine& line) {
    const std::string_view session = line.session.is_string() ? line.session.raw() : "";
    const std::string_view agent = line.agent.is_string() ? line.agent.raw() : "";
    if (latest_ != nullptr && session == latest_session_ && agent == latest_agent_ &&
        line.sidechain == latest_side_) {
      return *latest_;
    }
    // Lines without a session (titles, snapshots) belong where the file is.
    if (session.empty() && latest_ != nullptr) {
      if (latest_by_name_) note_name(line);
      return *latest_;
    }
    latest_session_ = session;
    latest_agent_ = agent;
    latest_side_ = line.sidechain;
    latest_ = &named_session(line);
    return *latest_;
  }

  /// A part of the conversation that stands where only the file's name says.
  void note_name(const ClaudeLine& line) {
    if (is_conversation(line)) reading_.report().by_name = true;
  }

  ClaudeSession& named_session(const ClaudeLine& line) {
    const std::string parent = line.session ? line.session.text() : file_session_;
    std::string agent = line.agent.text();
    latest_by_name_ = !line.session || (agent.empty() && !file_agent_.empty());
    if (latest_by_name_) note_name(line);
    if (agent.empty()) agent = file_agent_;
    std::string id = parent;
    const bool side = !agent.empty() || line.sidechain;
    if (!agent.empty()) {
      id += "/agent-" + agent;
    } else if (side) {
      id += "/sidechain";
    }
    auto& slot = sessions_[id];
    if (slot == nullptr) {
      slot = std::make_unique<ClaudeSession>(reading_, id, side, known_);
      auto& header = slot->log().header();
      if (side) {
        header.parent = parent;
        header.relation = schema::Relation::subagent;
        header.agent = agent == typed_agent_ ? agent_type_ : "";
      } else if (const std::string from = line.forked["sessionId"].text(); !from.empty()) {
        header.parent = from;
        header.relation = schema::Relation::fork;
      }
    }
    return *slot;
  }

  static std::string stem_of(const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    return name.substr(0, name.find(".jsonl"));
  }

  void read_metas(const LogSource& source) {
    if (agent_type_.empty()) read_meta(source.path);
    for (const std::string& twin : source.twins) {
      if (agent_type_.empty()) read_meta(twin);
    }
  }

  /// Beside a subagent's transcript lies what kind of agent it is.
  void read_meta(std::filesystem::path path) {
    const std::string name = stem_of(path);
    if (!name.starts_with(kAgent)) return;
    typed_agent_ = name.substr(kAgent.size());
    path.replace_extension(".meta.json");
    const auto source = open_bytes(path.string());
    if (!source) return;
    std::string text(4096, '\0');
    std::size_t have = 0;
    while (have < text.size()) {
      const auto got = (*source)->read(text.data() + have, text.size() - have);
      if (!got || *got == 0) break;
      have += *got;
    }
    text.resize(have);
    if (const auto meta = JsonSpan::whole(text)) agent_type_ = (*meta)["agentType"].text();
  }

  /// Before the first line that names its session: it belongs to that one.
  struct EarlyLine {
    std::string type;
    schema::ImportReason reason = schema::ImportReason::metadata;
    Origin origin;
    std::string damage = {};
  };

  LogReading& reading_;
  MarkerScan scan_;
  std::vector<EarlyLine> early_;
  std::string file_session_;
  std::string file_agent_;
  std::string typed_agent_;  // whose kind is looked for
  std::string agent_type_;
  std::map<std::string, std::unique_ptr<ClaudeSession>> sessions_;
  std::unordered_set<const ClaudeSession*> begun_;  // whose conversation has begun in this file
  std::unordered_set<std::uint64_t> head_;          // lines before that
  ClaudeSession* latest_ = nullptr;
  std::string latest_session_;
  std::string latest_agent_;
  bool latest_side_ = false;
  bool latest_by_name_ = false;
  ClaudeSession::KnownResponses known_;
  std::unordered_map<const ClaudeSession*, std::unordered_set<std::uint64_t>> uuids_;
};

}  // namespace

std::unique_ptr<RecordReader> make_claude_reader(LogReading& reading) {
  return std::make_unique<ClaudeReader>(reading);
}

}  // namespace daybook::tools
