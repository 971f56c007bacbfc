// How a checkpoint is kept: in parts, so that no search that passes by must read megabytes at once.
#pragma once

#include <optional>
#include <string_view>

#include "journal/journal.h"
#include "journal/store.h"

namespace daybook::journal {

/// Puts a checkpoint together from its stored parts, given in their order.
class CheckpointParts {
 public:
  /// False when the part is damaged, or none of this checkpoint.
  bool add(std::string_view sealed);
  bool complete() const { return checkpoint_ && checkpoint_->state.size() == size_; }
  std::uint32_t count() const { return count_; }
  Checkpoint take() { return std::move(*checkpoint_); }

 private:
  std::optional<Checkpoint> checkpoint_;
  std::uint64_t size_ = 0;
  std::uint32_t count_ = 0;
};

/// Each is the method of Journal of the same name, on one open store.
Result<std::optional<Checkpoint>> read_checkpoint(Store& store, const SessionId& session,
                                                  std::string_view projection);
Result<void> write_checkpoint(Store& store, const SessionId& session, std::string_view projection,
                              const Checkpoint& checkpoint);

}  // namespace daybook::journal
