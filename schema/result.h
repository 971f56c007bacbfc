// Errors as values.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace daybook {

enum class ErrorCode {
  invalid_argument,  // the caller's input is wrong
  not_found,
  conflict,      // expected version did not match; request id known with other content
  fenced,        // a newer epoch owns the session
  busy,          // another process owns the journal
  corrupt,       // bytes on disk are damaged
  newer_schema,  // written by a newer major version
  io,            // the operating system said no
  no_space,      // the disk is full
  permission,
  outcome_unknown,  // a write failed in a way that does not tell whether it is durable
  cancelled,
  network,
  provider,  // the model's endpoint refused or misbehaved
  unsupported,
};

/// Stable lower-case name, as JSON output shows it.
std::string_view name_of(ErrorCode code);

/// One sentence saying what, where and what to do.
struct [[nodiscard]] Error {
  ErrorCode code;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

/// Passes an error on unchanged.
inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

/// Ends the process with a message: for what cannot happen. Kept in release builds.
[[noreturn]] void check_failed(const char* file, int line, const char* what);

}  // namespace daybook

#define DAYBOOK_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::daybook::check_failed(__FILE__, __LINE__, #condition))

/// Returns the error of a Result<...> expression from the enclosing function.
#define DAYBOOK_TRY(expression)                              \
  do {                                                       \
    if (auto try_result = (expression); !try_result) {       \
      return ::daybook::fail(std::move(try_result.error())); \
    }                                                        \
  } while (false)
