#include "executor/supervisor_tree.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace daybook::executor::tree {
namespace {

/// A path below /proc, put together without snprintf, which may allocate.
class ProcPath {
 public:
  ProcPath& text(const char* part) {
    while (*part != '\0' && size_ + 1 < sizeof(buffer_)) buffer_[size_++] = *part++;
    buffer_[size_] = '\0';
    return *this;
  }
  ProcPath& number(pid_t value) {
    char digits[16];
    std::size_t at = sizeof(digits);
    digits[--at] = '\0';
    do {
      digits[--at] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value > 0);
    return text(digits + at);
  }
  const char* c_str() const { return buffer_; }

 private:
  char buffer_[80] = {};
  std::size_t size_ = 0;
};

int open_proc(const ProcPath& path, int flags) {
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
}

void append(Pids& out, pid_t pid) {
  if (out.count < kMaxListed) out.list[out.count++] = pid;
}

/// Reads the space-separated pids of one thread's children file.
void read_children_file(pid_t pid, pid_t thread, Pids& out) {
  ProcPath path;
  path.text("/proc/").number(pid).text("/task/").number(thread).text("/children");
  const int fd = open_proc(path, 0);
  if (fd < 0) return;
  char buffer[4096];
  pid_t value = 0;
  ssize_t got = 0;
  while ((got = ::read(fd, buffer, sizeof(buffer))) > 0) {
    for (ssize_t i = 0; i < got; ++i) {
      if (buffer[i] >= '0' && buffer[i] <= '9') {
        value = value * 10 + (buffer[i] - '0');
      } else if (value > 0) {
        append(out, value);
        value = 0;
      }
    }
  }
  if (value > 0) append(out, value);
  ::close(fd);
}

struct DirEntry {  // as getdents64 fills it
  std::uint64_t inode;
  std::int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[1];
};

pid_t parse_pid(const char* text) {
  pid_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) value = value * 10 + (*text - '0');
  return *text == '\0' ? value : 0;
}

}  // namespace

char state_of(pid_t pid) {
  ProcPath path;
  path.text("/proc/").number(pid).text("/stat");
  const int fd = open_proc(path, 0);
  if (fd < 0) return 0;
  char buffer[512];
  const ssize_t got = ::read(fd, buffer, sizeof(buffer));
  ::close(fd);
  // The name in parentheses may itself hold parentheses: the state follows the last one.
  for (ssize_t i = got - 1; i >= 0; --i) {
    if (buffer[i] == ')') return i + 2 < got ? buffer[i + 2] : '\0';
  }
  return 0;
}

void list_children(pid_t root, Pids& out) {
  ProcPath path;
  path.text("/proc/").number(root).text("/task");
  const int fd = open_proc(path, O_DIRECTORY);
  if (fd < 0) return;
  alignas(DirEntry) char buffer[2048];
  long got = 0;
  while ((got = ::syscall(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0) {
    for (long at = 0; at < got;) {
      const char* entry = buffer + at;
      unsigned short length = 0;
      std::memcpy(&length, entry + offsetof(DirEntry, length), sizeof(length));
      const pid_t thread = parse_pid(entry + offsetof(DirEntry, name));
      if (thread > 0) read_children_file(root, thread, out);
      at += length;
    }
  }
  ::close(fd);
}

void list_descendants(pid_t root, Pids& out) {
  out.count = 0;
  list_children(root, out);
  for (std::size_t next = 0; next < out.count;) {
    const char state = state_of(out.list[next]);
    if (state == 0 || state == 'Z' || state == 'X') {
      out.list[next] = out.list[--out.count];
      continue;
    }
    list_children(out.list[next], out);
    ++next;
  }
}

}  // namespace daybook::executor::tree
