#include "tools/log_losses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "tools/counted.h"
#include "tools/format.h"

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

/// Files without any record are no loss, but one of them may be what somebody wonders about.
void tell_passed_over(std::span<const SkippedFile> files, std::ostream& out) {
  constexpr std::size_t kMostNamed = 5;
  std::size_t named = 0;
  for (const SkippedFile& file : files) {
    if (file.why == kEmptyFile || ++named > kMostNamed) continue;
    out << "daybook: " << printable(fmt::format("passed over: {} {}", file.path, file.why)) << '\n';
  }
  if (named > kMostNamed) {
    out << fmt::format("daybook: passed over: and {} more\n", named - kMostNamed);
  }
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

Result<void> check_no_journal(const Arguments& arguments) {
  if (!arguments.text("--journal")) return {};
  return fail(ErrorCode::invalid_argument,
              "a PATH is read instead of the journal: leave out --journal, or the PATH");
}

Result<Discovery> discover_given_logs(const std::vector<std::string>& paths, std::ostream* told) {
  auto found = discover_logs(paths);
  if (!found) return fail(std::move(found.error()));
  if (found->sources.empty() && found->unread.empty()) {
    return fail(
        ErrorCode::not_found,
        fmt::format("there is no log of a known kind in {}{}: docs/import.md lists the kinds",
                    fmt::join(paths, ", "), passed_over(found->not_a_log)));
  }
  if (told != nullptr) tell_passed_over(found->not_a_log, *told);
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
