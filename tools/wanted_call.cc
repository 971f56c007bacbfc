#include "tools/wanted_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <vector>

#include "engine/nearest.h"
#include "tools/format.h"

namespace daybook::tools {
namespace {

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMostShown = 8;
  std::string text = fmt::format(
      "{}", fmt::join(std::span(names).first(std::min(names.size(), kMostShown)), ", "));
  if (names.size() > kMostShown) {
    text += fmt::format(" and {} more", names.size() - kMostShown);
  }
  return one_line(text);
}

}  // namespace

std::string WantedCall::shown() const {
  return event_id.empty() ? fmt::format("{}:{}", session, version) : event_id;
}

Result<WantedCall> parse_wanted_call(std::string_view text) {
  WantedCall wanted;
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    wanted.event_id = text;
    return wanted;
  }
  const std::string_view number = text.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), wanted.version);
  if (error != std::errc{} || end != number.data() + number.size() || colon == 0) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("'{}' is not a call: write SESSION:VERSION, or the id of its event", text));
  }
  if (wanted.version == 0) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is not a call: calls are counted from 1", text));
  }
  wanted.session = text.substr(0, colon);
  return wanted;
}

Result<std::string> find_log_session(std::string_view given, const std::set<std::string>& names) {
  std::vector<std::string> matching;
  for (auto at = names.lower_bound(std::string(given)); at != names.end(); ++at) {
    if (!at->starts_with(given)) break;
    matching.push_back(*at);
  }
  // Names come in order: one that is the whole of what was given is the first.
  if (!matching.empty() && (matching.size() == 1 || matching.front() == given)) {
    return matching.front();
  }
  if (!matching.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is the start of several sessions: {}; write more of the name",
                            given, listed(matching)));
  }
  const std::vector<std::string> all(names.begin(), names.end());
  const std::string near = engine::nearest(given, all);
  return fail(ErrorCode::not_found,
              fmt::format("there is no session '{}' in these logs; {}", given,
                          all.empty()    ? "they hold no model call"
                          : near.empty() ? "there are: " + listed(all)
                                         : fmt::format("did you mean '{}'?", near)));
}

}  // namespace daybook::tools
