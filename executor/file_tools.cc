#include "executor/file_tools.h"

namespace daybook::executor {

Tools make_file_tools() {
  Tools tools;
  tools.push_back(make_read_file());
  tools.push_back(make_list_files());
  tools.push_back(make_write_file());
  tools.push_back(make_replace_in_file());
  return tools;
}

Tools make_patch_tools() {
  Tools tools;
  tools.push_back(make_apply_patch());
  tools.push_back(make_apply_unified_diff());
  return tools;
}

}  // namespace daybook::executor
