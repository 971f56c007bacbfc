// The bytes of a log, plain or compressed, and its lines. Memory is that of the longest line.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "schema/result.h"

namespace daybook::tools {

/// A longer line is given up: its start is reported, the rest skipped.
inline constexpr std::size_t kMostLogLineBytes = std::size_t{128} << 20;

/// Uncompressed bytes, in order.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Up to `size` bytes; 0 at the end.
  virtual Result<std::size_t> read(char* into, std::size_t size) = 0;
  /// Bytes taken from the disk so far.
  virtual std::uint64_t consumed() const = 0;
  /// What there was on the disk when it was opened.
  virtual std::uint64_t disk_size() const { return 0; }
  virtual bool compressed() const { return false; }
  /// Of several files that are read as one, the one that an offset lies in.
  struct Part {
    std::size_t number = 0;
    std::uint64_t start = 0;  // its offset
  };
  virtual Part part_at(std::uint64_t offset) const {
    (void)offset;
    return {};
  }
};

/// zstd is told by the first bytes. Errors: `not_found`, `permission`, `io`; damage inside a
/// compressed file is `corrupt` on reading.
Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path);
/// A regular file of this size that is known not to be compressed: nothing of that is looked up.
Result<std::unique_ptr<ByteSource>> open_plain(const std::string& path, std::uint64_t size);

/// For tests and fuzzers; `bytes` must outlive it.
std::unique_ptr<ByteSource> bytes_of(std::string_view bytes);

struct LogLine {
  std::string_view text;     // without its end and without a byte-order mark
  std::string_view bytes;    // all of it
  std::uint64_t offset = 0;  // of `text`, in the uncompressed bytes
  bool complete = false;     // it has an end; only the last line of a file may lack one
  bool too_long = false;     // text is its first bytes only
};

/// Whether a text may hold what the reader looks for, and where: a position, or npos.
using Prefilter = std::function<std::size_t(std::string_view text)>;

class LineReader {
 public:
  explicit LineReader(ByteSource& source, std::size_t most_line_bytes = kMostLogLineBytes);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// The next line, valid until the next call; false at the end.
  Result<bool> next(LogLine& line);

  /// The next line in which `find` finds something. Lines between are passed over unseen. `find`
  /// must only report matches that lie within one line.
  Result<bool> next_match(const Prefilter& find, LogLine& line);

  /// Bytes in complete lines so far; at the end, those of the whole file.
  std::uint64_t committed() const { return committed_; }
  std::uint64_t read_bytes() const { return base_ + end_; }

 private:
  Result<bool> more();
  Result<bool> finish_line(std::size_t searched, LogLine& line);
  Result<bool> skip_rest();
  void give(std::size_t length, std::size_t with_end, LogLine& line);
  std::string_view held() const { return {buffer_ + at_, end_ - at_}; }

  ByteSource& source_;
  std::size_t most_line_bytes_;
  char* buffer_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t at_ = 0;      // start of what was not given yet
  std::size_t end_ = 0;     // end of what was read
  std::uint64_t base_ = 0;  // offset of buffer_[0]
  std::uint64_t committed_ = 0;
  bool ended_ = false;
};

}  // namespace daybook::tools
