#include <fmt/format.h>

#include <ostream>

#include "engine/load.h"
#include "replay/requests.h"
#include "tools/counted.h"
#include "tools/json_writer.h"
#include "tools/read_journal.h"
#include "tools/replay_actions.h"

namespace daybook::tools {
namespace {

struct Tally {
  std::uint64_t requests = 0;
  std::uint64_t identical = 0;  // rebuilt as they were sent
  std::uint64_t same_code = 0;  // and this build would send them again
  std::uint64_t versions = 0;   // states folded and compared
  std::vector<std::string> findings;
};

std::string name_of(const replay::RebuiltRequest& request) {
  return fmt::format("version {}: {} {}, attempt {}", request.version,
                     request.lineage.empty() ? "request" : "summary request", request.request,
                     request.attempt);
}

Result<void> check_requests(journal::Journal& journal, const SessionId& session, Tally& tally) {
  return replay::rebuild_requests(journal, session, [&](const replay::RebuiltRequest& request) {
    ++tally.requests;
    if (request.identical) {
      ++tally.identical;
    } else {
      tally.findings.push_back(name_of(request) + " does not rebuild to the bytes that were sent");
    }
    if (request.first_difference < 0) {
      ++tally.same_code;
    } else {
      tally.findings.push_back(
          fmt::format("{}: this build renders message {} otherwise than it was sent",
                      name_of(request), request.first_difference));
    }
    return true;
  });
}

/// The state at every version, packed and read back: a checkpoint taken there would be the state.
Result<void> check_states(journal::Journal& journal, const SessionId& session, Tally& tally) {
  engine::SessionState state = engine::empty_state();
  Result<void> status;
  auto read = journal.read(session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    status = engine::evolve(state, *entry.event, entry.bytes);
    if (!status) return false;
    ++tally.versions;
    const std::string packed = engine::pack_state(state);
    auto again = engine::unpack_state(packed);
    if (!again || engine::pack_state(*again) != packed) {
      tally.findings.push_back(
          fmt::format("version {}: the state does not survive being stored", entry.version));
    }
    return true;
  });
  if (!read) return read;
  return status;
}

std::string json_of(const SessionId& session, const Tally& tally) {
  JsonWriter out;
  out.begin_object().member("session", session.str());
  out.member("requests", tally.requests).member("identical", tally.identical);
  out.member("same_code", tally.same_code).member("versions", tally.versions);
  out.key("findings").begin_array();
  for (const auto& finding : tally.findings) out.value(finding);
  return out.end_array().end_object().text();
}

}  // namespace

Result<int> replay_session(Context& context, const Arguments& arguments) {
  auto given = replay_operand(arguments, "a session");
  if (!given) return fail(std::move(given.error()));
  auto journal = open_for_reading(context, arguments);
  if (!journal) return fail(std::move(journal.error()));
  auto info = find_session(**journal, *given);
  if (!info) return fail(std::move(info.error()));
  auto state = engine::load_state(**journal, info->session);
  if (!state) return fail(std::move(state.error()));
  if (state->replay) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("session {} is a replay: its calls are made and recorded one by one, "
                            "and this check rebuilds those of sessions that were run; name one of "
                            "the sessions that it is about",
                            info->session.str()));
  }
  if (state->imported) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("session {} was not run here: its requests are not recorded byte for "
                            "byte, and there is nothing to compare",
                            info->session.str()));
  }
  Tally tally;
  DAYBOOK_TRY(check_requests(**journal, info->session, tally));
  DAYBOOK_TRY(check_states(**journal, info->session, tally));
  if (arguments.flag("--json")) {
    context.out << json_of(info->session, tally) << '\n';
  } else {
    for (const auto& finding : tally.findings) context.out << finding << '\n';
    context.out << fmt::format(
        "{}: {} rebuild byte for byte, {} would be sent again as they were; the state was derived "
        "at {}\n",
        counted(tally.requests, "request"), tally.identical, tally.same_code,
        counted(tally.versions, "version"));
  }
  return tally.identical == tally.requests && tally.findings.empty() ? kExitOk : kExitDamaged;
}

}  // namespace daybook::tools
