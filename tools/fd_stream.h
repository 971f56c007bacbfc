// Output to a file descriptor that remembers why it failed.
#pragma once

#include <array>
#include <streambuf>

namespace daybook::tools {

class FdBuffer : public std::streambuf {
 public:
  explicit FdBuffer(int fd);
  /// errno of the first failed write; 0: none failed.
  int error() const { return error_; }
  /// Whether the other end of a pipe or socket is closed; a file has none.
  bool reader_is_gone() const;

 protected:
  int_type overflow(int_type next) override;
  int sync() override;

 private:
  int fd_;
  int error_ = 0;
  std::array<char, 1 << 16> buffer_;
};

}  // namespace daybook::tools
