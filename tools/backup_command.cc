#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "tools/command.h"
#include "tools/json_writer.h"
#include "tools/read_journal.h"

namespace daybook::tools {
namespace {

Result<int> run(Context& context, const Arguments& arguments) {
  const auto from = journal_folder(context, arguments);
  if (!from) return fail(from.error());
  const std::filesystem::path given(*arguments.text("FOLDER"));
  if (given.empty()) {
    return fail(ErrorCode::invalid_argument,
                "the backup's folder is empty; name a folder that does not exist yet");
  }
  const std::string folder =
      given.is_absolute() ? given.string() : (context.current_folder / given).string();
  if (is_inside(folder, *from)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' lies in the journal itself; give a folder outside it", folder));
  }
  // Beside a writer as well as without one.
  const auto journal = context.open_journal(*from, journal::OpenMode::read_only);
  if (!journal) return fail(journal.error());
  DAYBOOK_TRY((*journal)->backup(folder));
  if (arguments.flag("--json")) {
    context.out << JsonWriter().begin_object().member("folder", folder).end_object().text() << '\n';
  } else {
    context.out << "copied the journal to " << folder << '\n';
  }
  return kExitOk;
}

}  // namespace

Command backup_command() {
  return {"backup",
          "Copy the journal, consistently, into a folder that does not exist yet",
          {{"FOLDER", "where the copy goes"}},
          {},
          run};
}

}  // namespace daybook::tools
