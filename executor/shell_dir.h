// A private folder for the text of commands: a shell reads them from there, nobody else can.
#pragma once

#include <string>
#include <string_view>

#include "schema/result.h"

namespace daybook::executor {

class ShellDir {
 public:
  ShellDir() = default;
  ~ShellDir();
  ShellDir(const ShellDir&) = delete;
  ShellDir& operator=(const ShellDir&) = delete;

  /// Makes the folder, owner-only, below `parent` ("": /tmp) unless it is there already.
  Result<void> ensure(std::string_view parent);
  std::string path(std::string_view name) const { return path_ + "/" + std::string(name); }
  /// Writes a file that only the owner may read.
  Result<void> write(std::string_view name, std::string_view text);
  void remove(std::string_view name);

 private:
  void clear();

  std::string path_;
};

}  // namespace daybook::executor
