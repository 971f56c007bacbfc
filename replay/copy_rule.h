// Which of several copies of one call counts, as resumed, forked and sidechain logs hold them.
//
// The one with the highest output; of equals the more exact one, then the one that tells more
// tools, then the one of a session that belongs to no other, then one whose file tells its agent,
// then that of the original session: the one that began first, else the one that ended first (what
// goes on behind the copies ends later), else by name. Nothing of it depends on the order in which
// copies are met.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "replay/call.h"

namespace daybook::replay {

struct CopyRank {
  std::uint64_t output = 0;  // plus one; 0: not reported
  schema::Authority authority = schema::Authority::exact;
  std::size_t tools = 0;  // length of called_tools
  bool own = true;        // of a session that belongs to no other
  bool agent = false;     // it is told
  bool operator==(const CopyRank&) const = default;
  bool is_over(const CopyRank& other) const;
};
CopyRank copy_rank(const Call& call);

/// The tools that the response called, the provider's search among them, each once, in order:
/// "grep+read_file"; "": none.
std::string called_tools(const Call& call);

/// The first and the last start of a session's calls, copies included. UTC ns; 0: none has a time.
struct StartRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  void add(std::int64_t at);
  void add(const StartRange& other);
};

/// What sessions are told to be, to find the original of copies. All of them must be noted before
/// the first comparison.
class Originals {
 public:
  void note(const CallSession& session, const StartRange& starts);
  /// Whether `a` is the original rather than `b`; false for one and the same session.
  bool is_before(const CallSession& a, const CallSession& b) const;
  static bool same(const CallSession& a, const CallSession& b) {
    return a.kind == b.kind && a.id == b.id && a.stored == b.stored;
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  static Key key_of(const CallSession& session) {
    return {session.kind, session.id, session.stored};
  }
  std::map<Key, StartRange> sessions_;
};

}  // namespace daybook::replay
