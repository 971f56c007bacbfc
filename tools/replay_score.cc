#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "schema/utf8.h"
#include "tools/bounded_text.h"
#include "tools/read_journal.h"
#include "tools/replay_actions.h"
#include "tools/replay_cases.h"
#include "tools/score_text.h"

namespace daybook::tools {
namespace {

/// A summary longer than this is some other file.
constexpr std::size_t kMostBytes = 4 << 20;

Result<std::string> summary_from(Context& context, const std::string& name) {
  std::string text;
  if (name == "-") {
    text = bounded_text(context.in, kMostBytes);
  } else {
    const auto path = std::filesystem::path(context.current_folder) / name;
    std::ifstream in(path, std::ios::binary);
    text = bounded_text(in, kMostBytes);
    if (!in || std::filesystem::is_directory(path)) {
      return fail(ErrorCode::not_found,
                  fmt::format("cannot read '{}'; give a file that holds the summary, or -", name));
    }
  }
  if (text.size() > kMostBytes) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' has more than {} bytes, which is no summary", name, kMostBytes));
  }
  if (!is_utf8(text)) {
    return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not UTF-8 text", name));
  }
  return text;
}

}  // namespace

Result<int> replay_score(Context& context, const Arguments& arguments) {
  auto file = replay_operand(arguments, "a file that holds a summary");
  if (!file) return fail(std::move(file.error()));
  const auto id = arguments.text("--case");
  if (!id) {
    return fail(
        ErrorCode::invalid_argument,
        "'replay score' needs --case SESSION@VERSION, the compaction that the file sums up");
  }
  auto text = summary_from(context, *file);
  if (!text) return fail(std::move(text.error()));
  auto journal = open_for_reading(context, arguments);
  if (!journal) return fail(std::move(journal.error()));
  auto whole = wanted_case(**journal, *id);
  if (!whole) return fail(std::move(whole.error()));
  auto prepared = replay::PreparedCase::load(**journal, *whole);
  if (!prepared) return fail(std::move(prepared.error()));
  print_score(context, **prepared, *text, {*text, engine::SummaryStop::kNatural},
              arguments.flag("--json"));
  return kExitOk;
}

}  // namespace daybook::tools
