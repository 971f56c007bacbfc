#include "tools/program.h"

int main(int argc, char** argv, char** variables) {
  return daybook::tools::run_program(argc, argv, variables, daybook::journal::open_rocks_journal);
}
