// Small pieces that both ways of running commands share.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "executor/fd.h"
#include "executor/process_output.h"
#include "schema/result.h"

namespace daybook::executor {

/// Milliseconds of a clock that only goes forward.
std::int64_t steady_ms();

/// A descriptor that becomes readable when a stop is requested.
class StopSignal {
 public:
  explicit StopSignal(std::stop_token token);
  int fd() const { return fd_.get(); }

 private:
  struct Raise {
    int fd;
    void operator()() const noexcept;
  };
  UniqueFd fd_;
  std::stop_callback<Raise> callback_;
};

struct Pipe {
  UniqueFd read;   // non-blocking
  UniqueFd write;  // blocking, for a child
};

/// Both ends CLOEXEC and above 2.
Result<Pipe> make_pipe();

/// Writes without SIGPIPE. Bytes written; 0 when the pipe is full; nullopt when nobody reads.
std::optional<std::size_t> write_some(int fd, std::string_view bytes);

/// The reading end of one output stream.
class OutputReader {
 public:
  OutputReader(UniqueFd fd, const OutputLimits& limits, const SecretMask& mask)
      : fd_(std::move(fd)), keeper_(limits, mask) {}
  /// -1 after the end.
  int fd() const { return fd_.get(); }
  /// Reads once; whether anything came.
  bool read(const OutputSink& sink);
  /// Reads what is there now.
  void read_rest(const OutputSink& sink);
  KeptOutput finish(const OutputSink& sink) { return keeper_.finish(sink); }

 private:
  UniqueFd fd_;
  OutputKeeper keeper_;
};

/// How long to wait for the output of processes that outlive a command.
class Drain {
 public:
  Drain(int quiet_ms, int total_ms) : quiet_ms_(quiet_ms), total_ms_(total_ms) {}
  void start(std::int64_t now_ms) { begun_ = last_ = now_ms; }
  bool started() const { return begun_ >= 0; }
  void saw_bytes(std::int64_t now_ms) { last_ = now_ms; }
  std::int64_t ends_at() const {
    const std::int64_t quiet = last_ + quiet_ms_;
    return quiet < begun_ + total_ms_ ? quiet : begun_ + total_ms_;
  }

 private:
  int quiet_ms_;
  int total_ms_;
  std::int64_t begun_ = -1;
  std::int64_t last_ = -1;
};

}  // namespace daybook::executor
