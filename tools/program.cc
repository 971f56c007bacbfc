#include "tools/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "tools/fd_stream.h"

namespace daybook::tools {
namespace {

engine::Environment read_environment(char** variables) {
  engine::Environment environment;
  for (; *variables != nullptr; ++variables) {
    const std::string_view entry(*variables);
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return environment;
}

/// A relative DAYBOOK_HOME is meant from here: commands that the agent runs elsewhere inherit it.
engine::Environment with_absolute_home(engine::Environment environment, const std::string& here) {
  const auto home = environment.find("DAYBOOK_HOME");
  if (home == environment.end() || home->second.empty() || home->second.starts_with("~/")) {
    return environment;
  }
  home->second = (std::filesystem::path(here) / home->second).lexically_normal().string();
  return environment;
}

std::size_t terminal_columns(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/// "pid 4711 on host (daybook run)".
std::string owner_text(std::string_view command) {
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  return fmt::format("pid {} on {} (daybook {})", getpid(), host, command);
}

/// A closed standard descriptor would be taken by the journal's own files, and what is printed
/// would land in them. Output opened for reading only fails when written to, as it should.
void keep_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) == -1) DAYBOOK_CHECK(open("/dev/null", O_RDONLY) == fd);
  }
}

}  // namespace

Result<void> check_log_level(const engine::Environment& environment) {
  const std::vector<std::string> known = {"debug", "info", "warning", "error", "off"};
  const auto found = environment.find("DAYBOOK_LOG");
  if (found == environment.end() || found->second.empty() ||
      std::ranges::find(known, found->second) != known.end()) {
    return {};
  }
  return fail(ErrorCode::invalid_argument, fmt::format("DAYBOOK_LOG cannot be '{}'; use {}",
                                                       found->second, fmt::join(known, ", ")));
}

Result<void> set_up_log(const engine::Environment& environment) {
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "daybook", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  const auto database = spdlog::default_logger()->clone("rocksdb");
  spdlog::drop("rocksdb");
  spdlog::register_logger(database);
  DAYBOOK_TRY(check_log_level(environment));
  const auto found = environment.find("DAYBOOK_LOG");
  const std::string level = found == environment.end() ? "" : found->second;
  spdlog::set_level(level.empty() ? spdlog::level::err : spdlog::level::from_str(level));
  if (level.empty()) database->set_level(spdlog::level::off);
  return {};
}

int run_program(int argc, char** argv, char** variables, const DiskJournal& disk) {
  // A closed pipe must not end a turn between an effect and its record: writes fail instead.
  signal(SIGPIPE, SIG_IGN);
  keep_standard_descriptors();
  FdBuffer out_buffer(STDOUT_FILENO);
  std::ostream out(&out_buffer);
  std::error_code ignored;
  const std::string owner = owner_text(argc > 1 ? argv[1] : "");
  const auto open_journal = [&](const std::string& folder, journal::OpenMode mode) {
    return disk({folder, mode, owner, {}, {}});
  };
  const std::string here = std::filesystem::current_path(ignored).string();
  Context context{std::cin,
                  out,
                  std::cerr,
                  with_absolute_home(read_environment(variables), here),
                  here,
                  isatty(STDIN_FILENO) == 1,
                  isatty(STDOUT_FILENO) == 1,
                  terminal_columns(STDOUT_FILENO),
                  {},
                  open_journal,
                  owner};
  // A wrong level is told by the command that would have run.
  static_cast<void>(set_up_log(context.environment));
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const int code = run_cli(arguments, context);
  out.flush();
  // Whoever closed the pipe has read enough; any other failure lost output.
  if (out_buffer.error() == 0 || out_buffer.error() == EPIPE) return code;
  std::cerr << "daybook: cannot write the output: " << std::strerror(out_buffer.error()) << '\n';
  return code == 0 ? kExitError : code;
}

}  // namespace daybook::tools
