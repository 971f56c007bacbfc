// A folder in memory, for tests that make thousands of journals and need no real disk.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "schema/result.h"

namespace daybook::tests {

class MemoryDir {
 public:
  MemoryDir() {
    const std::string base = std::filesystem::is_directory("/dev/shm")
                                 ? "/dev/shm"
                                 : std::filesystem::temp_directory_path().string();
    std::string name = base + "/daybook-test-XXXXXX";
    DAYBOOK_CHECK(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~MemoryDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  MemoryDir(const MemoryDir&) = delete;
  MemoryDir& operator=(const MemoryDir&) = delete;
  std::string str(const std::string& below = "") const {
    return below.empty() ? path_ : path_ + "/" + below;
  }

 private:
  std::string path_;
};

}  // namespace daybook::tests
