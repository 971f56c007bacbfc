#include "tools/open_prices.h"

namespace daybook::tools {

Result<replay::PriceBook> open_prices(const Context& context, const Arguments& arguments) {
  auto book = replay::PriceBook::shipped();
  std::string path;
  if (const auto given = arguments.text("--prices")) {
    path = given->starts_with('/') ? *given : context.current_folder + '/' + *given;
  } else {
    // Prices are found without a folder for the journal, which may be needed for nothing else.
    engine::ConfigFlags flags;
    flags.journal = ".";
    const auto config = engine::load_config({context.environment, "", std::move(flags)});
    if (!config) return fail(config.error());
    path = config->prices;
  }
  if (!path.empty()) DAYBOOK_TRY(book.add_file(path));
  return book;
}

}  // namespace daybook::tools
