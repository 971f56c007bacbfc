#include "tools/log_claude_branches.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace daybook::tools {
namespace {

/// How far back a line may name its parent.
constexpr std::size_t kMostPlaces = std::size_t{1} << 16;
constexpr std::size_t kMostBranches = 16;

std::uint64_t hash_of(std::string_view text) {
  return xxh3_64(as_bytes(text));
}

std::size_t common_prefix(std::span<const BlobRef> a, std::span<const BlobRef> b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                  a.begin());
}

}  // namespace

ClaudeBranches::Slot ClaudeBranches::open_answer() {
  Branch& branch = here();
  branch.messages.emplace_back();
  return {current_, branch.messages.size() - 1};
}

void ClaudeBranches::set_answer(const Slot& slot, const BlobRef& message) {
  const auto found = branches_.find(slot.branch);
  if (found == branches_.end() || slot.index >= found->second.messages.size()) return;
  found->second.messages[slot.index] = message;
  found->second.answers.push_back(slot.index);
}

void ClaudeBranches::place(std::string_view uuid) {
  if (!uuid.starts_with('"')) return;
  const std::uint64_t key = hash_of(uuid);
  if (!places_.insert_or_assign(key, Place{current_, here().messages.size()}).second) return;
  place_order_.push_back(key);
  if (place_order_.size() > kMostPlaces) {
    places_.erase(place_order_.front());
    place_order_.pop_front();
  }
}

const ClaudeBranches::Place* ClaudeBranches::find(std::string_view uuid) const {
  const auto found = places_.find(hash_of(uuid));
  if (found == places_.end() || !branches_.contains(found->second.branch)) return nullptr;
  return &found->second;
}

bool ClaudeBranches::is_here(const Place& place) const {
  if (place.branch == current_) return true;
  const auto& there = branches_.at(place.branch).messages;
  const auto& here = branches_.at(current_).messages;
  if (here.size() < place.count || there.size() < place.count) return false;
  const auto end = there.begin() + static_cast<std::ptrdiff_t>(place.count);
  return std::equal(there.begin(), end, here.begin());
}

bool ClaudeBranches::is_elsewhere(std::string_view parent) const {
  const Place* place = find(parent);
  return place != nullptr && !is_here(*place);
}

void ClaudeBranches::go_to(std::string_view parent) {
  if (is_elsewhere(parent)) current_ = find(parent)->branch;
}

void ClaudeBranches::go_on_from(std::string_view parent) {
  const Place* place = find(parent);
  if (place == nullptr) return;
  const std::size_t keep = place->count;
  go_to(parent);
  const Branch& left = here();
  if (keep >= left.messages.size() || left.answers.empty() || left.answers.back() < keep) return;
  Branch made;
  made.messages.assign(left.messages.begin(),
                       left.messages.begin() + static_cast<std::ptrdiff_t>(keep));
  std::ranges::copy_if(left.answers, std::back_inserter(made.answers),
                       [&](std::size_t answer) { return answer < keep; });
  const std::uint32_t number = ++last_;
  branches_.emplace(number, std::move(made));
  current_ = number;
  if (branches_.size() > kMostBranches) branches_.erase(branches_.begin());
}

void ClaudeBranches::begin_anew() {
  branches_.erase(current_);
  current_ = ++last_;
  branches_.emplace(current_, Branch{});
}

std::span<const BlobRef> ClaudeBranches::up_to(const Slot& slot) const {
  const auto found = branches_.find(slot.branch);
  if (found == branches_.end()) return {};
  const auto& messages = found->second.messages;
  return std::span(messages).first(std::min(slot.index, messages.size()));
}

ClaudeBranches::Sent ClaudeBranches::sent(const Slot& slot) const {
  const auto messages = up_to(slot);
  Sent made;
  made.shared = common_prefix(sent_, messages);
  const auto rest = messages.subspan(made.shared);
  made.appended.assign(rest.begin(), rest.end());
  return made;
}

void ClaudeBranches::set_sent(const Slot& slot) {
  const Sent latest = sent(slot);
  sent_.resize(latest.shared);
  sent_.insert(sent_.end(), latest.appended.begin(), latest.appended.end());
}

}  // namespace daybook::tools
