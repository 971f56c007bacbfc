// A sink that writes logs into the journal, one session a log session, each event once.
//
// Importing again appends only what is new: events are told apart by their id and the hash of the
// line they came from, whatever file holds the line. A file that was imported to its end is known
// by the digest of its bytes, wherever a copy of it lies, and is not looked through again.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>

#include "journal/session_writer.h"
#include "tools/log_source.h"

namespace daybook::tools {

/// Digest of a file's uncompressed bytes, and how many they are.
struct FileIdentity {
  Digest digest;
  std::uint64_t size = 0;
};
Result<FileIdentity> identity_of(const LogSource& source,
                                 const std::function<void(std::uint64_t)>& progress);

/// The order in which sources are imported, as their indexes: by the first time that a log tells,
/// then by what it holds. Names and places do not matter: where two files hold parts of one
/// session, the same one always comes first.
std::vector<std::size_t> import_order(std::span<const LogSource> sources);

/// Versions of the events that a session holds, by what tells them apart.
using KnownEvents = std::unordered_map<std::uint64_t, std::uint64_t>;

/// What a dry run would have written so far, so that the next file is compared with it.
struct DryImport {
  std::map<std::string, std::shared_ptr<KnownEvents>> sessions;  // by name in the journal
  std::set<std::string> files;                                   // imported to their end
  std::map<std::string, journal::Head> restored;                 // of exports
};

struct ImportOptions {
  std::string owner;         // as the events name this process
  DryImport* dry = nullptr;  // count, and write nothing
};

class JournalSink : public LogSink {
 public:
  /// `journal` may be null when dry: then everything is new.
  JournalSink(journal::Journal* journal, ImportOptions options, const LogSource& source,
              const FileIdentity& identity);

  /// Whether a file of these bytes was imported to its end before, under this name or under
  /// another that did not matter.
  Result<bool> is_known();

  void call(replay::Call&&) override {}
  Result<void> event(const std::string& session, EventDraft draft) override;
  Result<void> visit_earlier_lines(const std::string& session, const schema::ProvenanceT& first,
                                   const std::function<void(const EarlierLine&)>& visit) override;
  std::unique_ptr<schema::ContentT> content(std::string_view bytes) override;
  BlobRef blob(std::string_view bytes) override;

  /// Writes what is left, with the mark that the file is imported to its end. Without it a later
  /// import looks through the file again. `by_name`: as LogReport has it.
  Result<void> finish(bool by_name = true);

  std::uint64_t appended() const { return appended_; }
  std::uint64_t known() const { return known_; }
  std::size_t sessions() const { return sessions_.size(); }
  std::size_t new_sessions() const { return new_sessions_; }

 private:
  struct Session {
    std::unique_ptr<journal::SessionWriter> writer;
    bool acquired = false;
    bool fresh = false;  // nothing of it is held so far
    std::shared_ptr<KnownEvents> known;
    std::unordered_map<std::uint64_t, std::uint64_t> positions;  // reader's to journal's versions
    std::uint64_t position = 0;
  };

  Result<Session*> session(const std::string& log_session);
  Result<void> load_known(Session& session, const SessionId& id);
  Result<void> flush(const std::string& mark);
  void settle_waiting(const EventDraft& draft, bool store);
  void keep_waiting();
  void start_batch();

  journal::Journal* journal_;
  ImportOptions options_;
  LogKind kind_;
  std::string named_mark_;  // request id of a file whose lines belong where its name says
  std::string mark_;        // of any other
  std::map<std::string, Session> sessions_;
  bool recalling_ = false;      // events are made of lines that the journal holds
  Session* current_ = nullptr;  // whose events the batch holds
  journal::Batch batch_;
  /// What a conversation holds, until an event names it: what follows the last request none does.
  std::map<Digest, std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::size_t batch_events_ = 0;
  std::size_t batch_bytes_ = 0;
  std::uint64_t appended_ = 0;
  std::uint64_t known_ = 0;
  std::size_t new_sessions_ = 0;
};

}  // namespace daybook::tools
