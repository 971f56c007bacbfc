// Checks a call's arguments against its tool's JSON schema.
#pragma once

#include <string_view>

#include "schema/json.h"

namespace daybook::executor {

/// Returns the arguments as the tool will read them, or one sentence for the model.
///
/// Understood: type object with properties and required; per property type (string, integer,
/// number, boolean), enum, minimum, maximum. Forgiven: null for an optional argument counts as
/// absent, and digits in a string count as the number. A value whose type does not fit a property
/// that has a `default` is replaced by it; the default is also filled in when absent. A value out
/// of bounds is always refused: something else would happen than what was asked for.
Result<Json> check_arguments(std::string_view tool, const Json& schema, const Json& arguments);

}  // namespace daybook::executor
