#include "tools/counted.h"

#include <fmt/format.h>

#include "tools/cost_print.h"

namespace daybook::tools {

std::string counted(std::uint64_t number, std::string_view one, std::string_view many) {
  return fmt::format("{} {}{}", grouped(number), number == 1 || many.empty() ? one : many,
                     number != 1 && many.empty() ? "s" : "");
}

}  // namespace daybook::tools
