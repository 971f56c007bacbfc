#include "tests/bench/log_comparison.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "schema/json.h"
#include "tests/bench/bench.h"
#include "tests/support/build_paths.h"
#include "tests/support/temp_dir.h"
#include "tools/exit_codes.h"

namespace daybook::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kRuns = 9;

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> made;
  for (const auto& each : strings) made.push_back(const_cast<char*>(each.c_str()));
  made.push_back(nullptr);
  return made;
}

/// The program that DAYBOOK_CCUSAGE names, or the first ccusage on PATH.
std::optional<std::string> find_ccusage() {
  if (const char* named = std::getenv("DAYBOOK_CCUSAGE"); named != nullptr) return named;
  std::string path = std::getenv("PATH") == nullptr ? "" : std::getenv("PATH");
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(':'), path.size());
    const std::string program = path.substr(0, end) + "/ccusage";
    if (::access(program.c_str(), X_OK) == 0) return program;
    path.erase(0, end + 1);
  }
  return {};
}

std::string daybook() {
  return tests::build_path("/daybook");
}

ProgramRun ccusage(const std::string& program, const std::string& folder, const std::string& tree) {
  return run_program(folder, {program, "monthly", "--json", "--offline", "--by-agent"},
                     {"CLAUDE_CONFIG_DIR=" + tree + "/claude", "CODEX_HOME=" + tree + "/codex"});
}

/// What both count: tokens. (ccusage does not count calls.)
struct Tokens {
  std::uint64_t uncached = 0;
  std::uint64_t cache_read = 0;
  std::uint64_t cache_write = 0;
  std::uint64_t output = 0;
  bool operator==(const Tokens&) const = default;
  std::string shown() const {
    return fmt::format("{} input, {} read, {} written, {} output", uncached, cache_read,
                       cache_write, output);
  }
};

Tokens tokens_of(const LogTotals& totals) {
  return {totals.uncached, totals.cache_read, totals.cache_write, totals.output};
}

std::uint64_t figure(const Json& row, const char* key) {
  return row.is_object() && row.contains(key) ? row[key].get<std::uint64_t>() : 0;
}

Tokens tokens_of_row(const Json& row) {
  return {figure(row, "inputTokens"), figure(row, "cacheReadTokens"),
          figure(row, "cacheCreationTokens"), figure(row, "outputTokens")};
}

/// Of one agent ("claude", "codex"), over all months; "": of all. Nothing when it is no report.
std::optional<Tokens> counted_by_ccusage(const std::string& out, std::string_view agent) {
  const auto report = parse_json(out);
  if (!report || !report->is_object() || !report->contains("monthly")) return {};
  Tokens sum;
  const auto add = [&](const Json& row) {
    const Tokens one = tokens_of_row(row);
    sum.uncached += one.uncached;
    sum.cache_read += one.cache_read;
    sum.cache_write += one.cache_write;
    sum.output += one.output;
  };
  for (const Json& month : (*report)["monthly"]) {
    if (agent.empty()) {
      add(month);
    } else if (month.contains("agents")) {
      for (const Json& row : month["agents"]) {
        if (json_text(row, "agent") == agent) add(row);
      }
    }
  }
  return sum;
}

/// The "total" line of `daybook cost --json`.
std::optional<Tokens> counted_by_daybook(const std::string& out) {
  std::size_t at = 0;
  while (at < out.size()) {
    const std::size_t end = std::min(out.find('\n', at), out.size());
    const auto line = parse_json(std::string_view(out).substr(at, end - at));
    at = end + 1;
    if (!line || json_text(*line, "line") != "total") continue;
    const Json& tokens = (*line)["tokens"];
    return Tokens{figure(tokens, "input"), figure(tokens, "cache_read"),
                  figure(tokens, "cache_write_5m") + figure(tokens, "cache_write_1h") +
                      figure(tokens, "cache_write"),
                  figure(tokens, "output")};
  }
  return {};
}

// ------------------------------------------------------------------------------ the tree

/// Where the two programs do not agree on the tree, only the spacing of the JSON may be why.
int compare_tree_totals(const std::string& folder, const LogTree& tree, const std::string& out) {
  int failures = 0;
  const std::pair<const char*, const LogPart*> parts[] = {{"claude", &tree.claude},
                                                          {"codex", &tree.codex}};
  for (const auto& [agent, part] : parts) {
    const ProgramRun run =
        run_program(folder, {daybook(), "cost", "--json", folder + "/tree/" + agent});
    const auto ours = counted_by_daybook(run.out);
    const auto theirs = counted_by_ccusage(out, agent);
    if (!ours || !theirs) return 1;
    Tokens left = *ours;
    const Tokens spaced = tokens_of(part->spaced);
    left.uncached -= spaced.uncached;
    left.cache_read -= spaced.cache_read;
    left.cache_write -= spaced.cache_write;
    left.output -= spaced.output;
    const bool explained = *ours == tokens_of(part->all()) && left == *theirs;
    if (!explained) ++failures;
    fmt::print("{}: daybook {}\n", agent, ours->shown());
    fmt::print("  spaced-json, only daybook reads it: {}\n", spaced.shown());
    fmt::print("  the rest: {}; ccusage: {}: {}\n", left.shown(), theirs->shown(),
               explained ? "equal" : "NOT EXPLAINED");
  }
  return failures;
}

/// Below `to`, links to the logs of `from` that both programs read: half of a tree has spaces in
/// its JSON, and ccusage passes over those logs unread.
void link_compact(const fs::path& from, const fs::path& to) {
  for (const auto& item : fs::recursive_directory_iterator(from)) {
    if (!item.is_regular_file()) continue;
    char start[200] = {};
    std::ifstream(item.path()).read(start, sizeof start);
    if (std::string_view(start, sizeof start).find("\": ") != std::string_view::npos) continue;
    const fs::path link = to / fs::relative(item.path(), from);
    fs::create_directories(link.parent_path());
    fs::create_hard_link(item.path(), link);
  }
}

/// `out`: what ccusage printed.
int compare_time(const std::string& program, const std::string& folder, const std::string& tree,
                 std::string& out) {
  std::vector<double> ours;
  std::vector<double> theirs;
  double our_peak = 0;
  double their_peak = 0;
  double our_core = 0;
  double their_core = 0;
  for (int i = 0; i < kRuns; ++i) {
    const ProgramRun one = ccusage(program, folder, tree);
    const ProgramRun two = run_program(folder, {daybook(), "cost", "--json", tree});
    if (!one.good || !two.good) return 1;
    theirs.push_back(one.took_ms);
    ours.push_back(two.took_ms);
    their_core += one.core_ms / kRuns;
    our_core += two.core_ms / kRuns;
    their_peak = std::max(their_peak, one.peak_mib);
    our_peak = std::max(our_peak, two.peak_mib);
    out = one.out;
  }
  fmt::print("ccusage: median {:.0f} ms ({:.0f} on cores), peak {:.0f} MiB\n", median(theirs),
             their_core, their_peak);
  fmt::print(
      "daybook cost: median {:.0f} ms ({:.0f} on cores), peak {:.0f} MiB; {:.2f} times as "
      "fast\n",
      median(ours), our_core, our_peak, median(theirs) / median(ours));
  return report("wall time as a part of ccusage's", median(ours) / median(theirs), 0.5, "") +
         report("peak memory of daybook cost", our_peak, 200, "MiB");
}

// ------------------------------------------------------------------------------ the fixtures

/// A fixture on which the programs must differ, and the rule that tells why.
struct Difference {
  const char* fixture;
  const char* rule;
};
constexpr Difference kDifferences[] = {
    {"claude/spaced.jsonl", "spaced-json: JSON with spaces in it is read"},
    {"claude/fast.jsonl", "api-compaction: summaries made by the API are billed besides"},
    {"claude/no-request.jsonl", "no-request-id: a response without one still counts once"},
    {"claude/nul.jsonl", "damaged-line: the record in a damaged line is read"},
    {"claude/splice.jsonl", "damaged-line: the records in a spliced line are read"},
    {"claude/surrogate.jsonl", "lone-surrogate: half of a pair does not void the line"},
    {"codex/exec.jsonl", "running-total: usage of a resumed thread is what was added"},
    {"codex/rollout-2026-10-02T10-00-00-0c01.jsonl",
     "forked-history: what was copied from a parent is the parent's"},
    {"codex/rollout-2026-10-02T10-00-00-0e01.jsonl",
     "usage-records: responses that only records tell count, compactions among them"},
    {"codex/rollout-2026-10-02T10-00-00-0f01.jsonl", "odd-counts: 100.0 and \"10\" are counts"},
    {"codex/rollout-2026-10-02T10-00-00-0f03.jsonl",
     "damaged-line: the records in a spliced line are read"},
};

const char* rule_of(std::string_view fixture) {
  const auto* const found = std::ranges::find(kDifferences, fixture, &Difference::fixture);
  return found == std::end(kDifferences) ? nullptr : found->rule;
}

/// Lays one fixture out as its program does, alone.
void lay_out(const fs::path& fixture, bool claude, const fs::path& tree) {
  fs::remove_all(tree);
  fs::create_directories(tree / "claude/projects/p");
  fs::create_directories(tree / "codex/sessions/2026/10/02");
  const fs::path place = tree / (claude ? "claude/projects/p" : "codex/sessions/2026/10/02");
  fs::copy(fixture, place / fixture.filename());
  const fs::path beside = fs::path(fixture).replace_extension();
  if (fs::is_directory(beside)) {
    fs::copy(beside, place / beside.filename(), fs::copy_options::recursive);
  }
}

int compare_fixture(const std::string& program, const fs::path& fixture, bool claude,
                    const std::string& folder) {
  const std::string tree = folder + "/fixture";
  lay_out(fixture, claude, tree);
  const auto ours =
      counted_by_daybook(run_program(folder, {daybook(), "cost", "--json", tree}).out);
  const auto theirs = counted_by_ccusage(ccusage(program, folder, tree).out, "");
  const std::string name = (claude ? "claude/" : "codex/") + fixture.filename().string();
  const char* rule = rule_of(name);
  if (!ours || !theirs) {
    fmt::print("{}: could not be counted\n", name);
    return 1;
  }
  if (*ours == *theirs && rule == nullptr) return 0;
  const bool explained = *ours != *theirs && rule != nullptr;
  fmt::print("{}: {}\n  daybook {}\n  ccusage {}\n", name, rule != nullptr ? rule : "NOT EXPLAINED",
             ours->shown(), theirs->shown());
  if (!explained && rule != nullptr) fmt::print("  they agree: the rule is GONE\n");
  return explained ? 0 : 1;
}

int compare_fixtures(const std::string& program, const std::string& folder) {
  int failures = 0;
  int seen = 0;
  for (const bool claude : {true, false}) {
    const std::string place =
        tests::source_path(claude ? "/tests/data/logs/claude" : "/tests/data/logs/codex");
    std::vector<fs::path> fixtures;
    for (const auto& item : fs::directory_iterator(place)) {
      if (item.path().extension() == ".jsonl") fixtures.push_back(item.path());
    }
    std::ranges::sort(fixtures);
    for (const fs::path& fixture : fixtures) {
      ++seen;
      failures += compare_fixture(program, fixture, claude, folder);
    }
  }
  fmt::print("{} fixtures: {} differ by a named rule, the others agree to the token: {}\n", seen,
             std::size(kDifferences), failures == 0 ? "yes" : "NO");
  return failures;
}

}  // namespace

ProgramRun run_program(const std::string& folder, const std::vector<std::string>& argv,
                       const std::vector<std::string>& settings) {
  ProgramRun made;
  const std::string home = folder + "/home";
  fs::create_directories(home);
  const std::string file = folder + "/out";
  const char* path = std::getenv("PATH");
  std::vector<std::string> environment = {"HOME=" + home, "NO_COLOR=1",
                                          std::string("PATH=") + (path == nullptr ? "" : path)};
  environment.insert(environment.end(), settings.begin(), settings.end());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  int status = -1;
  rusage usage{};
  made.took_ms = time_ms([&] {
    if (posix_spawnp(&child, argv[0].c_str(), &actions, nullptr, pointers(argv).data(),
                     pointers(environment).data()) != 0) {
      return;
    }
    if (wait4(child, &status, 0, &usage) != child) status = -1;
  });
  posix_spawn_file_actions_destroy(&actions);
  made.good = status != -1 && WIFEXITED(status) &&
              (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == tools::kExitLosses);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  made.core_ms = ms(usage.ru_utime) + ms(usage.ru_stime);
  made.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  made.out = tests::read_file(file);
  return made;
}

int compare_with_ccusage(const std::string& folder, const LogTree& tree) {
  const auto program = find_ccusage();
  if (!program) {
    fmt::print("ccusage: not on PATH and not named by DAYBOOK_CCUSAGE: not compared\n");
    return 0;
  }
  std::string out;
  int failures = compare_time(*program, folder, folder + "/tree", out);
  fmt::print("on the part of the tree that both read:\n");
  link_compact(folder + "/tree", folder + "/compact");
  std::string ignored;
  failures += compare_time(*program, folder, folder + "/compact", ignored);
  if (out.empty()) {
    fmt::print("ccusage: {} or daybook could not be run\n", *program);
    return 1;
  }
  failures += compare_tree_totals(folder, tree, out);
  return failures + compare_fixtures(*program, folder);
}

int measure_passes(const std::string& folder) {
  const std::string logs = folder + "/tree";
  std::vector<double> costs;
  std::vector<double> passes;
  double peak = 0;
  for (int i = 0; i < kRuns; ++i) {
    const ProgramRun cost = run_program(folder, {daybook(), "cost", "--json", logs});
    const ProgramRun cache = run_program(folder, {daybook(), "cache", "--json", logs});
    if (!cost.good || !cache.good) return 1;
    costs.push_back(cost.took_ms);
    passes.push_back(cache.took_ms);
    peak = std::max(peak, cache.peak_mib);
  }
  fmt::print("daybook cache PATH: median {:.0f} ms, peak {:.0f} MiB\n", median(passes), peak);
  return report("daybook cache PATH as a multiple of daybook cost PATH",
                median(passes) / median(costs), 3, "times");
}

int measure_import(const std::string& folder, const LogTree& tree) {
  const std::string logs = folder + "/small";
  const std::string journal = folder + "/journal";
  std::vector<double> costs;
  for (int i = 0; i < kRuns; ++i) {
    costs.push_back(run_program(folder, {daybook(), "cost", "--json", logs}).took_ms);
  }
  const double cost = median(costs);
  const std::vector<std::string> command = {daybook(), "import",    logs,
                                            "--json",  "--journal", journal};
  const ProgramRun first = run_program(folder, command);
  const ProgramRun again = run_program(folder, command);
  const ProgramRun cache =
      run_program(folder, {daybook(), "cache", "--json", "--journal", journal});
  if (!first.good || !again.good || !cache.good) return 1;
  const double mib = static_cast<double>(tree.bytes) / 1048576;
  fmt::print(
      "daybook import of {:.0f} MiB: {:.1f} s, {:.0f} MiB/s, {:.1f} times the figures, peak "
      "{:.0f} MiB\n",
      mib, first.took_ms / 1e3, mib / first.took_ms * 1e3, first.took_ms / cost, first.peak_mib);
  fmt::print("the same again: {:.2f} s\n", again.took_ms / 1e3);
  fmt::print("daybook cache of that journal: {:.1f} s, {:.1f} times the figures, peak {:.0f} MiB\n",
             cache.took_ms / 1e3, cache.took_ms / cost, cache.peak_mib);
  return 0;
}

}  // namespace daybook::bench
