// git_status, git_diff, git_log: read-only, and never running a program that a repository names.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

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
constexpr std::int64_t kLogTimeoutMs = 15'000;
constexpr std::size_t kClipChars = 20'000;
constexpr std::size_t kErrorChars = 300;
constexpr std::int64_t kMaxCommits = 200;

using Setting = std::pair<std::string, std::string>;

/// Settings that name programs, or make git start one, switched off whoever set them.
std::vector<Setting> safe_settings() {
  return {{"core.fsmonitor", "false"},
          {"core.hooksPath", "/dev/null"},
          {"core.pager", "cat"},
          {"core.sshCommand", "false"},
          {"core.askPass", "false"},
          {"core.gitProxy", ""},
          {"credential.helper", ""},
          {"diff.external", ""},
          {"log.showSignature", "false"},
          {"gpg.program", "false"},
          {"diff.submodule", "short"},
          {"status.submoduleSummary", "false"},
          {"submodule.recurse", "false"},
          {"color.ui", "false"},
          {"core.alternateRefsCommand", "false"}};
}

void add_settings(std::vector<std::string>& env, const std::vector<Setting>& settings) {
  env.push_back("GIT_CONFIG_COUNT=" + std::to_string(settings.size()));
  for (std::size_t i = 0; i < settings.size(); ++i) {
    env.push_back("GIT_CONFIG_KEY_" + std::to_string(i) + "=" + settings[i].first);
    env.push_back("GIT_CONFIG_VALUE_" + std::to_string(i) + "=" + settings[i].second);
  }
}

std::vector<std::string> git_environment(const std::vector<std::string>& command_env) {
  std::vector<std::string> env;
  std::copy_if(command_env.begin(), command_env.end(), std::back_inserter(env),
               [](const std::string& entry) {
                 return !entry.starts_with("GIT_") && !entry.starts_with("LC_ALL=") &&
                        !entry.starts_with("LANGUAGE=") && !entry.starts_with("SSH_ASKPASS=");
               });
  // The empty protocol list and the lazy-fetch switch keep a partial clone from fetching, which
  // runs a program that the remote's settings name.
  for (const char* entry :
       {"GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat", "GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_NOSYSTEM=1",
        "GIT_LITERAL_PATHSPECS=1", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",
        "GIT_ATTR_NOSYSTEM=1", "LC_ALL=C.UTF-8"}) {
    env.emplace_back(entry);
  }
  return env;
}

/// Names of the filters that the repository itself defines, from `git config --list -z
/// --show-scope`: scope, NUL, key, newline, value, NUL.
std::set<std::string> repository_filters(std::string_view listing) {
  std::set<std::string> names;
  while (!listing.empty()) {
    const std::string_view scope = listing.substr(0, listing.find('\0'));
    listing.remove_prefix(std::min(scope.size() + 1, listing.size()));
    const std::string_view entry = listing.substr(0, listing.find('\0'));
    listing.remove_prefix(std::min(entry.size() + 1, listing.size()));
    const std::string_view key = entry.substr(0, entry.find('\n'));
    if (scope == "global" || scope == "system" || !key.starts_with("filter.")) continue;
    const std::size_t dot = key.rfind('.');
    if (dot > 7) names.emplace(key.substr(7, dot - 7));
  }
  return names;
}

/// Runs git in the workspace.
class Git {
 public:
  Git() : environment_(process_environment()), mask_(environment_) {
    base_env_ = git_environment(command_environment(environment_));
  }

  ProcessResult run(const ToolRequest& request, std::vector<std::string> arguments,
                    std::int64_t timeout_ms, const std::stop_token& stop) const {
    if (request.policy.roots.empty()) {
      return failed("the session has no folder; add one to its policy");
    }
    const Opened root = open_root(request.policy.roots[0]);
    if (!root) return failed(path_error(root.error(), request.policy.roots[0].path).message);
    ProcessSpec spec;
    spec.cwd_fd = root->get();
    spec.timeout_ms = timeout_ms;
    spec.mask = &mask_;
    spec.limits = {1U << 20, 0, 0};
    std::vector<Setting> settings = safe_settings();
    spec.env = base_env_;
    add_settings(spec.env, settings);
    spec.argv = {"git", "--no-pager", "config", "--list", "-z", "--show-scope", "--includes"};
    ProcessResult config = run_process(spec, {}, stop);
    if (config.exit != ExitKind::exited) return config;
    if (config.out.dropped > 0) return failed("the repository's settings are too long to check");
    // A filter set up by the person stays (large-file storage is one); the repository's do not.
    for (const std::string& name : repository_filters(config.out.head)) {
      for (const char* part : {".clean", ".smudge", ".process"}) {
        settings.emplace_back("filter." + name + part, "");
      }
      settings.emplace_back("filter." + name + ".required", "false");
    }
    spec.env = base_env_;
    add_settings(spec.env, settings);
    spec.argv = {"git", "--no-pager"};
    spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
    return run_process(spec, {}, stop);
  }

 private:
  static ProcessResult failed(std::string message) {
    ProcessResult result;
    result.exit = ExitKind::spawn_failed;
    result.error = std::move(message);
    return result;
  }

  std::vector<std::string> environment_;
  SecretMask mask_;
  std::vector<std::string> base_env_;
};

std::string error_text(const ProcessResult& result) {
  if (result.exit == ExitKind::timed_out) return "git was ended: it took too long";
  if (result.exit == ExitKind::user_stop) return "git was stopped";
  return result.error;
}

Result<std::string> optional_path(const ToolRequest& request, const Json& arguments) {
  const std::string path = json_text(arguments, "path");
  if (path.empty()) return std::string();
  auto where = locate(request.policy, path, Access::read);
  if (!where) return fail(where.error());
  return where->shown;
}

class GitTool : public Tool {
 public:
  GitTool(std::string name, std::string description, std::string parameters) {
    spec_.name = std::move(name);
    spec_.description = std::move(description);
    spec_.parameters = std::move(parameters);
    spec_.risk = Risk::read;
    spec_.effect = schema::Effect::read_only;
  }
  const ToolSpec& spec() const override { return spec_; }

  Result<Plan> plan(const ToolRequest& request, const Json& arguments) override {
    DAYBOOK_TRY(command(request, arguments));
    return no_changes(request.policy);
  }

  Outcome run(const ToolRequest& request, const Json& arguments, const Plan&, const OutputSink&,
              std::stop_token stop) override {
    const auto arguments_of_git = command(request, arguments);
    if (!arguments_of_git) return failure(arguments_of_git.error(), ExitKind::not_run);
    const ProcessResult result = git_.run(request, *arguments_of_git, timeout_ms(), stop);
    Outcome outcome;
    describe(result, outcome.receipt);
    report(*arguments_of_git, result, outcome);
    return outcome;
  }

 protected:
  /// git's arguments, or what is wrong with the call.
  virtual Result<std::vector<std::string>> command(const ToolRequest& request,
                                                   const Json& arguments) const = 0;
  virtual std::int64_t timeout_ms() const { return kTimeoutMs; }

  virtual void report(const std::vector<std::string>& arguments, const ProcessResult& result,
                      Outcome& outcome) const {
    std::string shown = "git";
    for (const std::string& argument : arguments) shown += " " + argument;
    const std::string out = result.out.text();
    const std::string err = result.err.text();
    const std::string out_clip = first_chars(repair_utf8(result.out.head), kClipChars);
    const std::string err_clip = first_chars(repair_utf8(result.err.head), kClipChars);
    Json json{{"command", shown},
              {"exit_code", nullptr},
              {"stdout", out_clip},
              {"stderr", err_clip},
              {"truncated", out_clip.size() < out.size() || err_clip.size() < err.size()}};
    if (result.exit == ExitKind::exited) json["exit_code"] = result.code;
    const std::string error = error_text(result);
    if (!error.empty()) json["error"] = error;
    outcome.result = dump_json(json);
    outcome.is_error = result.exit != ExitKind::exited;
  }

 private:
  ToolSpec spec_;
  Git git_;
};

class GitStatus final : public GitTool {
 public:
  GitStatus()
      : GitTool("git_status", "Shows the branch and the changed files of the workspace.",
                R"({"type":"object","properties":{}})") {}

 private:
  Result<std::vector<std::string>> command(const ToolRequest&, const Json&) const override {
    // Looking into a submodule starts a git that obeys the submodule's own settings.
    return std::vector<std::string>{"status", "--short", "--branch", "--ignore-submodules=dirty"};
  }
};

class GitDiff final : public GitTool {
 public:
  GitDiff()
      : GitTool("git_diff", "Shows changes of the workspace that are not committed yet.",
                R"({"type":"object","properties":{)"
                R"("path":{"type":"string","description":"only this file or folder"},)"
                R"("staged":{"type":"boolean","description":"what is staged instead"}}})") {}

 private:
  Result<std::vector<std::string>> command(const ToolRequest& request,
                                           const Json& arguments) const override {
    std::vector<std::string> made = {"diff", "--no-ext-diff", "--no-textconv",
                                     "--ignore-submodules=dirty", "--submodule=short"};
    if (arguments.value("staged", false)) made.emplace_back("--staged");
    const auto path = optional_path(request, arguments);
    if (!path) return fail(path.error());
    made.emplace_back("--");
    if (!path->empty()) made.push_back(*path);
    return made;
  }
};

class GitLog final : public GitTool {
 public:
  GitLog()
      : GitTool("git_log", "Lists commits, newest first.",
                R"({"type":"object","properties":{)"
                R"("path":{"type":"string","description":"only commits that changed it"},)"
                R"("max_count":{"type":"integer","minimum":1,"default":20,)"
                R"("description":"at most 200"}}})") {}

 private:
  std::int64_t timeout_ms() const override { return kLogTimeoutMs; }

  Result<std::vector<std::string>> command(const ToolRequest& request,
                                           const Json& arguments) const override {
    const auto count =
        std::min<std::int64_t>(arguments.at("max_count").get<std::int64_t>(), kMaxCommits);
    const auto path = optional_path(request, arguments);
    if (!path) return fail(path.error());
    std::vector<std::string> made = {"log",
                                     "--no-show-signature",
                                     "--no-ext-diff",
                                     "--no-textconv",
                                     "--no-patch",
                                     "--date=iso-strict",
                                     "-z",
                                     "--format=%H%x1f%an%x1f%ad%x1f%s",
                                     "--max-count=" + std::to_string(count),
                                     "--"};
    if (!path->empty()) made.push_back(*path);
    return made;
  }

  static Json parse_commits(std::string_view text) {
    Json commits = Json::array();
    while (!text.empty()) {
      std::string_view record = text.substr(0, text.find('\0'));
      text.remove_prefix(std::min(record.size() + 1, text.size()));
      Json commit = Json::object();
      for (const char* name : {"hash", "author", "date"}) {
        const std::string_view field = record.substr(0, record.find('\x1f'));
        commit[name] = repair_utf8(field);
        record.remove_prefix(std::min(field.size() + 1, record.size()));
      }
      commit["subject"] = repair_utf8(record);
      commits.push_back(std::move(commit));
    }
    return commits;
  }

  void report(const std::vector<std::string>&, const ProcessResult& result,
              Outcome& outcome) const override {
    if (result.exit == ExitKind::exited && result.code == 0) {
      Json commits = parse_commits(result.out.head);
      outcome.result = dump_json(Json{{"count", commits.size()}, {"commits", std::move(commits)}});
      return;
    }
    std::string error = error_text(result);
    if (error.empty()) error = repair_utf8(result.err.head);
    outcome.result = dump_json(Json{{"error", first_chars(error, kErrorChars)}});
    outcome.is_error = true;
  }
};

}  // namespace

Tools make_git_tools() {
  Tools tools;
  tools.push_back(std::make_unique<GitStatus>());
  tools.push_back(std::make_unique<GitDiff>());
  tools.push_back(std::make_unique<GitLog>());
  return tools;
}

}  // namespace daybook::executor
