#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "executor/file_io.h"
#include "executor/file_tools.h"
#include "executor/glob.h"
#include "executor/outcome.h"

namespace daybook::executor {
namespace {

/// Entries looked at before the walk gives up.
constexpr std::size_t kMaxEntries = 500'000;

constexpr std::array<std::string_view, 9> kSkipped = {".git",          ".venv",       "__pycache__",
                                                      ".pytest_cache", ".mypy_cache", ".ruff_cache",
                                                      "node_modules",  "dist",        "build"};

std::string as_prefix(const std::string& path) {
  return path == "." ? "" : path + "/";
}

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

/// Folders are opened one at a time by their path beneath the start, so that neither depth nor
/// path length is bounded by descriptors or PATH_MAX.
class Walk {
 public:
  /// Links are followed from the root, which may lie above the start.
  Walk(int root, int start, const Location& where, const std::string& pattern, bool recursive)
      : root_(root),
        start_(start),
        shown_prefix_(as_prefix(where.shown)),
        root_prefix_(as_prefix(where.below)),
        pattern_(recursive ? "**/" + pattern : pattern),
        recursive_(recursive) {}

  Result<void> run(const std::stop_token& stop) {
    std::vector<std::string> folders{""};
    while (!folders.empty() && !cut_short_) {
      if (stop.stop_requested()) return fail(ErrorCode::cancelled, "the listing was stopped");
      const std::string folder = std::move(folders.back());
      folders.pop_back();
      read_folder(folder, folders);
    }
    std::sort(found_.begin(), found_.end());
    return {};
  }

  std::vector<std::string>& found() { return found_; }
  bool cut_short() const { return cut_short_; }

 private:
  void read_folder(const std::string& folder, std::vector<std::string>& folders) {
    Opened fd = open_below(start_, folder.empty() ? "." : folder.substr(0, folder.size() - 1),
                           O_RDONLY | O_DIRECTORY, Links::refuse);
    if (!fd) return;  // unreadable, or gone since it was seen
    const std::unique_ptr<DIR, CloseDir> dir(::fdopendir(fd->get()));
    if (!dir) return;
    fd->release();
    while (const dirent* entry = ::readdir(dir.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == ".." || is_temporary_name(name)) continue;
      if (++entries_ > kMaxEntries) {
        cut_short_ = true;
        return;
      }
      visit(::dirfd(dir.get()), folder, *entry, folders);
    }
  }

  void visit(int dir, const std::string& folder, const dirent& entry,
             std::vector<std::string>& folders) {
    const std::string_view name = entry.d_name;
    auto type = static_cast<mode_t>(DTTOIF(entry.d_type));
    if (entry.d_type == DT_UNKNOWN) {
      struct stat status {};
      if (::fstatat(dir, entry.d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
      type = status.st_mode & S_IFMT;
    }
    std::string path = folder + entry.d_name;
    if (S_ISDIR(type)) {
      const bool skipped = std::find(kSkipped.begin(), kSkipped.end(), name) != kSkipped.end();
      if (recursive_ && !skipped) folders.push_back(std::move(path) + '/');
      return;
    }
    if (!match_path(pattern_, path)) return;
    if (S_ISREG(type) || (S_ISLNK(type) && links_to_file(path)))
      found_.push_back(shown_prefix_ + path);
  }

  bool links_to_file(const std::string& path) const {
    const Opened target = open_below(root_, root_prefix_ + path, O_PATH);
    struct stat status {};
    return target && ::fstat(target->get(), &status) == 0 && S_ISREG(status.st_mode);
  }

  int root_;
  int start_;
  std::string shown_prefix_;
  std::string root_prefix_;
  std::string pattern_;
  bool recursive_;
  bool cut_short_ = false;
  std::size_t entries_ = 0;
  std::vector<std::string> found_;
};

class ListFiles : public Tool {
 public:
  ListFiles()
      : spec_{"list_files",
              "List files below a folder, sorted by path. Version control, dependency and build "
              "folders are left out.",
              R"({"type":"object","properties":{)"
              R"("path":{"type":"string","description":"Folder; the workspace unless given"},)"
              R"("pattern":{"type":"string","description":)"
              R"("Name pattern such as *.py or src/**/*.h; * unless given"},)"
              R"("recursive":{"type":"boolean","description":)"
              R"("Also look in folders below; true unless given"},)"
              R"("max_results":{"type":"integer","minimum":1,"description":)"
              R"("How many paths at most; 100 unless given"}},"additionalProperties":false})",
              Risk::read, schema::Effect::read_only} {}

  const ToolSpec& spec() const override { return spec_; }

  Result<Plan> plan(const ToolRequest& request, const Json& arguments) override {
    DAYBOOK_TRY(locate(request.policy, arguments.value("path", "."), Access::read));
    return no_changes(request.policy);
  }

  Outcome run(const ToolRequest& request, const Json& arguments, const Plan& /*plan*/,
              const OutputSink& /*sink*/, std::stop_token stop) override {
    const Result<Location> where =
        locate(request.policy, arguments.value("path", "."), Access::read);
    if (!where) return failure(where.error());
    const Opened root = open_root(request.policy.roots[where->root]);
    if (!root) {
      return failure(path_error(root.error(), request.policy.roots[where->root].path));
    }
    const Opened start = open_below(root->get(), where->below, O_PATH | O_DIRECTORY);
    if (!start) {
      if (start.error() == ENOTDIR) {
        return failure({ErrorCode::invalid_argument,
                        fmt::format("'{}' is not a folder; name a folder", where->shown)});
      }
      return failure(path_error(start.error(), where->shown));
    }
    const std::string pattern = arguments.value("pattern", "*");
    Walk walk(root->get(), start->get(), *where, pattern, arguments.value("recursive", true));
    if (const Result<void> walked = walk.run(stop); !walked) return failure(walked.error());
    std::vector<std::string>& found = walk.found();
    const auto limit = static_cast<std::size_t>(arguments.value("max_results", std::int64_t{100}));
    std::vector<std::string> notices;
    if (walk.cut_short()) {
      notices.push_back(fmt::format("the walk stopped after {} entries", kMaxEntries));
    }
    if (found.size() > limit) {
      notices.push_back(fmt::format("{} more; narrow path or pattern, or raise max_results",
                                    found.size() - limit));
      found.resize(limit);
    }
    // A list has no other place for what its reader must know.
    for (const std::string& notice : notices) found.push_back("… (" + notice + ")");
    Outcome outcome = success(dump_json(found));
    outcome.receipt.notices = std::move(notices);
    return outcome;
  }

 private:
  ToolSpec spec_;
};

}  // namespace

std::unique_ptr<Tool> make_list_files() {
  return std::make_unique<ListFiles>();
}

}  // namespace daybook::executor
