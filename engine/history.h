// Messages of a session, read from the events that made them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/model.h"
#include "engine/state.h"
#include "journal/journal.h"

namespace daybook::engine {

/// A message as the fold holds it until a request carries it. `provider_kind` is known for answers
/// whose request lies in the range.
using PastMessage = schema::PendingMessageT;

/// Messages that the events `first` to `last` completed, oldest first: prompts, answers of the
/// model (not of the summariser) and the results of their calls, in the order of the calls. The
/// visitor returns false to stop. Reads only that range. Strict: damage is an error.
Result<void> read_messages(journal::Journal& journal, const SessionId& session, std::uint64_t first,
                           std::uint64_t last, const std::function<bool(PastMessage&)>& visit);

/// The neutral form, with contents that are blobs read from the journal. Reasoning stays only when
/// it came in the wire format `kind`: another provider would refuse it. "": all of it.
Result<Message> neutral_message(journal::Journal& journal, const PastMessage& from,
                                std::string_view kind);

}  // namespace daybook::engine
