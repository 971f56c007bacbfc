#include "executor/shell_process.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "executor/process_env.h"
#include "executor/process_io.h"

namespace daybook::executor {
namespace {

constexpr std::string_view kCommandFile = "command";
constexpr std::string_view kOutputFifo = "output";
constexpr std::size_t kLongestStatus = 4096;

/// The trap makes SIGINT abandon the whole command and not only its current step. Inside a
/// function `return` would go on with the caller's next step, so the shell is given up there. It
/// is set anew each time: bash does not run a trap again that ended by `return`.
constexpr std::string_view kInterrupt =
    "trap - INT; trap 'if ((${#BASH_SOURCE[@]} == 1)); then return 130; else exit 130; fi' INT; ";

std::string new_nonce() {
  std::array<unsigned char, 16> bytes{};
  DAYBOOK_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string quoted(const std::string& path) {
  std::string made = "'";
  for (const char c : path) {
    if (c == '\'') {
      made += "'\\''";
    } else {
      made += c;
    }
  }
  return made + "'";
}

}  // namespace

tl::expected<std::unique_ptr<ShellProcess>, SpawnFailure> ShellProcess::start(
    const std::vector<std::string>& env, const std::string& cwd, const KillLadder& ladder) {
  auto program = find_program("bash", env);
  if (!program) return tl::unexpected(SpawnFailure{ENOENT, program.error().message});
  const UniqueFd folder(::open(cwd.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) {
    const int error = errno;
    return tl::unexpected(
        SpawnFailure{error, "cannot enter the folder " + cwd + ": " + std::strerror(error)});
  }
  auto commands = make_pipe();
  auto status = make_pipe();
  if (!commands || !status) {
    return tl::unexpected(SpawnFailure{EMFILE, "too many open files: close some sessions"});
  }
  ::fcntl(commands->read.get(), F_SETFL, 0);
  SpawnSpec spec;
  spec.program = std::move(*program);
  spec.argv = {"bash", "--noprofile", "--norc"};
  spec.env = env;
  spec.cwd_fd = folder.get();
  spec.stdio = {commands->read.get(), -1, -1};
  spec.extra_fd = status->write.get();
  auto supervisor = Supervisor::start(spec, ladder);
  if (!supervisor) return tl::unexpected(supervisor.error());
  return std::unique_ptr<ShellProcess>(new ShellProcess(
      std::move(*supervisor), std::move(commands->write), std::move(status->read)));
}

Result<UniqueFd> ShellProcess::begin(ShellDir& dir, std::string_view command) {
  DAYBOOK_TRY(dir.write(kCommandFile, std::string(command) + "\n"));
  const std::string fifo = dir.path(kOutputFifo);
  dir.remove(kOutputFifo);
  if (::mkfifo(fifo.c_str(), 0600) != 0) {
    return fail(ErrorCode::io, "cannot make " + fifo + ": " + std::strerror(errno));
  }
  UniqueFd output(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!output) return fail(ErrorCode::io, "cannot open " + fifo + ": " + std::strerror(errno));
  nonce_ = new_nonce();
  received_.clear();
  const std::string extra = std::to_string(kExtraFd);
  // One line, so that bash has read all of it before the command can change anything. The wait
  // takes notice of killed jobs here, where what bash says about them goes nowhere.
  const std::string line = "wait; " + std::string(kInterrupt) + ". " +
                           quoted(dir.path(kCommandFile)) + " </dev/null >" + quoted(fifo) +
                           " 2>&1 " + extra + ">&-; builtin printf '" + nonce_ +
                           " %d\\n' \"$?\" >&" + extra + "\n";
  const auto written = write_some(commands_.get(), line);
  if (!written || *written != line.size()) {
    return fail(ErrorCode::io, "the shell no longer reads commands");
  }
  return output;
}

std::optional<int> ShellProcess::take_status() {
  char buffer[512];
  ssize_t got = 0;
  while ((got = ::read(status_.get(), buffer, sizeof(buffer))) > 0) {
    received_.append(buffer, static_cast<std::size_t>(got));
  }
  if (got == 0) status_.reset();
  const std::string wanted = nonce_ + " ";
  const std::size_t at = received_.find(wanted);
  const std::size_t end = at == std::string::npos ? at : received_.find('\n', at);
  if (end == std::string::npos) {
    if (received_.size() > kLongestStatus) received_.erase(0, received_.size() - wanted.size());
    return std::nullopt;
  }
  int status = 0;
  for (std::size_t i = at + wanted.size(); i < end; ++i) {
    if (received_[i] < '0' || received_[i] > '9') return std::nullopt;
    status = status * 10 + (received_[i] - '0');
    if (status > 255) return std::nullopt;
  }
  received_.clear();
  return status;
}

std::string ShellProcess::cwd() const {
  std::array<char, 4096> buffer{};
  const std::string link = "/proc/" + std::to_string(supervisor_->target()) + "/cwd";
  const ssize_t size = ::readlink(link.c_str(), buffer.data(), buffer.size());
  if (size <= 0) return {};
  std::string path(buffer.data(), static_cast<std::size_t>(size));
  struct stat status {};
  // A removed folder has a name that leads nowhere.
  return ::stat(path.c_str(), &status) == 0 ? path : std::string();
}

CpuTimes ShellProcess::cpu_times() const {
  std::ifstream in("/proc/" + std::to_string(supervisor_->target()) + "/stat");
  std::string line;
  std::getline(in, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(line.substr(name_end + 2));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  std::uint64_t children_user = 0;
  std::uint64_t children_system = 0;
  fields >> user >> system >> children_user >> children_system;
  const auto tick_us = static_cast<std::uint64_t>(1'000'000 / ::sysconf(_SC_CLK_TCK));
  return {(user + children_user) * tick_us, (system + children_system) * tick_us};
}

}  // namespace daybook::executor
