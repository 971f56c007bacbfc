// grep: ripgrep below a folder of the policy.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "executor/outcome.h"
#include "executor/paths.h"
#include "executor/process.h"
#include "executor/process_env.h"
#include "executor/process_receipt.h"
#include "executor/secrets.h"
#include "executor/tool.h"
#include "schema/utf8.h"

namespace daybook::executor {
namespace {

using schema::ExitKind;

constexpr std::int64_t kTimeoutMs = 30'000;
constexpr std::int64_t kMaxResults = 1000;
constexpr std::size_t kTextChars = 300;
constexpr std::size_t kErrorChars = 300;
constexpr std::size_t kErrorBytes = 4096;
constexpr std::size_t kLongestRecord = 16U << 20;
constexpr const char* kSkipped[] = {".git",        ".venv",       "__pycache__",  ".pytest_cache",
                                    ".mypy_cache", ".ruff_cache", "node_modules", "dist",
                                    "build",       "Library",     "AppData"};

struct Query {
  std::string pattern;
  Location where;
  std::string glob;
  std::size_t max_results = 0;
};

Result<Query> parse_query(const ToolRequest& request, const Json& arguments) {
  Query query;
  query.pattern = json_text(arguments, "pattern");
  query.glob = json_text(arguments, "glob");
  if (query.pattern.empty()) return fail(ErrorCode::invalid_argument, "the pattern is empty");
  if (query.pattern.find('\0') != std::string::npos || query.glob.find('\0') != std::string::npos) {
    return fail(ErrorCode::invalid_argument, "the pattern or glob holds a NUL byte; remove it");
  }
  auto where = locate(request.policy, json_text(arguments, "path"), Access::read);
  if (!where) return fail(where.error());
  query.where = std::move(*where);
  query.max_results = static_cast<std::size_t>(
      std::min<std::int64_t>(arguments.at("max_results").get<std::int64_t>(), kMaxResults));
  return query;
}

std::string decode_base64(std::string_view text) {
  std::string out;
  unsigned bits = 0;
  int count = 0;
  for (const char c : text) {
    unsigned value = 0;
    if (c >= 'A' && c <= 'Z')
      value = static_cast<unsigned>(c - 'A');
    else if (c >= 'a' && c <= 'z')
      value = static_cast<unsigned>(c - 'a') + 26;
    else if (c >= '0' && c <= '9')
      value = static_cast<unsigned>(c - '0') + 52;
    else if (c == '+')
      value = 62;
    else if (c == '/')
      value = 63;
    else
      break;
    bits = (bits << 6 | value) & 0xffffff;
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>(bits >> count & 0xff);
    }
  }
  return out;
}

/// ripgrep writes what is not UTF-8 as {"bytes": base64}.
std::string text_or_bytes(const Json& value) {
  if (const auto text = value.find("text"); text != value.end()) return text->get<std::string>();
  return repair_utf8(decode_base64(json_text(value, "bytes")));
}

/// Collects matches from ripgrep's output as it comes, and says when there are enough.
class Matches {
 public:
  Matches(const Query& query, bool one_file, const SecretMask& mask)
      : query_(query), one_file_(one_file), mask_(mask) {}

  /// Whether there is one more than wanted.
  bool add(std::string_view bytes) {
    while (!bytes.empty() && !cut_) {
      const std::size_t end = bytes.find('\n');
      if (!skipping_) record_.append(bytes.substr(0, end));
      if (record_.size() > kLongestRecord) {
        skipping_ = true;
        ++skipped_;
        record_.clear();
      }
      if (end == std::string_view::npos) break;
      if (!skipping_) take(record_);
      skipping_ = false;
      record_.clear();
      bytes.remove_prefix(end + 1);
    }
    return cut_;
  }

  bool cut() const { return cut_; }
  std::size_t size() const { return found_.size(); }
  std::size_t skipped() const { return skipped_; }
  Json take_found() { return std::move(found_); }

 private:
  void take(std::string_view line) {
    const auto record = parse_json(line);
    if (!record || json_text(*record, "type") != "match") return;
    if (found_.size() == query_.max_results) {
      cut_ = true;
      return;
    }
    const Json& data = record->at("data");
    std::string text = text_or_bytes(data.at("lines"));
    text.resize(text.find_last_not_of("\r\n") + 1);
    found_.push_back({{"file", shown(text_or_bytes(data.at("path")))},
                      {"line", data.at("line_number")},
                      {"text", first_chars(mask_.masked(text), kTextChars)}});
  }

  std::string shown(std::string path) const {
    if (one_file_) return query_.where.shown;
    if (path.starts_with("./")) path.erase(0, 2);
    return query_.where.shown == "." ? path : query_.where.shown + "/" + path;
  }

  const Query& query_;
  const bool one_file_;
  const SecretMask& mask_;
  std::string record_;
  bool cut_ = false;
  bool skipping_ = false;
  std::size_t skipped_ = 0;
  Json found_ = Json::array();
};

class Grep final : public Tool {
 public:
  Grep() : environment_(process_environment()), mask_(environment_) {
    spec_.name = "grep";
    spec_.description =
        "Searches files for a regular expression (ripgrep syntax), sorted by path. Files that "
        ".gitignore names, hidden files and build folders are left out.";
    spec_.parameters =
        R"({"type":"object","properties":{)"
        R"("pattern":{"type":"string","description":"regular expression"},)"
        R"("path":{"type":"string","default":".","description":"file or folder"},)"
        R"("glob":{"type":"string","description":"only files that match, e.g. *.cc"},)"
        R"("max_results":{"type":"integer","minimum":1,"default":100,)"
        R"("description":"at most 1000"}},)"
        R"("required":["pattern"]})";
    spec_.risk = Risk::read;
    spec_.effect = schema::Effect::read_only;
  }

  const ToolSpec& spec() const override { return spec_; }

  Result<Plan> plan(const ToolRequest& request, const Json& arguments) override {
    DAYBOOK_TRY(parse_query(request, arguments));
    return no_changes(request.policy);
  }

  Outcome run(const ToolRequest& request, const Json& arguments, const Plan&, const OutputSink&,
              std::stop_token stop) override {
    const auto query = parse_query(request, arguments);
    if (!query) return failure(query.error(), ExitKind::not_run);
    // The descriptor, not the path, is searched: a link put there meanwhile leads nowhere.
    const auto target = open_located(request.policy, query->where, O_RDONLY | O_NONBLOCK);
    if (!target) return failure(target.error(), ExitKind::not_run);
    struct stat status {};
    if (::fstat(target->get(), &status) != 0 ||
        !(S_ISDIR(status.st_mode) || S_ISREG(status.st_mode))) {
      return failure({ErrorCode::invalid_argument,
                      query->where.shown + " is neither a file nor a folder; name one"},
                     ExitKind::not_run);
    }
    const auto root = open_root(request.policy.roots[0]);
    if (!root)
      return failure(path_error(root.error(), request.policy.roots[0].path), ExitKind::not_run);
    const bool one_file = S_ISREG(status.st_mode);
    ProcessSpec spec = command(*query, one_file);
    spec.cwd_fd = one_file ? root->get() : target->get();
    if (one_file) spec.stdin_fd = target->get();
    return search(*query, spec, one_file, stop);
  }

 private:
  ProcessSpec command(const Query& query, bool one_file) const {
    ProcessSpec spec;
    spec.argv = {"rg",          "--json",      "--no-config",
                 "--sort=path", "--no-follow", "--regexp=" + query.pattern};
    if (!one_file) {
      if (!query.glob.empty()) spec.argv.push_back("--glob=" + query.glob);
      // The last glob that matches decides, so that none of these can be asked for.
      for (const char* name : kSkipped) spec.argv.push_back(std::string("--glob=!") + name);
    }
    spec.argv.emplace_back("--");
    spec.argv.emplace_back(one_file ? "-" : "./");
    spec.env = command_environment(environment_);
    spec.timeout_ms = kTimeoutMs;
    spec.live_stderr = false;
    spec.limits = {kErrorBytes, 0, std::numeric_limits<std::size_t>::max()};
    return spec;
  }

  Outcome search(const Query& query, const ProcessSpec& spec, bool one_file,
                 const std::stop_token& stop) const {
    Matches matches(query, one_file, mask_);
    std::stop_source enough;
    const std::stop_callback pass(stop, [&] { enough.request_stop(); });
    const ProcessResult result = run_process(
        spec,
        [&](std::string_view bytes) {
          if (matches.add(bytes)) enough.request_stop();
        },
        enough.get_token());
    Outcome outcome;
    describe(result, outcome.receipt);
    std::string problem;
    if (result.error.find("not in PATH") != std::string::npos) {
      problem = "ripgrep is not installed; install the Debian package ripgrep";
    } else if (stop.stop_requested()) {
      outcome.receipt.exit = ExitKind::user_stop;
      problem = "the search was stopped";
    } else if (matches.cut()) {
      outcome.receipt.exit = ExitKind::exited;
      outcome.receipt.code = 0;
    } else if (result.exit == ExitKind::timed_out) {
      problem = "the search was ended after 30 seconds; narrow it with path or glob";
    } else if (result.exit != ExitKind::exited) {
      problem = result.error.empty() ? "ripgrep was killed" : result.error;
    } else if (result.code > 1) {
      problem = first_chars(mask_.masked(repair_utf8(result.err.head)), kErrorChars);
    }
    describe_matches(matches, problem, outcome);
    return outcome;
  }

  static void describe_matches(Matches& matches, const std::string& problem, Outcome& outcome) {
    outcome.receipt.error = problem;
    if (!problem.empty() && matches.size() == 0) {
      outcome.result = dump_json(Json{{"error", problem}});
      outcome.is_error = true;
      return;
    }
    Json json{{"engine", "ripgrep"}, {"count", matches.size()}, {"matches", nullptr}};
    std::string note = problem;
    const auto add = [&note](const std::string& more) {
      note += (note.empty() ? "" : "; ") + more;
    };
    if (matches.cut()) {
      add("only the first matches; narrow the search with path or glob, or raise max_results (at "
          "most 1000)");
    }
    if (matches.skipped() > 0) {
      add(std::to_string(matches.skipped()) + " matches in very long lines left out");
    }
    if (!note.empty()) json["note"] = note;
    json["matches"] = matches.take_found();
    outcome.result = dump_json(json);
  }

  std::vector<std::string> environment_;
  SecretMask mask_;
  ToolSpec spec_;
};

}  // namespace

Tools make_grep_tool() {
  Tools tools;
  tools.push_back(std::make_unique<Grep>());
  return tools;
}

}  // namespace daybook::executor
