// Events as JSON, by walking the schema: a new payload needs no code here. The shape is in
// docs/events.md.
#pragma once

#include <string>

#include "journal/journal.h"

namespace daybook::tools {

struct EventJsonOptions {
  /// Where contents that are blobs come from. Null: only their digests are shown.
  journal::Journal* journal = nullptr;
  /// Longest content shown; longer ones are cut and say so.
  std::size_t content_limit = std::string::npos;
};

struct EventJson {
  std::string text;
  bool damaged = false;  // a hole, or a content that cannot be read
};

/// One JSON object without a line break. A hole becomes {"version":N,"damage":"..."}.
EventJson event_json(const journal::Entry& entry, const EventJsonOptions& options);

}  // namespace daybook::tools
