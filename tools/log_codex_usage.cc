#include "tools/log_codex_usage.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace daybook::tools {
namespace {

std::uint64_t less(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : 0;
}

/// Of an answer that is counted by its own figures.
std::string last_key(const std::optional<CodexTokens>& total, const CodexTokens& last) {
  return (total ? total->key() : std::string("last")) + "|" + last.key();
}

}  // namespace

bool CodexTokens::operator==(const CodexTokens& other) const {
  return std::tie(input, cached, cache_write, output, reasoning, total) ==
         std::tie(other.input, other.cached, other.cache_write, other.output, other.reasoning,
                  other.total);
}

bool CodexTokens::covers(const CodexTokens& before) const {
  return input >= before.input && cached >= before.cached && cache_write >= before.cache_write &&
         output >= before.output && reasoning >= before.reasoning && total >= before.total;
}

bool CodexTokens::possible() const {
  const std::uint64_t cached_at_most = has_cached ? cached : 0;
  const std::uint64_t written = has_cache_write ? cache_write : 0;
  if (has_input && cached_at_most + written > input) return false;
  return !has_output || !has_reasoning || reasoning <= output;
}

CodexTokens CodexTokens::minus(const CodexTokens& before) const {
  CodexTokens made = *this;
  made.input = less(input, before.input);
  made.cached = less(cached, before.cached);
  made.cache_write = less(cache_write, before.cache_write);
  made.output = less(output, before.output);
  made.reasoning = less(reasoning, before.reasoning);
  made.total = less(total, before.total);
  // Of a counter that was not told before, nobody knows what it grew by.
  made.has_input = has_input && before.has_input;
  made.has_cached = has_cached && before.has_cached;
  made.has_output = has_output && before.has_output;
  made.has_reasoning = has_reasoning && before.has_reasoning;
  return made;
}

std::string CodexTokens::key() const {
  constexpr auto kKey = FMT_COMPILE("{}/{}/{}/{}/{}/{}");
  constexpr std::size_t kMostDigits = 20;
  std::array<char, 6 * kMostDigits + 5> text;
  char* const end =
      fmt::format_to(text.data(), kKey, input, cached, cache_write, output, reasoning, total);
  return std::string(text.data(), end);
}

replay::CallUsage CodexTokens::usage() const {
  replay::CallUsage made;
  if (has_input) made.input_total = input;
  if (has_cached) made.cache_read = cached;
  if (has_cache_write) made.cache_write = cache_write;
  if (has_input && has_cached) made.input_uncached = less(less(input, cached), cache_write);
  if (has_output) made.output = output;
  if (has_reasoning) made.reasoning = reasoning;
  return made;
}

std::optional<CodexTokens> codex_tokens(JsonSpan usage, Figures& figures) {
  if (!usage.is_object()) return {};
  CodexTokens made;
  usage.members([&](std::string_view key, JsonSpan value) {
    const auto set = [&](std::uint64_t& into, bool& has) {
      const auto count = figures.count(key, value);
      into = count.value_or(0);
      has = count.has_value();
    };
    bool has_total = false;
    if (is_key(key, "input_tokens")) set(made.input, made.has_input);
    if (is_key(key, "cached_input_tokens")) set(made.cached, made.has_cached);
    if (is_key(key, "cache_write_input_tokens")) set(made.cache_write, made.has_cache_write);
    if (is_key(key, "output_tokens")) set(made.output, made.has_output);
    if (is_key(key, "reasoning_output_tokens")) set(made.reasoning, made.has_reasoning);
    if (is_key(key, "total_tokens")) set(made.total, has_total);
  });
  if (!figures.wrong().empty()) return {};
  if (made.has_input && made.cached > made.input) {
    made.cached = made.input;
    made.clamped = true;
  }
  return made;
}

std::vector<std::string> copied_count_keys(JsonSpan info) {
  Figures sums(kMostTokensSummed);
  Figures ones;
  const auto total = codex_tokens(info["total_token_usage"], sums);
  const auto last = codex_tokens(info["last_token_usage"], ones);
  std::vector<std::string> keys;
  if (total) keys.push_back(total->key());
  if (last) keys.push_back(last_key(total, *last));
  return keys;
}

std::optional<CodexCount> CodexCounter::token_count(JsonSpan info) {
  note_.clear();
  wrong_.clear();
  // Nearly half of all counters repeat the one before to the byte.
  if (!by_records_ && previous_ && info.raw() == previous_info_) {
    note_ = "a counter sent again";
    return {};
  }
  if (by_records_) {
    note_ = "a counter beside a record of its own";
    return {};
  }
  const JsonSpan last_raw = info["last_token_usage"];
  Figures sums(kMostTokensSummed);
  Figures ones;
  const auto total = codex_tokens(info["total_token_usage"], sums);
  const auto last = codex_tokens(last_raw, ones);
  if (!sums.wrong().empty() || !ones.wrong().empty()) {
    wrong_ = sums.wrong().empty() ? ones.wrong() : sums.wrong();
    return {};
  }
  CodexCount count;
  const auto use_last = [&]() -> std::optional<CodexCount> {
    if (!last || !last->billed()) return {};
    count.tokens = *last;
    if (keep_raw_) count.raw = last_raw.raw();
    count.key = last_key(total, *last);
    return count;
  };
  if (!total) return use_last();
  const std::optional<CodexTokens> before = previous_;
  if (before && total->covers(*before) &&
      std::max(total->input - before->input, total->output - before->output) > kMostTokens) {
    wrong_ = fmt::format("total_token_usage grew by more than {} tokens: it does not count",
                         kMostTokens);
    return {};
  }
  previous_ = total;
  previous_info_ = info.raw();
  if (before && *before == *total) {
    note_ = "a counter sent again";
    return {};
  }
  if (before && !total->covers(*before)) {
    note_ = "counter reset or overwritten";
    return use_last();
  }
  // A first total above its last response: what came before is in another file.
  if (!before && last && last->billed() && *last != *total) {
    note_ = "counter that starts in the middle";
    return use_last();
  }
  count.tokens = before ? total->minus(*before) : *total;
  // A counter that began again may have passed the old one already: then it is its last response
  // alone, or has grown by what no response can have used.
  const bool restarted = before && last && last->billed() && *last != count.tokens &&
                         (*last == *total || (total->possible() && !count.tokens.possible()));
  if (restarted) {
    note_ = "counter reset or overwritten";
    return use_last();
  }
  if (!count.tokens.billed()) {
    note_ = "an estimate of the context, not usage";
    return {};
  }
  if (keep_raw_ && last && *last == count.tokens) count.raw = last_raw.raw();
  count.key = total->key();
  return count;
}

void CodexCounter::baseline(JsonSpan info) {
  Figures sums(kMostTokensSummed);
  const auto total = codex_tokens(info["total_token_usage"], sums);
  if (!total) return;
  previous_ = total;
  previous_info_.clear();
}

CodexCounter::Record CodexCounter::record(JsonSpan payload, CodexCount& count) {
  by_records_ = true;
  const JsonSpan usage = payload["usage"];
  Figures figures;
  count.tokens = codex_tokens(usage, figures).value_or(CodexTokens{});
  count.wrong = figures.wrong();
  count.authority = schema::Authority::exact;
  count.response_id = payload["response_id"].text();
  if (keep_raw_) count.raw = usage.raw();
  count.key = payload["session_id"].text() + "/" + count.response_id;
  count.record = count.key;
  const auto [found, fresh] = records_.try_emplace(count.key, count.tokens);
  if (fresh) return Record::counted;
  return found->second == count.tokens ? Record::repeated : Record::conflicting;
}

}  // namespace daybook::tools
