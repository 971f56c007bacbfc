// Long sessions of another program that are never compacted: each request holds all before it.
#pragma once

#include <string>

namespace daybook::bench {

/// Writes a session of Claude Code with so many calls, imports it and analyses its cache; then one
/// of twice as many. What a core spends on the second may be twice what it spends on the first.
int measure_long_logs(const std::string& folder);

}  // namespace daybook::bench
