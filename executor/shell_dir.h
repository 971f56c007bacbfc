// A private folder for the text of commands: a shell reads them from there, nobody else can.
//
// It holds a file "lock" that its owner keeps locked (flock) for as long as it lives, however it
// dies. A folder whose lock is free has no owner any more.
#pragma once

#include <string>
#include <string_view>

#include "executor/fd.h"
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
  UniqueFd lock_;
};

/// Removes the folders below `parent` ("": /tmp) that this user's dead processes left. Never
/// touches the folder of a living process, and follows no symbolic link. Failures are left for the
/// next time.
void remove_abandoned_shell_dirs(std::string_view parent);

}  // namespace daybook::executor
