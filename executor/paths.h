// From a path that the model wrote to a file inside a policy's roots.
//
// `locate` decides by text which root a path belongs to. Everything that touches the disk then
// starts from that root's directory and lets the kernel refuse any way out (openat2 beneath), so a
// symbolic link swapped in between cannot lead outside. Links that stay inside are followed;
// absolute links are refused even when they point back inside.
//
// All functions are free of state and may be called from any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "executor/executor.h"
#include "executor/fd.h"

namespace daybook::executor {

/// Longest path accepted from a model, in bytes.
inline constexpr std::size_t kMaxPathBytes = std::size_t{32} * 1024;

enum class Access { read, write };

struct Location {
  std::string path;      // absolute, without `.` and `..`
  std::string shown;     // for the model: relative to root 0 when inside it, absolute elsewhere
  std::size_t root = 0;  // index in Policy::roots; the deepest root that holds the path
  std::string below;     // relative to that root; "." for the root itself
};

/// Relative paths start at root 0; absolute ones and those that start with `~/` must lie inside
/// any root. Nothing is read from disk. Errors: invalid_argument (empty, NUL, too long),
/// permission (outside all roots; not writable although `access` is write).
Result<Location> locate(const Policy& policy, std::string_view given, Access access);

/// How the model sees an absolute path: relative to root 0 when inside it.
std::string shown_path(const Policy& policy, const std::string& absolute);

/// A descriptor, or the errno that says why not.
using Opened = tl::expected<UniqueFd, int>;

/// The directory of a root, O_PATH. Fails when a part of the root's path is a symbolic link.
Opened open_root(const Root& root);

enum class Links { follow_inside, refuse };

/// Opens `below` without ever leaving `directory`. O_CLOEXEC and O_NOCTTY are added to flags.
Opened open_below(int directory, std::string_view below, int flags,
                  Links links = Links::follow_inside);

/// One sentence for the model about an errno of the functions above.
Error path_error(int error, std::string_view shown);

/// open_root and open_below in one, with errors for the model.
Result<UniqueFd> open_located(const Policy& policy, const Location& where, int flags);

/// Where a file is or will be: changes go through `parent`, never through the path again.
struct Target {
  UniqueFd parent;                   // the deepest directory on the way that exists, O_PATH
  std::vector<std::string> missing;  // directories to create below it, outermost first
  std::string name;                  // last component; never a symbolic link that exists
};

/// Finds the parent of a file that is to be written, following links of the last component while
/// they stay inside the root. Refuses a directory that a read-only root governs.
Result<Target> open_target(const Policy& policy, const Location& where);

}  // namespace daybook::executor
