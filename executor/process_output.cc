#include "executor/process_output.h"

#include <algorithm>

#include "schema/utf8.h"

namespace daybook::executor {
namespace {

constexpr std::size_t kLongestCodePoint = 4;

}  // namespace

std::string KeptOutput::text() const {
  if (dropped == 0) return repair_utf8(head);
  return repair_utf8(head) + "\n[... " + std::to_string(dropped) + " bytes left out ...]\n" +
         repair_utf8(tail);
}

std::string first_chars(std::string text, std::size_t limit) {
  std::size_t chars = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) continue;
    if (chars++ == limit) {
      text.resize(at);
      break;
    }
  }
  return text;
}

OutputKeeper::OutputKeeper(const OutputLimits& limits, const SecretMask& mask)
    : limits_(limits), masking_(mask) {}

void OutputKeeper::add(std::string_view raw, const OutputSink& sink) {
  chunk_.clear();
  masking_.feed(raw, chunk_);
  keep(sink);
}

void OutputKeeper::keep(const OutputSink& sink) {
  if (chunk_.empty()) return;
  total_ += chunk_.size();
  digester_.update(chunk_);
  if (sink && live_ < limits_.live_bytes) {
    const std::string_view shown = std::string_view(chunk_).substr(0, limits_.live_bytes - live_);
    live_ += shown.size();
    sink(shown);
  }
  std::string_view rest = chunk_;
  const std::size_t head_room = limits_.head_bytes + kLongestCodePoint;
  if (head_.size() < head_room) {
    const std::size_t taken = std::min(head_room - head_.size(), rest.size());
    head_.append(rest.substr(0, taken));
    rest.remove_prefix(taken);
  }
  keep_tail(rest);
}

void OutputKeeper::keep_tail(std::string_view bytes) {
  if (bytes.size() > limits_.tail_bytes) bytes.remove_prefix(bytes.size() - limits_.tail_bytes);
  if (ring_.size() < limits_.tail_bytes) {
    const std::size_t taken = std::min(limits_.tail_bytes - ring_.size(), bytes.size());
    ring_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
  }
  while (!bytes.empty()) {
    const std::size_t taken = std::min(ring_.size() - ring_at_, bytes.size());
    bytes.copy(ring_.data() + ring_at_, taken);
    ring_at_ = (ring_at_ + taken) % ring_.size();
    bytes.remove_prefix(taken);
  }
}

KeptOutput OutputKeeper::finish(const OutputSink& sink) {
  chunk_.clear();
  masking_.finish(chunk_);
  keep(sink);
  KeptOutput kept;
  kept.total = total_;
  kept.digest = digester_.digest();
  std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(ring_at_), ring_.end());
  if (head_.size() + ring_.size() == total_) {
    kept.head = std::move(head_) + ring_;
    return kept;
  }
  head_.resize(utf8_floor(head_, limits_.head_bytes));
  ring_.erase(0, utf8_ceil(ring_, 0));
  kept.head = std::move(head_);
  kept.tail = std::move(ring_);
  kept.dropped = total_ - kept.head.size() - kept.tail.size();
  return kept;
}

}  // namespace daybook::executor
