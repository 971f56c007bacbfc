#include "tools/program.h"

#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

std::size_t terminal_columns(int fd) {
  winsize size{};
  return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/// Diagnostics go to stderr, so that stdout holds data alone.
void set_up_log(const engine::Environment& environment) {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("daybook"));
  const auto level = environment.find("DAYBOOK_LOG");
  spdlog::set_level(level == environment.end() ? spdlog::level::err
                                               : spdlog::level::from_str(level->second));
}

}  // namespace

Result<std::unique_ptr<journal::Journal>> open_disk_journal(const std::string& folder,
                                                            journal::OpenMode mode) {
  journal::RocksOptions options;
  options.folder = folder;
  options.mode = mode;
  return journal::open_rocks_journal(std::move(options));
}

int run_program(int argc, char** argv, char** variables, JournalOpener open_journal) {
  // A closed pipe must not end a turn between an effect and its record: writes fail instead.
  signal(SIGPIPE, SIG_IGN);
  FdBuffer out_buffer(STDOUT_FILENO);
  std::ostream out(&out_buffer);
  std::error_code ignored;
  Context context{std::cin,
                  out,
                  std::cerr,
                  read_environment(variables),
                  std::filesystem::current_path(ignored).string(),
                  isatty(STDIN_FILENO) == 1,
                  isatty(STDOUT_FILENO) == 1,
                  terminal_columns(STDOUT_FILENO),
                  {},
                  std::move(open_journal)};
  set_up_log(context.environment);
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const int code = run_cli(arguments, context);
  out.flush();
  // Whoever closed the pipe has read enough; any other failure lost output.
  if (out_buffer.error() == 0 || out_buffer.error() == EPIPE) return code;
  std::cerr << "daybook: cannot write the output: " << std::strerror(out_buffer.error()) << '\n';
  return code == 0 ? kExitError : code;
}

}  // namespace daybook::tools
