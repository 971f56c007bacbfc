#include "tests/bench/long_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "tests/bench/bench.h"
#include "tests/bench/log_comparison.h"
#include "tests/support/build_paths.h"

namespace daybook::bench {
namespace {

constexpr int kCalls = 3'000;
constexpr int kRuns = 7;

std::string moment(int second) {
  return fmt::format("2026-10-{:02}T{:02}:{:02}:{:02}.000Z", 1 + second / 86'400,
                     second / 3'600 % 24, second / 60 % 60, second % 60);
}

/// Prompts, tool calls and results of 2 KB; every hundredth call comes after the cache expired.
void write_log(const std::string& path, int calls) {
  std::ofstream out(path);
  int second = 0;
  std::string parent = "null";
  int context = 12'000;
  for (int i = 0; i < calls; ++i) {
    const std::string result(2'000, static_cast<char>('a' + i % 26));
    const std::string content =
        i % 20 == 0
            ? fmt::format("\"prompt {} {}\"", i, result)
            : fmt::format(R"([{{"type":"tool_result","tool_use_id":"t{}","content":"{} {}"}}])",
                          i - 1, i, result);
    const std::string block = i % 20 == 19
                                  ? R"({"type":"text","text":"done"})"
                                  : fmt::format(R"({{"type":"tool_use","id":"t{0}","name":"Bash",)"
                                                R"("input":{{"command":"ls {0}"}}}})",
                                                i);
    out << fmt::format(
               R"({{"type":"user","uuid":"u{0}","parentUuid":{1},"sessionId":"long",)"
               R"("timestamp":"{2}",)"
               R"("cwd":"/p","version":"2.0.1","message":{{"role":"user","content":{3}}}}})",
               i, parent, moment(second), content)
        << '\n';
    second += i % 100 == 50 ? 400 : 4;
    const int read = i == 0 || i % 100 == 51 ? 0 : context - 600;
    out << fmt::format(
               R"({{"type":"assistant","uuid":"a{0}","parentUuid":"u{0}","sessionId":"long",)"
               R"("timestamp":"{1}","cwd":"/p","version":"2.0.1","requestId":"r{0}","message":)"
               R"({{"id":"m{0}","type":"message","role":"assistant","model":"claude-opus-4-5",)"
               R"("content":[{2}],"stop_reason":"{3}","usage":{{"input_tokens":3,)"
               R"("cache_read_input_tokens":{4},"cache_creation_input_tokens":{5},)"
               R"("cache_creation":{{"ephemeral_5m_input_tokens":{5},)"
               R"("ephemeral_1h_input_tokens":0}},)"
               R"("output_tokens":40}}}}}})",
               i, moment(second), block, i % 20 == 19 ? "end_turn" : "tool_use", read,
               context - read)
        << '\n';
    parent = fmt::format("\"a{}\"", i);
    second += 3;
    context += 600;
  }
}

}  // namespace

int measure_long_logs(const std::string& folder) {
  double core_ms[2] = {};
  for (const int twice : {0, 1}) {
    const int calls = kCalls * (1 + twice);
    const std::string log = fmt::format("{}/long{}.jsonl", folder, calls);
    const std::string journal = fmt::format("{}/long{}", folder, calls);
    write_log(log, calls);
    const std::string program = tests::build_path("/daybook");
    const ProgramRun import = run_program(folder, {program, "import", log, "--journal", journal});
    if (!import.good) return 1;
    std::vector<double> runs;
    for (int i = 0; i < kRuns; ++i) {
      const ProgramRun cache =
          run_program(folder, {program, "cache", "--json", "--journal", journal});
      if (!cache.good) return 1;
      runs.push_back(cache.core_ms);
    }
    // The least is what the work takes; the rest is other work on the same caches.
    core_ms[twice] = std::ranges::min(runs);
    fmt::print(
        "daybook cache of a session of {} calls, never compacted: {:.0f} ms on a core, least of "
        "{}\n",
        calls, core_ms[twice], kRuns);
  }
  return report("twice the calls, as a multiple", core_ms[1] / core_ms[0], 2.5, "times");
}

}  // namespace daybook::bench
