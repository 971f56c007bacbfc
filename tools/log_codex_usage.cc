#include "tools/log_codex_usage.h"

#include <fmt/format.h>

#include <algorithm>

namespace daybook::tools {
namespace {

std::uint64_t less(std::uint64_t a, std::uint64_t b) {
  return a > b ? a - b : 0;
}

}  // namespace

bool CodexTokens::covers(const CodexTokens& before) const {
  return input >= before.input && cached >= before.cached && cache_write >= before.cache_write &&
         output >= before.output && reasoning >= before.reasoning && total >= before.total;
}

CodexTokens CodexTokens::minus(const CodexTokens& before) const {
  CodexTokens made = *this;
  made.input = less(input, before.input);
  made.cached = less(cached, before.cached);
  made.cache_write = less(cache_write, before.cache_write);
  made.output = less(output, before.output);
  made.reasoning = less(reasoning, before.reasoning);
  made.total = less(total, before.total);
  return made;
}

std::string CodexTokens::key() const {
  return fmt::format("{}/{}/{}/{}/{}/{}", input, cached, cache_write, output, reasoning, total);
}

replay::CallUsage CodexTokens::usage() const {
  replay::CallUsage made;
  made.input_total = input;
  made.cache_read = cached;
  if (has_cache_write) made.cache_write = cache_write;
  made.input_uncached = less(less(input, cached), cache_write);
  made.output = output;
  made.reasoning = reasoning;
  return made;
}

std::optional<CodexTokens> codex_tokens(JsonSpan usage) {
  if (!usage.is_object()) return {};
  CodexTokens made;
  usage.members([&](std::string_view key, JsonSpan value) {
    const std::uint64_t count = value.count().value_or(0);
    if (key == "input_tokens") made.input = count;
    if (key == "cached_input_tokens") made.cached = count;
    if (key == "cache_write_input_tokens") {
      made.cache_write = count;
      made.has_cache_write = value.count().has_value();
    }
    if (key == "output_tokens") made.output = count;
    if (key == "reasoning_output_tokens") made.reasoning = count;
    if (key == "total_tokens") made.total = count;
  });
  if (made.cached > made.input) {
    made.cached = made.input;
    made.clamped = true;
  }
  return made;
}

std::optional<CodexCount> CodexCounter::token_count(JsonSpan info) {
  note_.clear();
  // Nearly half of all counters repeat the one before to the byte.
  if (!by_records_ && previous_ && info.raw() == previous_info_) {
    note_ = "a counter sent again";
    return {};
  }
  const JsonSpan total_raw = info["total_token_usage"];
  const JsonSpan last_raw = info["last_token_usage"];
  const auto total = codex_tokens(total_raw);
  const auto last = codex_tokens(last_raw);
  if (by_records_) {
    note_ = "a counter beside a record of its own";
    return {};
  }
  CodexCount count;
  const auto use_last = [&]() -> std::optional<CodexCount> {
    if (!last || !last->billed()) return {};
    count.tokens = *last;
    if (keep_raw_) count.raw = last_raw.raw();
    count.key = (total ? total->key() : std::string("last")) + "|" + last->key();
    return count;
  };
  if (!total) return use_last();
  const std::optional<CodexTokens> before = previous_;
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
  if (!count.tokens.billed()) {
    note_ = "an estimate of the context, not usage";
    return {};
  }
  if (keep_raw_ && last && *last == count.tokens) count.raw = last_raw.raw();
  count.key = total->key();
  return count;
}

void CodexCounter::baseline(JsonSpan info) {
  const auto total = codex_tokens(info["total_token_usage"]);
  if (!total) return;
  previous_ = total;
  previous_info_.clear();
}

CodexCounter::Record CodexCounter::record(JsonSpan payload, CodexCount& count) {
  by_records_ = true;
  const JsonSpan usage = payload["usage"];
  count.tokens = codex_tokens(usage).value_or(CodexTokens{});
  count.authority = schema::Authority::exact;
  count.response_id = payload["response_id"].text();
  if (keep_raw_) count.raw = usage.raw();
  count.key = payload["session_id"].text() + "/" + count.response_id;
  const auto [found, fresh] = records_.try_emplace(count.key, count.tokens);
  if (fresh) return Record::counted;
  return found->second == count.tokens ? Record::repeated : Record::conflicting;
}

}  // namespace daybook::tools
