// Writes realistic sessions into a journal, fast: what the driver would record, many turns to one
// append.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model.h"
#include "journal/session_writer.h"

namespace daybook::bench {

/// `size` bytes of words, never the same twice; compresses about as well as prose.
class Words {
 public:
  Words();
  std::string text(std::size_t size);

 private:
  std::string pool_;
  std::uint64_t next_ = 0;
};

/// One session's author. Not thread-safe.
class SessionMaker {
 public:
  SessionMaker(journal::Journal& journal, const std::string& name);

  /// A turn in which the model calls `calls` tools one after the other and then answers. Results
  /// have 1 to 8 KB; one in ten is cut to 10,000 bytes of a three times longer output.
  void work(std::size_t calls);
  /// A turn of two messages of `size` bytes.
  void chat(std::size_t size);
  /// Gives the session up and waits until all of it is durable.
  void finish();

  std::uint64_t events() const { return version_; }
  /// Of events and blobs.
  std::uint64_t bytes() const { return bytes_; }

 private:
  template <class PayloadT>
  std::uint64_t add(PayloadT payload);
  void begin(std::size_t prompt_size);
  void request();
  void respond(std::string text, bool calls);
  void run_call();
  /// The model's answer, and the turn's end.
  void end(std::size_t answer_size);
  void flush_if_big();
  journal::Append take();
  void fill(schema::ReceiptT& receipt, std::size_t size);

  journal::Journal& journal_;
  journal::SessionWriter pen_;
  const engine::Codec& codec_;
  Words words_;
  journal::Batch batch_;
  std::size_t batched_ = 0;  // bytes of blobs
  std::uint64_t version_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t turn_ = 0;
  std::uint32_t requests_ = 0;
  std::uint32_t calls_ = 0;
  std::uint64_t last_request_ = 0;
  std::uint32_t messages_ = 0;
  std::string arguments_;                 // of the open call
  std::vector<engine::Message> pending_;  // what no request has carried yet
};

}  // namespace daybook::bench
