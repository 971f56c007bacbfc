// A provider's prompt cache, simulated: what a request can read, given what was sent before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "replay/cache_rules.h"
#include "replay/growing_list.h"

namespace daybook::replay {

/// One way things may be where the rules leave several open.
struct CacheWorld {
  bool high_minimum = false;   // the greatest minimum instead of the least
  bool short_life = false;     // entries die as early as they may: of the least life, and of what
                               // may have been the longest gap
  bool near_lookback = false;  // the shortest lookback
  bool maybe_scopes = false;   // scopes of which it is not known count
  bool operator==(const CacheWorld&) const = default;
};

/// Every way that `rules` leave open, the one with the most hits first. `open_life`: as times that
/// are not known exactly leave open what has expired.
std::vector<CacheWorld> worlds_of(const CacheRules& rules, bool open_life = false);

/// The end of a segment within a prompt.
struct PromptPoint {
  Digest cache;              // of scope, settings and everything up to here
  Digest content;            // of model and everything up to here
  std::uint64_t bytes = 0;   // up to here
  std::uint64_t blocks = 0;  // up to here
  bool message = false;      // ends a message
  bool operator==(const PromptPoint&) const = default;
};

struct Prompt {
  Digest seed;  // cache hash before the first segment
  /// Prompts whose calls share their segments share these, and are laid out from where they part.
  GrowingList<PromptPoint> points;
  std::vector<CacheMark> marks;  // those that the provider takes
};

struct LayoutOptions {
  bool maybe_scopes = false;
  /// Reasoning is dropped from messages before this segment; absent: as the rules say.
  std::optional<std::size_t> strip_before;
};

Prompt layout(const CacheCall& call, const CacheRules& rules, const LayoutOptions& options);

/// The segment from which on reasoning is kept: the last plain message of a person. 0: all is.
std::size_t strip_before(const CacheCall& call, const CacheRules& rules);

/// Tokens up to a point, as far as known.
struct TokenCount {
  std::uint64_t tokens = 0;
  std::uint64_t least = 0;  // bounds of it
  std::uint64_t most = 0;
};

/// Where nothing was measured.
inline constexpr double kTokensPerByte = 0.27;

/// Tokens at the points of prompts, learnt from the totals that one model reported.
class TokenScale {
 public:
  /// The first figure for a point counts, unless it contradicts those before or behind it.
  void pin(const Prompt& prompt, std::size_t point, std::uint64_t tokens);
  /// Exact where known, else in proportion to the bytes between the nearest known points.
  TokenCount at(const Prompt& prompt, std::size_t point) const;
  double tokens_per_byte() const;

 private:
  struct Hash {
    std::size_t operator()(const Digest& digest) const { return digest.lo; }
  };
  struct Known {
    std::uint64_t bytes = 0;
    std::uint64_t tokens = 0;
  };
  std::optional<Known> known(const Prompt& prompt, std::size_t point) const;
  std::optional<Known> known_before(const Prompt& prompt, std::size_t point) const;
  std::optional<Known> known_behind(const Prompt& prompt, std::size_t point) const;

  std::unordered_map<Digest, std::uint64_t, Hash> pins_;
  double bytes_ = 0;
  double tokens_ = 0;
};

struct CacheEntry {
  TimeSpan touched;              // when the request that last wrote or read it was sent
  std::int64_t readable_at = 0;  // first byte of the answer that wrote it
  schema::CacheTtl ttl = schema::CacheTtl::none;
};

struct ReadOptions {
  CacheWorld world = {};
  bool ignore_life = false;
  bool ignore_readable = false;
  bool ignore_minimum = false;
  bool ignore_granularity = false;
  /// An entry taken to exist, and its prefix.
  std::optional<std::pair<Digest, CacheEntry>> assumed = {};
};

/// What a request reads.
struct CacheRead {
  std::uint64_t tokens = 0;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::optional<std::size_t> point;  // of the prompt; absent: nothing
  bool allows(std::uint64_t read) const { return read >= least && read <= most; }
};

/// Entries of all scopes: their hashes tell them apart.
class CacheStore {
 public:
  CacheRead read(const Prompt& prompt, const CacheRules& rules, const TimeSpan& sent,
                 const ReadOptions& options, const TokenScale& scale) const;
  /// What the request leaves behind; also refreshes what it read.
  void write(const Prompt& prompt, const CacheRules& rules, const TimeSpan& sent,
             std::int64_t first_byte, const CacheRead& read);
  /// Only that: of a request of which it is not known what it left.
  void refresh(const Prompt& prompt, const CacheRules& rules, const TimeSpan& sent,
               const CacheRead& read);
  /// The entry of a prefix, of this lifetime when the rules tell lifetimes apart.
  std::optional<CacheEntry> find(const Digest& prefix, schema::CacheTtl ttl,
                                 const CacheRules& rules) const;
  std::size_t size() const { return places_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const Digest& digest) const { return digest.lo; }
  };
  struct Place {
    std::vector<CacheEntry> entries;
    /// Where any prefix counts: the next points of the prompts that went on from here. Using one of
    /// them used this one, which is not noted here again.
    std::vector<Digest> next;
  };
  using Places = std::unordered_map<Digest, Place, Hash>;

  bool alive(const Digest& prefix, schema::CacheTtl ttl, const CacheRules& rules,
             const TimeSpan& sent, const ReadOptions& options) const;
  CacheRead read_marks(const Prompt& prompt, const CacheRules& rules, const TimeSpan& sent,
                       const ReadOptions& options, const TokenScale& scale) const;
  CacheRead read_endings(const Prompt& prompt, const CacheRules& rules, const TimeSpan& sent,
                         const ReadOptions& options, const TokenScale& scale) const;
  CacheRead read_prefix(const Prompt& prompt, const CacheRules& rules, const TimeSpan& sent,
                        const ReadOptions& options, const TokenScale& scale) const;
  void touch(const Digest& prefix, schema::CacheTtl ttl, const CacheRules& rules,
             const TimeSpan& sent, std::int64_t first_byte);
  std::int64_t latest_use(const Place& place, std::int64_t TimeSpan::*end, std::int64_t enough,
                          const Digest* except) const;
  std::optional<std::size_t> longest_prefix(const Prompt& prompt, const CacheRules& rules,
                                            const TimeSpan& sent, const ReadOptions& options) const;
  std::size_t living_prefix(const Prompt& prompt, const CacheRules& rules, const TimeSpan& sent,
                            std::size_t known) const;
  std::size_t known_prefix(const Prompt& prompt) const;
  void write_prefix(const Prompt& prompt, const CacheRules& rules, const TimeSpan& sent,
                    std::int64_t first_byte);
  void forget_dead(std::int64_t now);

  Places places_;
  std::size_t sweep_at_ = 1 << 16;
};

/// The points at which the request leaves entries, with their lifetimes.
std::vector<CacheMark> written_at(const Prompt& prompt, const CacheRules& rules);

}  // namespace daybook::replay
