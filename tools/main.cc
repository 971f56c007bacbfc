#include "tools/program.h"

int main(int argc, char** argv, char** variables) {
  return daybook::tools::run_program(argc, argv, variables, daybook::tools::open_disk_journal);
}
