#include "tools/replay_cases.h"

#include <fmt/format.h>

#include "tools/read_journal.h"

namespace daybook::tools {

Result<std::vector<replay::RecordedCompaction>> wanted_compactions(
    journal::Journal& journal, const std::vector<std::string>& sessions) {
  std::vector<SessionId> names;
  for (const auto& given : sessions) {
    if (const std::size_t at = given.rfind('@'); at != std::string::npos) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("--sessions takes sessions, not single compactions: give '{}', all "
                              "of whose compactions are then taken, instead of '{}'",
                              given.substr(0, at), given));
    }
    auto info = find_session(journal, given);
    if (!info) return fail(std::move(info.error()));
    names.push_back(info->session);
  }
  if (sessions.empty()) {
    auto all = journal.sessions("");
    if (!all) return fail(std::move(all.error()));
    for (const auto& info : *all) names.push_back(info.session);
  }
  std::vector<replay::RecordedCompaction> found;
  for (const auto& name : names) {
    auto some = replay::recorded_compactions(journal, name);
    if (!some) return fail(std::move(some.error()));
    found.insert(found.end(), some->begin(), some->end());
  }
  return found;
}

Result<std::string> wanted_case(journal::Journal& journal, const std::string& id) {
  const std::size_t at = id.rfind('@');
  if (at == std::string::npos) return id;
  auto info = find_session(journal, id.substr(0, at));
  if (!info) return fail(std::move(info.error()));
  return info->session.str() + id.substr(at);
}

}  // namespace daybook::tools
