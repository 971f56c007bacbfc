// One owner's pen on one session: numbers, stamps and chains events, and moves long contents to
// blobs. Not thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "journal/journal.h"

namespace daybook::journal {

/// Time and randomness for an event's envelope, from the caller's clock.
struct Stamp {
  std::int64_t utc_ns = 0;
  std::uint64_t random_hi = 0;
  std::uint64_t random_lo = 0;
};
using Stamper = std::function<Stamp()>;

/// Events and the blobs they name, gathered for one append.
class Batch {
 public:
  /// Content holding `bytes`; more than kInlineBytes of them become a blob of this batch.
  std::unique_ptr<schema::ContentT> content(std::string_view bytes);
  /// Stores bytes as a blob whatever their length.
  BlobRef blob(std::string bytes);
  void add(EventDraft draft) { drafts_.push_back(std::move(draft)); }
  /// Takes the blobs out that only this draft needs, which will not be added.
  void forget(const EventDraft& draft);
  bool empty() const { return drafts_.empty(); }

 private:
  friend class SessionWriter;
  std::vector<EventDraft> drafts_;
  std::vector<Blob> blobs_;
};

class SessionWriter {
 public:
  /// Continues after `head`, whose epoch this writer raises with its first append.
  SessionWriter(SessionId session, Head head, Stamper stamper);

  /// The append that takes the session: the batch's first event must be OwnerAcquired.
  Append acquire(Batch batch, std::optional<RequestKey> request = {});
  Append next(Batch batch, std::optional<RequestKey> request = {});

  const SessionId& session() const { return session_; }
  /// As of the last append made, durable or not.
  const Head& head() const { return head_; }

 private:
  Append make(Batch batch, std::optional<RequestKey> request, bool acquire);

  SessionId session_;
  Head head_;
  Stamper stamper_;
};

}  // namespace daybook::journal
