// Any bytes as a few files that may be one log: finding them, telling their kinds, joining and
// reading them. No crash, no hang, and every file is a source's, is listed, or is part of one.
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "tools/log_calls.h"
#include "tools/log_parts.h"

namespace {

/// Between files: in no sound text.
constexpr char kBorder = '\xff';
constexpr std::array<const char*, 6> kNames = {"a.jsonl",
                                               "b.jsonl",
                                               "rollout-2026-10-02T10-00-00-0a99.jsonl",
                                               "rollout-2026-10-02T10-00-00-0a99_2.jsonl",
                                               "rollout-2026-10-02T10-00-00-0a99_3.jsonl",
                                               "rollout-2026-10-02T10-00-00-0a98.jsonl"};

/// Emptied for each input, and gone with the process.
class Folder {
 public:
  ~Folder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& empty() {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
    return path_;
  }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("daybook-fuzz-" + std::to_string(::getpid()));
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace daybook::tools;
  static Folder all;
  const std::filesystem::path& folder = all.empty();
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::size_t files = 0;
  for (const char* name : kNames) {
    const std::size_t end = std::min(rest.find(kBorder), rest.size());
    std::ofstream(folder / name, std::ios::binary) << rest.substr(0, end);
    ++files;
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  const std::array<std::string, 1> paths = {folder.string()};
  const auto found = discover_logs(paths);
  DAYBOOK_CHECK(found.has_value());
  std::size_t told = 0;
  for (const LogSource& source : join_parts(found->sources)) {
    told += source.rest.size() + 1 - source.told;
  }
  DAYBOOK_CHECK(told == found->sources.size());
  std::size_t twins = 0;
  for (const LogSource& source : found->sources) twins += source.twins.size();
  DAYBOOK_CHECK(told + twins + found->unread.size() + found->not_a_log.size() == files);
  scan_log_calls(found->sources, {.threads = 1, .starts = true},
                 [](daybook::replay::Call&& call) { DAYBOOK_CHECK(call.session != nullptr); });
  return 0;
}
