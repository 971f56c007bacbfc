// Any bytes through both patch tools: planning never crashes, and what a plan changes lies inside
// the workspace. The first byte chooses the tool and a frame around the rest, so that few bytes
// reach deep into the parsers.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "executor/direct.h"
#include "executor/file_tools.h"
#include "schema/json.h"

namespace {

namespace fs = std::filesystem;
using namespace daybook;

/// A base folder with a workspace and a file beside it that nothing may change.
class Arena {
 public:
  Arena() {
    std::string name = (fs::temp_directory_path() / "daybook-fuzz-XXXXXX").string();
    DAYBOOK_CHECK(::mkdtemp(name.data()) != nullptr);
    base_ = fs::canonical(name);
    executor::Tools tools;
    tools.push_back(executor::make_apply_patch());
    tools.push_back(executor::make_apply_unified_diff());
    executor_ = executor::make_direct_executor(std::move(tools), {});
  }
  ~Arena() {
    std::error_code ignored;
    fs::remove_all(base_, ignored);
  }

  void reset() const {
    fs::remove_all(base_ / "ws");
    fs::create_directories(base_ / "ws/d");
    write(base_ / "outside", "outside\n");
    write(base_ / "ws/f", "one\ntwo\r\nthree");
    write(base_ / "ws/d/g", "a\nb\na\n\xff\n");
    fs::create_symlink("../outside", base_ / "ws/link");
    fs::create_directory_symlink("..", base_ / "ws/up");
  }

  void run(bool diff, const std::string& patch) {
    std::string arguments = diff ? "{\"diff\":" : "{\"patch\":";
    append_json_string(arguments, patch);
    const executor::ToolRequest request{"s",
                                        "c",
                                        1,
                                        diff ? "apply_unified_diff" : "apply_patch",
                                        arguments + "}",
                                        {1, {{(base_ / "ws").string(), true}}}};
    const Result<executor::Plan> plan = executor_->plan(request);
    if (!plan) return;
    const executor::Outcome outcome = executor_->run(request, *plan, {}, {});
    if (!outcome.is_error) {
      DAYBOOK_CHECK(executor_->settle(request, *plan) == executor::Settlement::applied);
    }
    for (const auto& entry : fs::directory_iterator(base_)) {
      const std::string name = entry.path().filename().string();
      DAYBOOK_CHECK(name == "ws" || name == "outside");
    }
    DAYBOOK_CHECK(read(base_ / "outside") == "outside\n");
  }

 private:
  static void write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path base_;
  std::unique_ptr<executor::Executor> executor_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  struct Frame {
    bool diff;
    const char* before;
    const char* after;
  };
  static constexpr Frame kFrames[] = {
      {false, "", ""},
      {true, "", ""},
      {false, "*** Begin Patch\n", "\n*** End Patch\n"},
      {false, "*** Begin Patch\n*** Update File: f\n@@\n", "\n*** End Patch\n"},
      {false, "*** Begin Patch\n*** Update File: d/g\n*** Move to: ", "\n*** End Patch\n"},
      {true, "--- a/f\n+++ b/f\n@@ ", "\n"},
      {true, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n", "\n"},
      {true, "--- /dev/null\n+++ ", "\n@@ -0,0 +1 @@\n+x\n"},
  };
  if (size == 0) return 0;
  static Arena arena;
  arena.reset();
  const Frame& frame = kFrames[data[0] % std::size(kFrames)];
  const std::string middle(reinterpret_cast<const char*>(data + 1), size - 1);
  arena.run(frame.diff, frame.before + middle + frame.after);
  return 0;
}
