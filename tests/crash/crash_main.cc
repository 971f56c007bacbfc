// The program, able to die at a chosen moment.
#include "tests/crash/kill_points.h"
#include "tools/program.h"

namespace {

daybook::Result<std::unique_ptr<daybook::journal::Journal>> open_journal(
    const std::string& folder, daybook::journal::OpenMode mode) {
  auto journal = daybook::tools::open_disk_journal(folder, mode);
  if (!journal) return journal;
  return daybook::tests::with_kill_point(std::move(*journal),
                                         daybook::tests::kill_point_of_process());
}

}  // namespace

int main(int argc, char** argv, char** variables) {
  return daybook::tools::run_program(argc, argv, variables, open_journal);
}
