#include "tests/bench/log_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

namespace daybook::bench {
namespace {

namespace fs = std::filesystem;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t end) { return engine_() % end; }
  double unit() { return static_cast<double>(engine_() >> 11) / 9007199254740992.0; }

 private:
  std::mt19937_64 engine_;
};

/// A size between the measured quantiles, spread evenly on a logarithmic scale.
std::uint64_t file_size(Random& random) {
  struct Quantile {
    double at;
    double bytes;
  };
  constexpr std::array<Quantile, 5> kQuantiles = {
      {{0, 8e3}, {0.5, 105e3}, {0.9, 654e3}, {0.99, 5.4e6}, {1, 87e6}}};
  const double at = random.unit();
  for (std::size_t i = 1; i < kQuantiles.size(); ++i) {
    const auto& low = kQuantiles[i - 1];
    const auto& high = kQuantiles[i];
    if (at > high.at) continue;
    const double part = (at - low.at) / (high.at - low.at);
    return static_cast<std::uint64_t>(low.bytes * std::pow(high.bytes / low.bytes, part));
  }
  return 105'000;
}

/// Text with some quotes and line breaks in it: 1.8 to 4.2 KB, now and then much more.
std::string pad(Random& random, std::uint64_t number) {
  std::uint64_t size = 1800 + random.below(2400);
  if (number % 37 == 0) size = 8192 + random.below(8192);
  if (number % 997 == 0) size = 48'000 + random.below(32'000);
  static constexpr std::string_view kWords =
      "the cache was read before \\\"assistant\\\" wrote a line,\\nthen {usage: 1} returned; ";
  std::string text;
  text.reserve(size + kWords.size());
  while (text.size() < size) text += kWords;
  return text;
}

bool is_spaced(int style) {
  return (style & 1) != 0;
}

/// Members of an object, put down in the file's order and spacing.
class Object {
 public:
  Object(int style) : style_(style) {}
  Object& raw(std::string_view key, std::string value) {
    members_.emplace_back(key, std::move(value));
    return *this;
  }
  Object& text(std::string_view key, std::string_view value) {
    return raw(key, fmt::format("\"{}\"", value));
  }
  Object& number(std::string_view key, std::uint64_t value) {
    return raw(key, std::to_string(value));
  }
  std::string str() {
    const bool spaced = is_spaced(style_);
    if ((style_ & 2) != 0) std::ranges::reverse(members_);
    std::string out = "{";
    for (const auto& [key, value] : members_) {
      if (out.size() > 1) out += spaced ? ", " : ",";
      out += fmt::format("\"{}\"{}{}", key, spaced ? ": " : ":", value);
    }
    return out + "}";
  }

 private:
  int style_;
  std::vector<std::pair<std::string, std::string>> members_;
};

class Writer {
 public:
  Writer(const std::string& folder, std::uint64_t seed) : folder_(folder), random_(seed) {}

  LogTree run(std::uint64_t bytes) {
    std::array<std::uint64_t, 2> written{};
    while (tree_.bytes < bytes) {
      const bool claude = written[0] <= written[1];
      const std::uint64_t before = tree_.bytes;
      const std::uint64_t size = std::min(file_size(random_), bytes - tree_.bytes + 8192);
      style_ = static_cast<int>(random_.below(4));
      claude ? claude_file(size) : codex_file(size);
      written[claude ? 0 : 1] += tree_.bytes - before;
      ++tree_.files;
    }
    return tree_;
  }

 private:
  std::string time() {
    seconds_ += 7;
    const std::uint64_t day = seconds_ / 86400 % 28 + 1;
    return fmt::format("2026-09-{:02}T{:02}:{:02}:{:02}.{:03}Z", day, seconds_ / 3600 % 24,
                       seconds_ / 60 % 60, seconds_ % 60, random_.below(1000));
  }

  std::ofstream open(const fs::path& path) {
    fs::create_directories(path.parent_path());
    return std::ofstream(path, std::ios::binary);
  }

  void put(std::ofstream& out, std::string line) {
    line += '\n';
    tree_.bytes += line.size();
    out << line;
  }

  void count(LogPart& part, const LogTotals& one) {
    (is_spaced(style_) ? part.spaced : part.compact) += one;
  }

  std::string claude_line(const std::string& session, std::string_view type, std::string message,
                          std::uint64_t number) {
    Object line(style_);
    line.raw("parentUuid", number == 0 ? "null" : fmt::format("\"{}-{}\"", session, number - 1));
    line.raw("isSidechain", "false").text("userType", "external").text("cwd", "/home/dev/shop");
    line.text("sessionId", session).text("version", "2.1.60").text("type", type);
    line.raw("message", std::move(message));
    if (type == "assistant") line.text("requestId", fmt::format("req_{}_{}", session, serial_));
    line.text("uuid", fmt::format("{}-{}", session, number)).text("timestamp", time());
    return line.str();
  }

  void claude_file(std::uint64_t size) {
    const std::string session = fmt::format("c0ffee00-0000-4000-8000-{:012x}", tree_.files);
    auto out = open(fs::path(folder_) / "claude/projects" /
                    fmt::format("-home-dev-p{}", tree_.files % 40) / (session + ".jsonl"));
    const std::uint64_t start = tree_.bytes;
    std::uint64_t number = 0;
    std::uint64_t context = 12'000;
    while (tree_.bytes - start < size) {
      put(out, claude_line(session, "user",
                           Object(style_)
                               .text("role", "user")
                               .text("content", "prompt " + pad(random_, ++serial_))
                               .str(),
                           number));
      ++number;
      const std::uint64_t written = 300 + random_.below(900);
      const std::uint64_t output = 20 + random_.below(700);
      // One line per block; only the last one has the final count.
      const std::uint64_t blocks = 1 + random_.below(3);
      for (std::uint64_t block = 0; block < blocks; ++block) {
        const bool last = block + 1 == blocks;
        const std::string usage =
            Object(style_)
                .number("input_tokens", 4)
                .number("cache_creation_input_tokens", written)
                .number("cache_read_input_tokens", context)
                .raw("cache_creation", Object(style_)
                                           .number("ephemeral_5m_input_tokens", written)
                                           .number("ephemeral_1h_input_tokens", 0)
                                           .str())
                .number("output_tokens", last ? output : 1)
                .text("service_tier", "standard")
                .str();
        Object message(style_);
        message.text("id", fmt::format("msg_{}_{}", session, serial_)).text("type", "message");
        message.text("role", "assistant").text("model", kClaudeModels[serial_ % 3]);
        message.raw(
            "content",
            fmt::format(
                "[{}]",
                Object(style_).text("type", "text").text("text", pad(random_, ++blocks_)).str()));
        message.raw("stop_reason", last ? "\"end_turn\"" : "null").raw("usage", usage);
        put(out, claude_line(session, "assistant", message.str(), number));
        ++number;
      }
      count(tree_.claude, {1, 4, context, written, output});
      context += written;
    }
  }

  std::string codex_line(std::string_view type, std::string payload) {
    return Object(style_)
        .text("timestamp", time())
        .text("type", type)
        .raw("payload", std::move(payload))
        .str();
  }

  std::string codex_usage(std::uint64_t input, std::uint64_t cached, std::uint64_t output) {
    return Object(style_)
        .number("input_tokens", input)
        .number("cached_input_tokens", cached)
        .number("output_tokens", output)
        .number("reasoning_output_tokens", output / 2)
        .number("total_tokens", input + output)
        .str();
  }

  void codex_file(std::uint64_t size) {
    const std::string thread = fmt::format("01990000-0000-7000-8000-{:012x}", tree_.files);
    auto out =
        open(fs::path(folder_) /
             fmt::format("codex/sessions/2026/09/{:02}/rollout-2026-09-{:02}T10-00-00-{}.jsonl",
                         tree_.files % 28 + 1, tree_.files % 28 + 1, thread));
    const std::uint64_t start = tree_.bytes;
    put(out, codex_line("session_meta", Object(style_)
                                            .text("id", thread)
                                            .text("timestamp", "2026-09-01T10:00:00.000Z")
                                            .text("cwd", "/home/dev/api")
                                            .text("cli_version", "0.150.0")
                                            .text("source", "cli")
                                            .text("model_provider", "openai")
                                            .str()));
    put(out, codex_line("turn_context", Object(style_)
                                            .text("cwd", "/home/dev/api")
                                            .text("model", kCodexModels[tree_.files % 3])
                                            .text("effort", "high")
                                            .str()));
    std::uint64_t total_input = 0;
    std::uint64_t total_cached = 0;
    std::uint64_t total_output = 0;
    std::uint64_t context = 9'000;
    while (tree_.bytes - start < size) {
      for (const char* role : {"user", "assistant"}) {
        const bool user = role[0] == 'u';
        put(out,
            codex_line(
                "response_item",
                Object(style_)
                    .text("type", "message")
                    .text("role", role)
                    .raw("content",
                         fmt::format("[{}]", Object(style_)
                                                 .text("type", user ? "input_text" : "output_text")
                                                 .text("text", pad(random_, ++serial_))
                                                 .str()))
                    .str()));
      }
      const std::uint64_t fresh = 200 + random_.below(1500);
      const std::uint64_t output = 20 + random_.below(900);
      total_input += context + fresh;
      total_cached += context;
      total_output += output;
      const std::string info =
          Object(style_)
              .raw("total_token_usage", codex_usage(total_input, total_cached, total_output))
              .raw("last_token_usage", codex_usage(context + fresh, context, output))
              .number("model_context_window", 272'000)
              .str();
      // Every other one is sent again, as real ones are.
      for (std::uint64_t again = 0; again < 1 + serial_ / 2 % 2; ++again) {
        put(out, codex_line("event_msg", Object(style_)
                                             .text("type", "token_count")
                                             .raw("info", info)
                                             .raw("rate_limits", "null")
                                             .str()));
      }
      count(tree_.codex, {1, fresh, context, 0, output});
      context += fresh;
      if (context > 200'000) context = 9'000;
    }
  }

  static constexpr std::array<std::string_view, 3> kClaudeModels = {
      "claude-sonnet-5", "claude-opus-5.5", "claude-haiku-4.5"};
  static constexpr std::array<std::string_view, 3> kCodexModels = {"gpt-5.6-sol", "gpt-5.6-mini",
                                                                   "gpt-5.5"};

  std::string folder_;
  Random random_;
  LogTree tree_;
  int style_ = 0;
  std::uint64_t seconds_ = 0;
  std::uint64_t serial_ = 0;
  std::uint64_t blocks_ = 0;
};

}  // namespace

LogTotals& LogTotals::operator+=(const LogTotals& other) {
  calls += other.calls;
  uncached += other.uncached;
  cache_read += other.cache_read;
  cache_write += other.cache_write;
  output += other.output;
  return *this;
}

LogTotals LogPart::all() const {
  LogTotals sum = compact;
  return sum += spaced;
}

LogTotals LogTree::all() const {
  LogTotals sum = claude.all();
  return sum += codex.all();
}

LogTree make_log_tree(const std::string& folder, std::uint64_t bytes, std::uint64_t seed) {
  return Writer(folder, seed).run(bytes);
}

}  // namespace daybook::bench
