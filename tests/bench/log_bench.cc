// Reading logs: figures only, against reading the same bytes and doing nothing with them, against
// another program that does the same, and against what else Daybook does with logs.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "tests/bench/bench.h"
#include "tests/bench/child.h"
#include "tests/bench/log_comparison.h"
#include "tests/bench/log_tree.h"
#include "tests/bench/long_log.h"
#include "tests/support/temp_dir.h"
#include "tools/log_calls.h"
#include "tools/log_file.h"

namespace daybook::bench {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{1} << 30;
/// Sessions of the big tree never compact: no program's are like that, and nobody's requests.
constexpr std::uint64_t kImportBytes = std::uint64_t{32} << 20;
constexpr std::uint64_t kSeed = 20260901;

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

struct Scan {
  double took_ms = 0;
  double core_ms = 0;
  bool lossless = false;
  LogTotals seen;
};

Scan scan(const tools::Discovery& found, unsigned threads) {
  Scan made;
  const double before = cpu_ms();
  made.took_ms = time_ms([&] {
    const auto report =
        tools::visit_log_calls(found.sources, {threads, {}}, [&](const replay::Call& call) {
          made.seen += {1, call.usage.input_uncached.value_or(0), call.usage.cache_read.value_or(0),
                        call.usage.cache_write.value_or(0), call.usage.output.value_or(0)};
        });
    made.lossless = report.lossless();
  });
  made.core_ms = cpu_ms() - before;
  return made;
}

/// Within this process: what a core does with a byte.
int measure_reading(const std::string& folder, const LogTree& tree) {
  const std::vector<std::string> paths = {folder};
  const auto found = tools::discover_logs(paths);
  if (!found) return 1;
  const double cpu = cpu_ms();
  const double base = time_ms([&] { read_only(found->sources); });
  fmt::print("plain read: {:.0f} ms, {:.0f} ms of them on a core\n", base, cpu_ms() - cpu);
  int failures = 0;
  for (const unsigned threads : {1u, 2u}) {
    const Scan done = scan(*found, threads);
    const bool same = done.lossless && done.seen == tree.all();
    if (!same) ++failures;
    fmt::print(
        "figures, {} threads: {:.0f} ms, {:.1f} times a plain read; {:.2f} GB/s per core; "
        "totals {}\n",
        threads, done.took_ms, done.took_ms / base,
        static_cast<double>(tree.bytes) / done.core_ms / 1e6, same ? "as written" : "DIFFER");
  }
  return failures;
}

}  // namespace

int log_bench() {
  const tests::TempDir dir;
  // Each step in a process of its own: this one stays small, and so do those that it starts.
  const LogTree tree =
      in_child([&] { return make_log_tree(dir.str("tree"), kBytes, kSeed); }).value;
  ::sync();  // the kernel would write the tree beside what is measured
  fmt::print("log tree: {} files, {} MiB, {} calls\n", tree.files, tree.bytes >> 20,
             tree.all().calls);
  std::fflush(stdout);
  int failures = in_child([&] {
                   const int failed = measure_reading(dir.str("tree"), tree);
                   std::fflush(stdout);
                   return failed;
                 }).value;
  failures += compare_with_ccusage(dir.str(), tree);
  failures += measure_passes(dir.str());
  failures += measure_long_logs(dir.str());
  const LogTree small =
      in_child([&] { return make_log_tree(dir.str("small"), kImportBytes, kSeed); }).value;
  return failures + measure_import(dir.str(), small);
}

}  // namespace daybook::bench
