#include "replay/price_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/nearest.h"
#include "replay/price_file.h"

namespace daybook::replay {
namespace {

constexpr std::uintmax_t kMaxFileBytes = 4 << 20;
constexpr std::int64_t kNsPerMinute = 60'000'000'000;
constexpr std::int64_t kMinutesPerDay = std::int64_t{24} * 60;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  return out;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// Removes `ending` and says so.
bool drop_end(std::string_view& name, std::string_view ending) {
  if (name.size() <= ending.size() || !name.ends_with(ending)) return false;
  name.remove_suffix(ending.size());
  return true;
}

/// "-v1:0", as Bedrock ends a model's name.
bool drop_cloud_version(std::string_view& name) {
  const auto at = name.rfind("-v");
  if (at == std::string_view::npos || at == 0) return false;
  const std::string_view tail = name.substr(at + 2);
  const auto colon = tail.find(':');
  const bool is_version = colon == std::string_view::npos ? false
                                                          : all_digits(tail.substr(0, colon)) &&
                                                                all_digits(tail.substr(colon + 1));
  if (is_version) name = name.substr(0, at);
  return is_version;
}

/// "-20250929", "@20250929" or "-2025-09-29".
bool drop_date(std::string_view& name) {
  constexpr std::size_t kPlain = 9, kDashed = 11;
  if (name.size() > kPlain) {
    const std::string_view tail = name.substr(name.size() - kPlain);
    if ((tail[0] == '-' || tail[0] == '@') && tail.substr(1, 2) == "20" &&
        all_digits(tail.substr(1))) {
      name.remove_suffix(kPlain);
      return true;
    }
  }
  if (name.size() > kDashed) {
    const std::string_view tail = name.substr(name.size() - kDashed);
    if (tail[0] == '-' && tail[5] == '-' && tail[8] == '-' && tail.substr(1, 2) == "20" &&
        all_digits(tail.substr(1, 4)) && all_digits(tail.substr(6, 2)) &&
        all_digits(tail.substr(9, 2))) {
      name.remove_suffix(kDashed);
      return true;
    }
  }
  return false;
}

/// "us.anthropic.": a cloud's region and vendor.
void drop_cloud_vendor(std::string_view& name, std::vector<std::string>& vendors) {
  constexpr std::array<std::string_view, 9> kRegions = {"us.",     "eu.", "apac.", "global.", "jp.",
                                                        "us-gov.", "au.", "ca.",   "sa."};
  for (const std::string_view region : kRegions) {
    if (name.starts_with(region)) {
      name.remove_prefix(region.size());
      break;
    }
  }
  constexpr std::array<std::string_view, 5> kVendors = {"anthropic.", "openai.", "deepseek.",
                                                        "moonshot.", "moonshotai."};
  for (const std::string_view vendor : kVendors) {
    if (name.size() > vendor.size() && name.starts_with(vendor)) {
      vendors.emplace_back(vendor.substr(0, vendor.size() - 1));
      name.remove_prefix(vendor.size());
      return;
    }
  }
}

/// How well a row's names fit: 0: not. Exact names beat starts, longer starts shorter ones, and
/// names that were stripped of less those that were stripped of more.
std::size_t fit(const PriceRow& row, const std::vector<std::string>& names) {
  constexpr std::size_t kExact = 1 << 16, kMostLength = kExact - 1;
  std::size_t best = 0;
  for (const std::string& pattern : row.models) {
    const bool open = pattern.ends_with('*');
    const std::string_view start = std::string_view(pattern).substr(0, pattern.size() - open);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (open ? !names[i].starts_with(start) : names[i] != start) continue;
      const std::size_t score =
          open ? 1 + std::min(start.size(), kMostLength - 1) : kExact + names.size() - i;
      best = std::max(best, score);
    }
  }
  return best;
}

/// Two providers of one name: which of them is meant, nobody could tell.
Result<void> check_other_names(const PriceFile& file,
                               const std::map<std::string, PriceProvider, std::less<>>& before) {
  for (const OtherName& other : file.other_names) {
    for (const auto* all : {&file.providers, &before}) {
      for (const auto& [name, provider] : *all) {
        // A later file says anew what a provider is.
        if (name == other.provider || (all == &before && file.providers.contains(name))) continue;
        const bool taken = name == other.name ||
                           std::ranges::find(provider.also, other.name) != provider.also.end();
        if (!taken) continue;
        return fail(ErrorCode::invalid_argument,
                    fmt::format("{}: '{}' is a name of the provider '{}' already", other.where,
                                other.name, name));
      }
    }
  }
  return {};
}

/// A misspelt provider would have rows that no call ever finds.
Result<void> check_named(const PriceFile& file,
                         const std::map<std::string, PriceProvider, std::less<>>& before) {
  for (const NamedProvider& named : file.named) {
    if (file.providers.contains(named.name) || before.contains(named.name)) continue;
    std::vector<std::string> known;
    for (const auto* all : {&file.providers, &before}) {
      for (const auto& [name, provider] : *all) known.push_back(name);
    }
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("{}: there is no provider '{}'{}; one of your own needs a table "
                    "[providers.{}]",
                    named.where, named.name, engine::suggestion(named.name, known), named.name));
  }
  return {};
}

}  // namespace

std::string_view name_of(TokenClass what) {
  constexpr std::array<std::string_view, kTokenClasses> kNames = {
      "input",       "cache_read", "cache_write_5m", "cache_write_1h",
      "cache_write", "output",     "web_search"};
  return kNames[index_of(what)];
}

bool Peak::holds_at(std::int64_t utc_ns) const {
  const std::int64_t minutes = utc_ns / kNsPerMinute - (utc_ns % kNsPerMinute < 0 ? 1 : 0);
  const std::int64_t of_day = ((minutes % kMinutesPerDay) + kMinutesPerDay) % kMinutesPerDay;
  const std::int64_t day = (minutes - of_day) / kMinutesPerDay;
  const std::int64_t weekday = ((day + 3) % 7 + 7) % 7;  // 1970-01-01 was a Thursday
  if (!days[static_cast<std::size_t>(weekday)]) return false;
  if (std::ranges::find(except, day) != except.end()) return false;
  return std::ranges::any_of(hours, [&](const Hours& span) {
    return span.from_minute <= of_day && of_day < span.to_minute;
  });
}

ModelNames model_names(std::string_view model) {
  ModelNames out;
  const std::string whole = lower(model);
  const auto add = [&](std::string_view name) {
    if (!name.empty() && std::ranges::find(out.names, name) == out.names.end()) {
      out.names.emplace_back(name);
    }
  };
  add(whole);
  std::string_view name = whole;
  for (auto slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/')) {
    out.vendors.emplace_back(name.substr(0, slash));
    name.remove_prefix(slash + 1);
  }
  add(name);
  drop_cloud_vendor(name, out.vendors);
  add(name);
  if (drop_end(name, "[1m]")) add(name);
  if (drop_cloud_version(name)) add(name);
  if (drop_end(name, "@default") || drop_end(name, "-latest") || drop_date(name)) add(name);
  return out;
}

PriceBook PriceBook::shipped() {
  PriceBook book;
  const auto added = book.add(kPricesToml, "replay/prices.toml");
  DAYBOOK_CHECK(added.has_value());
  return book;
}

Result<void> PriceBook::add(std::string_view toml, std::string_view file) {
  auto read = read_prices(toml, file);
  if (!read) return fail(std::move(read.error()));
  DAYBOOK_TRY(check_named(*read, providers_));
  DAYBOOK_TRY(check_other_names(*read, providers_));
  Layer layer;
  layer.first_row = rows_.size();
  for (PriceRow& row : read->rows) rows_.push_back(std::move(row));
  layer.end_row = rows_.size();
  layers_.push_back(layer);
  for (auto& [name, provider] : read->providers) {
    providers_.insert_or_assign(name, std::move(provider));
  }
  return {};
}

Result<void> PriceBook::add_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return fail(ErrorCode::not_found, fmt::format("{}: there is no such file of prices", path));
  }
  if (!std::filesystem::is_regular_file(path, error)) {
    return fail(ErrorCode::io, fmt::format("{}: cannot read the prices: it is not a file", path));
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size > kMaxFileBytes) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: {} bytes is too long for a file of prices", path, size));
  }
  std::ifstream in(path, std::ios::binary);
  std::string text(error ? 0 : static_cast<std::size_t>(size), '\0');
  if (error || !in.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    return fail(ErrorCode::io, fmt::format("{}: cannot read the prices: {}", path,
                                           error ? error.message() : std::strerror(errno)));
  }
  return add(text, path);
}

std::string_view PriceBook::canonical(std::string_view provider) const {
  const std::string wanted = lower(provider);
  for (const auto& [name, known] : providers_) {
    if (name == wanted || std::ranges::find(known.also, wanted) != known.also.end()) return name;
  }
  return {};
}

std::vector<const PriceRow*> PriceBook::rows_for(std::string_view provider,
                                                 std::string_view model) const {
  const ModelNames wanted = model_names(model);
  const std::string_view known = canonical(provider);
  std::string_view vendor;  // named before the model
  for (const std::string& part : wanted.vendors) {
    if (const std::string_view name = canonical(part); !name.empty()) vendor = name;
  }

  // How near a row's provider is: 3: the call's own, 2: one whose list prices hold, 1: any.
  const auto nearness = [&](const PriceRow& row) {
    if (row.provider.empty()) return 1;
    if (row.provider == provider || row.provider == known) return 3;
    const bool listed =
        known.empty() || std::ranges::find(providers_.find(known)->second.lists, row.provider) !=
                             providers_.find(known)->second.lists.end();
    if (!listed || (!vendor.empty() && vendor != row.provider)) return 0;
    return 2;
  };

  std::vector<const PriceRow*> out;
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    for (int wanted_nearness = 3; wanted_nearness > 0; --wanted_nearness) {
      std::size_t best = 1;
      std::vector<const PriceRow*> fitting;
      for (std::size_t i = layer->first_row; i < layer->end_row; ++i) {
        const PriceRow& row = rows_[i];
        if (nearness(row) != wanted_nearness) continue;
        const std::size_t score = fit(row, wanted.names);
        if (score < best) continue;
        if (score > best) fitting.clear();
        best = score;
        fitting.push_back(&row);
      }
      // The same name at several vendors says nothing about who billed.
      const bool one_biller = std::ranges::all_of(
          fitting, [&](const PriceRow* row) { return row->provider == fitting.front()->provider; });
      if (one_biller) out.insert(out.end(), fitting.begin(), fitting.end());
    }
  }
  return out;
}

}  // namespace daybook::replay
