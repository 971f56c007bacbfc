// What a number is said of: "the timeout is 30 s" is about "timeout".
#pragma once

#include <cstdint>

#include "engine/text_entity.h"

namespace daybook::replay {

/// Told of the words and delimiters before a chunk, in order. "key = 5", "key: 5", "key is 5",
/// "key of 5", "key was raised from 4 to 5"; only a name of code or a known measure, so that "from
/// 3 to 5" is about nothing.
class SubjectFinder {
 public:
  void word(const engine::Word& word);
  void stop(char c);
  /// Before chunk() is called for it. 0: not known.
  std::uint64_t of(const engine::Entity& entity, const engine::Chunk& chunk) const;
  void chunk(const engine::Chunk& chunk, const engine::Entity& entity);

 private:
  std::uint64_t subject_ = 0;  // as of the chunk before
  std::uint64_t before_ = 0;   // of the number just before, which may be the old value
  std::uint64_t last_ = 0;     // word hash of the current chunk's last word
  bool last_is_name_ = false;
};

}  // namespace daybook::replay
