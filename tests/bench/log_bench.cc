// Reading logs: figures only, against reading the same bytes and doing nothing with them.
#include <fmt/format.h>
#include <sys/resource.h>

#include <filesystem>
#include <vector>

#include "tests/bench/bench.h"
#include "tests/bench/log_tree.h"
#include "tests/support/temp_dir.h"
#include "tools/log_calls.h"
#include "tools/log_file.h"

namespace daybook::bench {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kSeed = 20260901;

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double cpu_ms() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

void read_only(const std::vector<tools::LogSource>& sources) {
  std::vector<char> buffer(std::size_t{256} << 10);
  for (const auto& source : sources) {
    auto bytes = tools::open_bytes(source.path);
    while (bytes && (*bytes)->read(buffer.data(), buffer.size()).value_or(0) > 0) {
    }
  }
}

}  // namespace

int log_bench() {
  const tests::TempDir dir;
  const LogTree tree = make_log_tree(dir.str(), kBytes, kSeed);
  const std::vector<std::string> paths = {dir.str()};
  const auto found = tools::discover_logs(paths);
  if (!found) return 1;
  fmt::print("log tree: {} files, {} MiB, {} calls\n", tree.files, tree.bytes >> 20, tree.calls);
  double cpu = cpu_ms();
  const double base = time_ms([&] { read_only(found->sources); });
  fmt::print("plain read: {:.0f} ms, {:.0f} ms of them on a core\n", base, cpu_ms() - cpu);
  int failures = 0;
  for (const unsigned threads : {1u, 2u}) {
    LogTree seen;
    cpu = cpu_ms();
    const double took = time_ms([&] {
      const auto report =
          tools::visit_log_calls(found->sources, {threads, {}}, [&](replay::Call call) {
            ++seen.calls;
            seen.uncached += call.usage.input_uncached.value_or(0);
            seen.cache_read += call.usage.cache_read.value_or(0);
            seen.cache_write += call.usage.cache_write.value_or(0);
            seen.output += call.usage.output.value_or(0);
          });
      if (!report.lossless()) ++failures;
    });
    const bool same = seen.calls == tree.calls && seen.uncached == tree.uncached &&
                      seen.cache_read == tree.cache_read && seen.cache_write == tree.cache_write &&
                      seen.output == tree.output;
    if (!same) ++failures;
    const double core = cpu_ms() - cpu;
    fmt::print(
        "figures, {} threads: {:.0f} ms, {:.1f} times a plain read; {:.2f} GB/s per core; "
        "totals {}\n",
        threads, took, took / base, static_cast<double>(tree.bytes) / core / 1e6,
        same ? "as written" : "DIFFER");
  }
  return failures + report("peak memory", peak_mib(), 200, "MiB");
}

}  // namespace daybook::bench
