#include "tools/read_journal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "engine/nearest.h"

namespace daybook::tools {
namespace {

constexpr std::size_t kMostListed = 8;

/// "a, b, c and 4 more".
std::string listed(std::vector<std::string> names) {
  if (names.size() <= kMostListed) return fmt::format("{}", fmt::join(names, ", "));
  const std::size_t more = names.size() - kMostListed;
  names.resize(kMostListed);
  return fmt::format("{} and {} more", fmt::join(names, ", "), more);
}

std::vector<std::string> names_of(const std::vector<journal::SessionInfo>& sessions) {
  std::vector<std::string> names;
  names.reserve(sessions.size());
  for (const auto& info : sessions) names.push_back(info.session.str());
  return names;
}

}  // namespace

Result<std::string> journal_folder(const Context& context, const Arguments& arguments) {
  std::string folder;
  if (const auto given = arguments.text("--journal")) {
    folder = *given;
  } else {
    // A project has no say in where the journal is.
    const auto config = engine::load_config({context.environment, "", {}});
    if (!config) return fail(config.error());
    folder = config->journal;
  }
  const std::filesystem::path path(folder);
  return path.is_absolute() ? folder : (context.current_folder / path).string();
}

bool is_inside(const std::string& path, const std::string& folder) {
  std::error_code ignored;
  const auto inner = std::filesystem::weakly_canonical(path, ignored);
  const auto outer = std::filesystem::weakly_canonical(folder, ignored);
  const auto relative = inner.lexically_relative(outer);
  return !relative.empty() && *relative.begin() != "..";
}

Result<std::unique_ptr<journal::Journal>> open_for_reading(Context& context,
                                                           const Arguments& arguments) {
  const auto folder = journal_folder(context, arguments);
  if (!folder) return fail(folder.error());
  return context.open_journal(*folder, journal::OpenMode::read_only);
}

Result<journal::SessionInfo> find_session(journal::Journal& journal, std::string_view given) {
  DAYBOOK_TRY(SessionId::parse(given));
  auto matching = journal.sessions(given);
  if (!matching) return fail(matching.error());
  for (const auto& info : *matching) {
    if (info.session.str() == given) return info;
  }
  if (matching->size() == 1) return matching->front();
  if (!matching->empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is the start of several sessions: {}; write more of the name",
                            given, listed(names_of(*matching))));
  }
  const auto all = journal.sessions("");
  if (!all) return fail(all.error());
  if (all->empty()) {
    return fail(ErrorCode::not_found,
                fmt::format("there is no session '{}': the journal is empty", given));
  }
  const auto names = names_of(*all);
  const std::string near = engine::nearest(given, names);
  return fail(ErrorCode::not_found,
              fmt::format("there is no session '{}'; {}", given,
                          near.empty() ? "there are: " + listed(names)
                                       : fmt::format("did you mean '{}'?", near)));
}

Result<void> check_version(const journal::SessionInfo& info, std::uint64_t version) {
  if (version >= 1 && version <= info.head.version) return {};
  return fail(ErrorCode::not_found,
              fmt::format("session {} has no version {}; its versions are 1 to {}",
                          info.session.str(), version, info.head.version));
}

}  // namespace daybook::tools
