// What tokens cost, by provider, model and date. docs/prices.md describes the file format and the
// matching rules.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/money.h"
#include "schema/result.h"

namespace daybook::replay {

/// What is counted and priced.
enum class TokenClass : std::uint8_t {
  input,  // neither read from nor written to a cache
  cache_read,
  cache_write_5m,
  cache_write_1h,
  cache_write,  // lifetime not told, or all writes cost the same
  output,       // includes reasoning
  web_search,   // requests, not tokens
};
inline constexpr std::size_t kTokenClasses = 7;
constexpr std::size_t index_of(TokenClass what) {
  return static_cast<std::size_t>(what);
}
/// "input", "cache_read", ...: as JSON and the price file name it.
std::string_view name_of(TokenClass what);

/// An absent rate is not known, which is not zero.
struct Rates {
  std::array<std::optional<Rate>, kTokenClasses> of;
  const std::optional<Rate>& operator[](TokenClass what) const { return of[index_of(what)]; }
};

using Multipliers = std::map<std::string, Multiplier, std::less<>>;

/// Prices of a request whose whole input (cache reads and writes included) passes a threshold:
/// every token of the request, output too, costs this.
struct LongContext {
  std::uint64_t above = 0;  // tokens
  bool inclusive = false;   // reaching the threshold is enough
  Rates rates;
  std::optional<Multipliers> tiers;  // instead of the row's
};

/// Hours at which other prices hold. UTC.
struct Peak {
  struct Hours {
    int from_minute = 0;  // of the day; included
    int to_minute = 0;    // not included
  };
  std::array<bool, 7> days{};  // Monday first
  std::vector<Hours> hours;
  std::vector<std::int32_t> except;  // days since 1970-01-01 that have no peak
  Rates rates;

  bool holds_at(std::int64_t utc_ns) const;
};

inline constexpr std::int64_t kNoBegin = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

/// Prices that were read longer ago than this are not trusted for later calls.
inline constexpr int kStaleDays = 180;

struct PriceRow {
  std::string provider;              // who bills; "": whoever
  std::vector<std::string> models;   // exact names, or "start*"
  std::string tier;                  // "": standard
  std::int64_t from = kNoBegin;      // UTC ns, included
  std::int64_t to = kNoEnd;          // not included
  std::string valid_from, valid_to;  // as written; "": open
  Rates rates;
  std::vector<LongContext> long_contexts;  // thresholds rising
  std::optional<Peak> peak;
  Multipliers tiers, speeds, regions;  // names that are not here are not priced
  std::string source;
  std::string read;  // date
  /// From then on an open row is too old to trust: kStaleDays after it was read. kNoEnd: it does
  /// not say when that was, or what ends is known.
  std::int64_t stale_from = kNoEnd;
  std::string note;
  std::string file;
  std::uint32_t line = 0;

  bool holds_at(std::int64_t utc_ns) const { return from <= utc_ns && utc_ns < to; }
};

/// Who bills for a model under which names.
struct PriceProvider {
  std::vector<std::string> also;   // further names: in logs, configurations, before model names
  std::vector<std::string> lists;  // providers at whose list prices it bills
};

class PriceBook {
 public:
  PriceBook() = default;
  PriceBook(PriceBook&&) = default;
  PriceBook& operator=(PriceBook&&) = default;

  /// The shipped book (replay/prices.toml).
  static PriceBook shipped();

  /// Puts a file's rows over those that are there. `invalid_argument` errors name file, line,
  /// column and the nearest known key; the book is then as it was.
  Result<void> add(std::string_view toml, std::string_view file);
  /// The same from a file: `not_found` and `io` besides.
  Result<void> add_file(const std::string& path);

  /// The rows that may price a call, the first of them that fits date and tier does. They live as
  /// long as the book. `provider` is as a configuration or a log names it, or "".
  std::vector<const PriceRow*> rows_for(std::string_view provider, std::string_view model) const;

  const std::deque<PriceRow>& rows() const { return rows_; }

 private:
  /// Rows of one file.
  struct Layer {
    std::size_t first_row = 0;
    std::size_t end_row = 0;
  };

  std::string_view canonical(std::string_view provider) const;

  std::deque<PriceRow> rows_;
  std::vector<Layer> layers_;
  std::map<std::string, PriceProvider, std::less<>> providers_;
};

/// The names under which a model is looked up, the most particular first: as given, then without
/// what stands before it (vendor, cloud region) and behind it (date, version of a cloud).
/// `vendors`: the parts that stood before it.
struct ModelNames {
  std::vector<std::string> names;
  std::vector<std::string> vendors;
};
ModelNames model_names(std::string_view model);

}  // namespace daybook::replay
