#include "schema/result.h"

#include <cstdio>
#include <cstdlib>

namespace daybook {

std::string_view name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::conflict:
      return "conflict";
    case ErrorCode::fenced:
      return "fenced";
    case ErrorCode::busy:
      return "busy";
    case ErrorCode::corrupt:
      return "corrupt";
    case ErrorCode::newer_schema:
      return "newer_schema";
    case ErrorCode::io:
      return "io";
    case ErrorCode::no_space:
      return "no_space";
    case ErrorCode::permission:
      return "permission";
    case ErrorCode::outcome_unknown:
      return "outcome_unknown";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::network:
      return "network";
    case ErrorCode::provider:
      return "provider";
    case ErrorCode::unsupported:
      return "unsupported";
  }
  return "unknown";
}

void check_failed(const char* file, int line, const char* what) {
  std::fprintf(stderr, "daybook: internal check failed at %s:%d: %s\n", file, line, what);
  std::abort();
}

}  // namespace daybook
