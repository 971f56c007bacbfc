#include "replay/copy_rule.h"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace daybook::replay {

bool CopyRank::is_over(const CopyRank& other) const {
  return std::tuple(output, other.authority, tools, own, agent) >
         std::tuple(other.output, authority, other.tools, other.own, other.agent);
}

CopyRank copy_rank(const Call& call) {
  const auto& output = call.usage.output;
  const bool own = call.session == nullptr || call.session->relation == schema::Relation::none;
  const bool agent = call.session != nullptr && !call.session->agent.empty();
  return {output ? *output + 1 : 0, call.usage.authority, called_tools(call).size(), own, agent};
}

std::string called_tools(const Call& call) {
  std::vector<std::string_view> called(call.tools_called.begin(), call.tools_called.end());
  // The provider's own tool, which is billed with the response.
  if (call.usage.web_searches.value_or(0) > 0) called.push_back("web_search");
  std::ranges::sort(called);
  called.erase(std::unique(called.begin(), called.end()), called.end());
  std::string text;
  for (const std::string_view tool : called) {
    if (!text.empty()) text += '+';
    text += tool;
  }
  return text;
}

void StartRange::add(std::int64_t at) {
  if (at == 0) return;
  first = first == 0 ? at : std::min(first, at);
  last = std::max(last, at);
}

void StartRange::add(const StartRange& other) {
  add(other.first);
  add(other.last);
}

void Originals::note(const CallSession& session, const StartRange& starts) {
  sessions_[key_of(session)].add(starts);
}

bool Originals::is_before(const CallSession& a, const CallSession& b) const {
  if (same(a, b)) return false;
  if (a.kind == b.kind && a.parent != b.parent) {
    if (!b.parent.empty() && b.parent == a.id) return true;
    if (!a.parent.empty() && a.parent == b.id) return false;
  }
  const auto order = [&](const CallSession& it) {
    const auto found = sessions_.find(key_of(it));
    const StartRange starts = found == sessions_.end() ? StartRange{} : found->second;
    return std::tuple(starts.first == 0, starts.first, starts.last, key_of(it));
  };
  return order(a) < order(b);
}

}  // namespace daybook::replay
