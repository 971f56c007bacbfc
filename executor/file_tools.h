// The six file tools, each in its own source file.
#pragma once

#include <memory>

#include "executor/edits.h"
#include "executor/tool.h"

namespace daybook::executor {

std::unique_ptr<Tool> make_read_file();
std::unique_ptr<Tool> make_list_files();

// The writers take a hook that tests use to interrupt a commit between two files.
std::unique_ptr<Tool> make_write_file(CommitHook hook = {});
std::unique_ptr<Tool> make_replace_in_file(CommitHook hook = {});
std::unique_ptr<Tool> make_apply_patch(CommitHook hook = {});
std::unique_ptr<Tool> make_apply_unified_diff(CommitHook hook = {});

}  // namespace daybook::executor
