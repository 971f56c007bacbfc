#include "tools/log_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace daybook::tools {
namespace {

constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
/// Large enough to make system calls cheap, small enough to stay in the second-level cache.
constexpr std::size_t kChunk = std::size_t{256} << 10;
/// What tells how a file is packed, and mostly of which kind it is.
constexpr std::size_t kHead = 8192;

Error system_error(const std::string& path, const char* what) {
  const ErrorCode code = errno == ENOENT   ? ErrorCode::not_found
                         : errno == EACCES ? ErrorCode::permission
                                           : ErrorCode::io;
  return {code, fmt::format("{} cannot be {}: {}", path, what, std::strerror(errno))};
}

class PlainFile : public ByteSource {
 public:
  PlainFile(std::string path, int fd, std::uint64_t size = 0)
      : path_(std::move(path)), fd_(fd), size_(size) {}
  /// Sets the size, too, and finds out how the file begins.
  Result<std::string_view> look();
  /// What is read is wanted from its start to its end.
  void expect_all() {
    // Of small files the kernel reads all that is wanted unasked.
    constexpr std::uint64_t kLarge = std::uint64_t{1} << 20;
    if (size_ > kLarge) ::posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  ~PlainFile() override { ::close(fd_); }
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  Result<std::size_t> read(char* into, std::size_t size) override {
    if (given_ < head_.size()) {
      const std::size_t got = head_.copy(into, size, given_);
      given_ += got;
      consumed_ += got;
      return got;
    }
    if (ended_) return std::size_t{0};
    auto got = take(into, size);
    if (!got) return got;
    consumed_ += *got;
    // Less than asked for, and all that there was: nothing else needs to be asked.
    ended_ = *got < size && consumed_ >= size_;
    return got;
  }
  std::uint64_t consumed() const override { return consumed_; }
  std::uint64_t disk_size() const override { return size_; }

 private:
  Result<std::size_t> take(char* into, std::size_t size) {
    while (true) {
      const ssize_t got = ::read(fd_, into, size);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return fail(system_error(path_, "read"));
    }
  }

  std::string path_;
  int fd_;
  std::uint64_t size_;
  std::uint64_t consumed_ = 0;
  std::string head_;  // what was read to look at it
  std::size_t given_ = 0;
  bool ended_ = false;
};

Result<std::string_view> PlainFile::look() {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) return fail(system_error(path_, "read"));
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} is not a regular file", path_));
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  head_.resize(kHead);
  const auto got = take(head_.data(), head_.size());
  if (!got) return fail(got.error());
  head_.resize(*got);
  return head_;
}

class ZstdFile : public ByteSource {
 public:
  ZstdFile(std::string path, std::unique_ptr<ByteSource> below)
      : path_(std::move(path)),
        below_(std::move(below)),
        stream_(ZSTD_createDStream()),
        packed_(ZSTD_DStreamInSize()) {
    DAYBOOK_CHECK(stream_ != nullptr);
  }

  Result<std::size_t> read(char* into, std::size_t size) override {
    ZSTD_outBuffer out{into, size, 0};
    while (out.pos == 0) {
      if (at_ == have_) {
        auto got = below_->read(packed_.data(), packed_.size());
        if (!got) return fail(got.error());
        at_ = 0;
        have_ = *got;
        if (have_ == 0) {
          if (!frame_open_) return std::size_t{0};
          return fail(ErrorCode::corrupt,
                      fmt::format("{} ends inside a zstd frame: its last lines are lost", path_));
        }
      }
      ZSTD_inBuffer in{packed_.data(), have_, at_};
      const std::size_t left = ZSTD_decompressStream(stream_.get(), &out, &in);
      at_ = in.pos;
      if (ZSTD_isError(left) != 0) {
        return fail(ErrorCode::corrupt,
                    fmt::format("{} is damaged zstd data: {}", path_, ZSTD_getErrorName(left)));
      }
      frame_open_ = left != 0;
    }
    return out.pos;
  }
  std::uint64_t consumed() const override { return below_->consumed(); }
  std::uint64_t disk_size() const override { return below_->disk_size(); }
  bool compressed() const override { return true; }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::string path_;
  std::unique_ptr<ByteSource> below_;
  std::unique_ptr<ZSTD_DStream, Free> stream_;
  std::vector<char> packed_;
  std::size_t at_ = 0;
  std::size_t have_ = 0;
  bool frame_open_ = false;
};

class HeldBytes : public ByteSource {
 public:
  explicit HeldBytes(std::string_view bytes) : bytes_(bytes) {}
  Result<std::size_t> read(char* into, std::size_t size) override {
    const std::size_t given = std::min(size, bytes_.size() - at_);
    std::memcpy(into, bytes_.data() + at_, given);
    at_ += given;
    return given;
  }
  std::uint64_t consumed() const override { return at_; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

}  // namespace

namespace {

Result<std::unique_ptr<PlainFile>> open_file(const std::string& path, std::uint64_t size) {
  // Non-blocking, so that a pipe named like a log cannot hold the reader up.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0) return fail(system_error(path, "opened"));
  return std::make_unique<PlainFile>(path, fd, size);
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path) {
  auto file = open_file(path, 0);
  if (!file) return fail(file.error());
  const auto head = (*file)->look();
  if (!head) return fail(head.error());
  if (head->starts_with(kZstdMagic)) return std::make_unique<ZstdFile>(path, *std::move(file));
  return *std::move(file);
}

Result<std::unique_ptr<ByteSource>> open_plain(const std::string& path, std::uint64_t size) {
  auto file = open_file(path, size);
  if (!file) return fail(file.error());
  (*file)->expect_all();
  return *std::move(file);
}

std::unique_ptr<ByteSource> bytes_of(std::string_view bytes) {
  return std::make_unique<HeldBytes>(bytes);
}

LineReader::LineReader(ByteSource& source, std::size_t most_line_bytes)
    : source_(source), most_line_bytes_(most_line_bytes) {}

LineReader::~LineReader() {
  std::free(buffer_);
}

/// Reads on behind what is held; false at the end. What was given before makes room.
Result<bool> LineReader::more() {
  if (ended_) return false;
  if (at_ > 0) {
    std::memmove(buffer_, buffer_ + at_, end_ - at_);
    base_ += at_;
    end_ -= at_;
    at_ = 0;
  }
  if (capacity_ - end_ < kChunk / 2) {
    // realloc moves pages instead of copying them: a long line never exists twice.
    const std::size_t wanted = std::max(kChunk, capacity_ + capacity_ / 2);
    void* moved = std::realloc(buffer_, wanted);
    DAYBOOK_CHECK(moved != nullptr);
    buffer_ = static_cast<char*>(moved);
    capacity_ = wanted;
  }
  const auto got = source_.read(buffer_ + end_, capacity_ - end_);
  if (!got) return fail(got.error());
  if (*got == 0) ended_ = true;
  const bool first = base_ == 0 && end_ == 0;
  end_ += *got;
  if (first && held().starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  return *got != 0;
}

void LineReader::give(std::size_t length, std::size_t with_end, LogLine& line) {
  line.offset = base_ + at_;
  line.bytes = {buffer_ + at_, with_end};
  line.text = {buffer_ + at_, length};
  line.complete = with_end > length;
  line.too_long = false;
  if (line.text.ends_with('\r')) line.text.remove_suffix(1);
  at_ += with_end;
  if (line.complete) committed_ = base_ + at_;
}

/// The line at at_, in whose first `searched` bytes there is no end.
Result<bool> LineReader::finish_line(std::size_t searched, LogLine& line) {
  while (true) {
    const std::string_view text = held();
    const void* found = searched < text.size()
                            ? std::memchr(text.data() + searched, '\n', text.size() - searched)
                            : nullptr;
    if (found != nullptr) {
      const auto length = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
      if (length <= most_line_bytes_) {
        give(length, length + 1, line);
        return true;
      }
    }
    searched = text.size();
    if (searched > most_line_bytes_) {
      give(most_line_bytes_, most_line_bytes_, line);
      line.too_long = true;
      return true;
    }
    const auto got = more();
    if (!got) return fail(got.error());
    if (!*got) {
      if (held().empty()) return false;
      give(held().size(), held().size(), line);
      return true;
    }
  }
}

/// Behind the end of a line whose start was given as too long.
Result<bool> LineReader::skip_rest() {
  while (true) {
    const std::string_view text = held();
    const void* found = text.empty() ? nullptr : std::memchr(text.data(), '\n', text.size());
    if (found != nullptr) {
      at_ += static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) + 1;
      committed_ = base_ + at_;
      return true;
    }
    at_ = end_;
    const auto got = more();
    if (!got) return fail(got.error());
    if (!*got) return false;
  }
}

Result<bool> LineReader::next(LogLine& line) {
  if (line.too_long) {
    line.too_long = false;
    auto skipped = skip_rest();
    if (!skipped || !*skipped) return skipped;
  }
  return finish_line(0, line);
}

Result<bool> LineReader::next_match(const Prefilter& find, LogLine& line) {
  if (line.too_long) {
    line.too_long = false;
    auto skipped = skip_rest();
    if (!skipped || !*skipped) return skipped;
  }
  std::size_t searched = 0;  // of what is held
  while (true) {
    const std::string_view text = held();
    const std::size_t hit = find(text.substr(searched));
    if (hit != std::string_view::npos) {
      const std::size_t place = searched + hit;
      const void* before = ::memrchr(text.data(), '\n', place);
      if (before != nullptr) {
        at_ += static_cast<std::size_t>(static_cast<const char*>(before) - text.data()) + 1;
        committed_ = base_ + at_;
        return finish_line(
            place - static_cast<std::size_t>(static_cast<const char*>(before) - text.data() + 1),
            line);
      }
      return finish_line(place, line);
    }
    // Keep the unfinished line: a match may lie across the border, or follow in it.
    const void* last = text.empty() ? nullptr : ::memrchr(text.data(), '\n', text.size());
    if (last != nullptr) {
      at_ += static_cast<std::size_t>(static_cast<const char*>(last) - text.data()) + 1;
      committed_ = base_ + at_;
    }
    const std::size_t kept = held().size();
    // A match that the border cuts is at most this much before it.
    constexpr std::size_t kLongestMarker = 64;
    searched = kept > kLongestMarker ? kept - kLongestMarker : 0;
    if (kept > most_line_bytes_) {
      auto skipped = skip_rest();
      if (!skipped || !*skipped) return skipped;
      searched = 0;
      continue;
    }
    const auto got = more();
    if (!got) return fail(got.error());
    if (!*got) return false;
  }
}

}  // namespace daybook::tools
