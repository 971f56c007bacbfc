// Events of every payload kind with every field filled, made from schema/event.fbs itself: a
// payload or field added later is in them without anybody having to remember.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "journal/journal.h"

namespace daybook::tests {

struct SampleEvent {
  std::string kind;
  std::string bytes;                 // encoded
  std::vector<journal::Blob> blobs;  // one per blob field, all different
};

/// One event a kind in the union's order: a session's versions 1, 2, ... in epoch 1.
std::vector<SampleEvent> sample_events(const SessionId& session);

}  // namespace daybook::tests
