// How calls end: the two common shapes of an Outcome.
#pragma once

#include <string>

#include "executor/executor.h"

namespace daybook::executor {

/// `result` is what the model is told, as JSON text.
Outcome success(std::string result);

/// The model is told {"error": message}; a cancelled call gets exit user_stop.
Outcome failure(const Error& error, schema::ExitKind exit = schema::ExitKind::error);

/// The plan of a call that changes no file.
Plan no_changes(const Policy& policy);

}  // namespace daybook::executor
