// A folder that exists for the length of a test.
#pragma once

#include <filesystem>
#include <string>

namespace daybook::tests {

class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string str(const std::string& below = "") const {
    return below.empty() ? path_.string() : (path_ / below).string();
  }

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& bytes);

}  // namespace daybook::tests
