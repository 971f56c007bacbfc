// What a summary should keep: typed facts that code can find in the history it replaces, without a
// model. Finding one in a summary shows that it is written there, not that a reader would recall
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prepared_span.h"

namespace daybook::replay {

/// Raised whenever the same input may get other facts or scores; kept with every score.
inline constexpr std::uint32_t kScorerVersion = 5;

enum class FactType : std::uint8_t {
  mandate,     // what a user demands or forbids
  artifact,    // a file written, edited or read by a tool
  identifier,  // symbol, uuid, ticket, hash, URL, host:port, version
  number,      // with its unit
  error,       // a message as it was
  decision,    // with its reason
  failed,      // an attempt that did not work
  plan,        // what is still to be done
  last_action  // the newest call and how it ended
};
inline constexpr std::size_t kFactTypes = 9;
std::string_view name_of(FactType type);

enum class Matcher : std::uint8_t {
  entity,  // the same path, identifier or quantity; paths from any folder, quantities rounded
  words    // most of its telling words, close together
};

struct Fact {
  FactType type = FactType::mandate;
  Matcher matcher = Matcher::words;
  std::string text;      // as found, at most 400 bytes
  std::string detail;    // artifact: "written", "edited", "deleted", "read"; error: its code; last
                         // action: tool
  std::size_t item = 0;  // of the span, where it stands last
  double weight = 0;     // type, times recency, times need
  bool needed = false;   // the recorded continuation uses it
  engine::EntityKind kind = engine::EntityKind::none;
  engine::Dimension dimension = engine::Dimension::none;
  double value = 0;                  // quantity: in its base unit
  std::uint64_t key = 0;             // what it is of: equal facts of one type have equal keys
  std::uint64_t subject = 0;         // number: hash of what it measures ("timeout"); 0: not known
  std::vector<std::uint32_t> words;  // telling words, without repetition, for Matcher::words
  bool negated = false;              // mandate: forbids
  std::uint32_t verb = 0;            // mandate that forbids: telling hash of what it forbids
  std::vector<std::uint64_t> names;  // mandate: keys of the files that it is about
};

struct FactLimits {
  std::array<double, kFactTypes> type_weight = {3, 2, 1, 1, 1.5, 2, 1.5, 2, 2};
  double first_mandate = 2;         // times: the first user message's demands
  double oldest = 0.5;              // recency: from this at the span's start to 1 at its end
  double needed = 3;                // times: used by the continuation
  std::size_t most_of_a_type = 64;  // the heaviest are kept
};

/// What the session did after the compaction: texts of tool arguments, messages, in order.
using Continuation = std::span<const std::string_view>;

struct FactSet {
  std::vector<Fact> facts;  // by type, heaviest first
};

/// Linear in the span's and the continuation's bytes; equal input gives equal facts.
FactSet extract_facts(const engine::PreparedSpan& span, Continuation continuation,
                      const FactLimits& limits);

}  // namespace daybook::replay
