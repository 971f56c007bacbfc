#include "tools/log_losses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tools/counted.h"

namespace daybook::tools {
namespace {

/// " (a.jsonl is empty; b.jsonl holds no record of a known kind; and 3 more)"; "": nothing.
std::string passed_over(std::span<const SkippedFile> files) {
  constexpr std::size_t kMostNamed = 3;
  if (files.empty()) return "";
  std::string text;
  for (const SkippedFile& file : files.first(std::min(files.size(), kMostNamed))) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", file.path, file.why);
  }
  if (files.size() > kMostNamed) text += fmt::format("; and {} more", files.size() - kMostNamed);
  return " (" + text + ")";
}

}  // namespace

Result<std::vector<std::string>> given_logs(const Context& context, const Arguments& arguments) {
  std::vector<std::string> paths;
  for (const std::string& path : arguments.list("PATH")) {
    if (path.empty()) {
      return fail(ErrorCode::invalid_argument, "PATH is empty: name a log file or a folder");
    }
    paths.push_back(path.starts_with('/') ? path : context.current_folder + '/' + path);
  }
  return paths;
}

Result<Discovery> discover_given_logs(const std::vector<std::string>& paths) {
  auto found = discover_logs(paths);
  if (!found) return fail(std::move(found.error()));
  if (found->sources.empty() && found->unread.empty()) {
    return fail(
        ErrorCode::not_found,
        fmt::format("there is no log of a known kind in {}{}: docs/import.md lists the kinds",
                    fmt::join(paths, ", "), passed_over(found->not_a_log)));
  }
  return found;
}

std::vector<std::string> losses_of(std::span<const SkippedFile> unread, const LogReport& report) {
  constexpr std::size_t kMostPlaces = 5;
  std::vector<std::string> losses;
  const auto add_files = [&](std::span<const SkippedFile> files) {
    for (const SkippedFile& file : files) {
      losses.push_back(fmt::format("{}: {}; its calls are missing", file.path, file.why));
    }
  };
  add_files(unread);
  add_files(report.unread);
  if (report.conflicts > 0) {
    losses.push_back(fmt::format("of {} the records disagree: figures are left out",
                                 counted(report.conflicts, "response", "responses")));
  }
  const std::size_t places = std::min(report.damage.size(), kMostPlaces);
  for (std::size_t i = 0; i < places; ++i) losses.push_back(report.damage[i].text());
  if (report.damaged > 0) {
    losses.push_back(fmt::format(
        "{} left out, wholly or in part{}",
        counted(report.damaged, "damaged line was", "damaged lines were"),
        report.damaged > places ? "; `daybook import --dry-run` names more places" : ""));
  }
  return losses;
}

}  // namespace daybook::tools
