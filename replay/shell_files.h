// What a shell script does to the files that it names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace daybook::replay {

enum class FileDeed : std::uint8_t {
  created,   // written whole: >, tee, touch, cp, the new name of mv
  appended,  // >>
  edited,    // sed -i, perl -i
  deleted,   // rm, git rm
  moved,     // the old name of mv
  opened     // cat, head, sed and the like
};

struct ShellFile {
  std::string path;  // below the folder that the script changed to
  FileDeed deed = FileDeed::opened;
};

/// In the order of the script. Names that only the shell knows (variables, patterns) are left out.
std::vector<ShellFile> shell_files(std::string_view script);

}  // namespace daybook::replay
