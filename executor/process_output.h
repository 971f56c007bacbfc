// What is kept of a command's output: its beginning and its end, with length and digest of all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "executor/executor.h"
#include "executor/secrets.h"

namespace daybook::executor {

struct OutputLimits {
  std::size_t head_bytes = 1U << 20;
  std::size_t tail_bytes = 1U << 20;
  std::size_t live_bytes = 1U << 20;  // shown while running; the result is the record
};

/// Bytes are counted after masking.
struct KeptOutput {
  std::string head;
  std::string tail;  // what follows the dropped range; empty when nothing was dropped
  std::uint64_t total = 0;
  std::uint64_t dropped = 0;  // bytes between head and tail
  Digest digest;              // of all bytes, dropped ones included

  std::uint64_t kept() const { return total - dropped; }
  /// UTF-8 for the model, with a line that says what was left out.
  std::string text() const;
};

/// The first `limit` characters (code points) of UTF-8 text.
std::string first_chars(std::string text, std::size_t limit);

/// Memory stays within the limits however much is added.
class OutputKeeper {
 public:
  /// `mask` must outlive it.
  OutputKeeper(const OutputLimits& limits, const SecretMask& mask);
  void add(std::string_view raw, const OutputSink& sink);
  /// No more follows. Cuts fall between code points.
  KeptOutput finish(const OutputSink& sink);

 private:
  void keep(const OutputSink& sink);
  void keep_tail(std::string_view bytes);

  OutputLimits limits_;
  SecretStream masking_;
  Digester digester_;
  std::string chunk_;  // reused
  std::string head_;   // a code point longer than its limit, to see where one ends
  std::string ring_;   // last tail_bytes of what follows
  std::size_t ring_at_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t live_ = 0;
};

}  // namespace daybook::executor
