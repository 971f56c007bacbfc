// G7: pasted transcript and loops. Both compare hashes of short word sequences.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "engine/summary_text.h"

namespace daybook::engine {
namespace {

constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15ULL;

/// The hash of the last `length` words, moved on word by word.
class Window {
 public:
  explicit Window(std::size_t length) {
    for (std::size_t i = 0; i < length; ++i) leaving_ *= kBase;
  }
  void add(std::uint32_t in) { hash_ = hash_ * kBase + in; }
  void move(std::uint32_t in, std::uint32_t out) { hash_ = hash_ * kBase + in - leaving_ * out; }
  std::uint64_t hash() const { return hash_ ^ (hash_ >> 29); }

 private:
  std::uint64_t hash_ = 0;
  std::uint64_t leaving_ = 1;
};

/// First position of each sequence of `length` words.
class Sequences {
 public:
  Sequences(std::span<const std::uint32_t> words, std::size_t length) {
    const std::size_t count = words.size() - length + 1;
    slots_.resize(std::bit_ceil(count * 2 + 1));
    Window window(length);
    for (std::size_t i = 0; i < length; ++i) window.add(words[i]);
    for (std::size_t at = 0;; ++at) {
      insert(window.hash(), at);
      if (at + 1 == count) break;
      window.move(words[at + length], words[at]);
    }
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  std::size_t find(std::uint64_t hash) const {
    const std::uint64_t bit = hash & (kFilterBits - 1);
    if ((filter_[bit / 64] >> (bit % 64) & 1) == 0) return kNone;
    for (std::size_t slot = hash & (slots_.size() - 1); slots_[slot].used;
         slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].hash == hash) return slots_[slot].at;
    }
    return kNone;
  }

  std::size_t repeated() const { return repeated_; }

 private:
  static constexpr std::uint64_t kFilterBits = 1 << 16;
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t at = 0;
    bool used = false;
  };

  void insert(std::uint64_t hash, std::size_t at) {
    std::size_t slot = hash & (slots_.size() - 1);
    for (; slots_[slot].used; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].hash == hash) {
        ++repeated_;
        return;
      }
    }
    slots_[slot] = {hash, static_cast<std::uint32_t>(at), true};
    const std::uint64_t bit = hash & (kFilterBits - 1);
    filter_[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }

  std::vector<Slot> slots_;
  std::array<std::uint64_t, kFilterBits / 64> filter_{};
  std::size_t repeated_ = 0;
};

constexpr std::size_t kSeed = 8;         // words that start a run
constexpr std::size_t kCountedRun = 16;  // shorter runs are figures of speech and paths

struct Copies {
  std::size_t longest = 0;
  std::size_t longest_at = 0;  // in the summary's words
  std::size_t covered = 0;     // words of the summary in counted runs
};

Copies find_copies(std::span<const std::uint32_t> words, std::span<const std::uint32_t> span) {
  Copies copies;
  const Sequences sequences(words, kSeed);
  std::vector<bool> covered(words.size());
  Window window(kSeed);
  for (std::size_t i = 0; i < kSeed; ++i) window.add(span[i]);
  std::size_t skip_to = 0;  // runs do not overlap in the span: the whole stays linear
  for (std::size_t at = 0; at + kSeed <= span.size(); ++at) {
    const std::size_t found = at < skip_to ? Sequences::kNone : sequences.find(window.hash());
    if (found != Sequences::kNone) {
      std::size_t run = 0;
      while (at + run < span.size() && found + run < words.size() &&
             span[at + run] == words[found + run]) {
        ++run;
      }
      if (run >= kSeed) skip_to = at + run;
      if (run > copies.longest) {
        copies.longest = run;
        copies.longest_at = found;
      }
      if (run >= kCountedRun)
        std::fill_n(covered.begin() + static_cast<std::ptrdiff_t>(found), run, true);
    }
    if (at + kSeed < span.size()) window.move(span[at + kSeed], span[at]);
  }
  copies.covered = static_cast<std::size_t>(std::count(covered.begin(), covered.end(), true));
  return copies;
}

/// The text from the word with this number on.
std::string text_from_word(std::string_view text, std::size_t number) {
  struct Sink {
    std::size_t left = 0;
    const char* at = nullptr;
    void word(const Word& word) {
      if (left == 0 && at == nullptr) at = word.text.data();
      if (left > 0) --left;
    }
    void chunk(const Chunk&) {}
    void stop(char) {}
  } sink{number};
  scan_text(text, sink);
  return sink.at == nullptr
             ? std::string()
             : excerpt({sink.at, static_cast<std::size_t>(text.data() + text.size() - sink.at)});
}

}  // namespace

void check_copies(const GateContext& context) {
  const auto& words = context.summary.words;
  const auto span = context.span.copyable();
  constexpr std::size_t kRepeatWords = 6;
  constexpr std::size_t kTooFewToJudge = 60;
  if (words.size() >= kTooFewToJudge) {
    const Sequences sequences(words, kRepeatWords);
    const double share = static_cast<double>(sequences.repeated()) /
                         static_cast<double>(words.size() - kRepeatWords + 1);
    if (share > context.limits.max_repeated_share) {
      context.add(GateCode::kRepetitive,
                  fmt::format("{:.0f} % of it was said before", share * 100));
    }
  }
  if (words.size() < kSeed || span.size() < kSeed) return;
  const Copies copies = find_copies(words, span);
  const double share = static_cast<double>(copies.covered) / static_cast<double>(words.size());
  if (copies.longest > context.limits.max_copied_words) {
    context.add(GateCode::kCopied,
                fmt::format("{} words in one piece, from: {}", copies.longest,
                            text_from_word(context.summary.text, copies.longest_at)));
  } else if (share > context.limits.max_copied_share) {
    context.add(GateCode::kCopied, fmt::format("{:.0f} % of it is pasted", share * 100));
  }
}

}  // namespace daybook::engine
