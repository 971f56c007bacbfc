// A folder with an executor of the file tools over it.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "executor/direct.h"
#include "executor/file_tools.h"
#include "schema/json.h"
#include "tests/support/temp_dir.h"

namespace daybook::executor {

inline Tools all_file_tools(const CommitHook& hook = {}) {
  Tools tools;
  tools.push_back(make_read_file());
  tools.push_back(make_list_files());
  tools.push_back(make_write_file(hook));
  tools.push_back(make_replace_in_file(hook));
  tools.push_back(make_apply_patch(hook));
  tools.push_back(make_apply_unified_diff(hook));
  return tools;
}

class Workspace {
 public:
  explicit Workspace(const CommitHook& hook = {})
      : executor_(make_direct_executor(all_file_tools(hook), {})) {
    policy.roots = {{dir.str(), true}};
  }

  ToolRequest request(const std::string& tool, const Json& arguments) const {
    return {"s1", "c1", 1, tool, dump_json(arguments), policy};
  }

  Result<Plan> plan(const std::string& tool, const Json& arguments) {
    return executor_->plan(request(tool, arguments));
  }

  /// Plans and runs; a refused plan gives an outcome with the plan's error.
  Outcome call(const std::string& tool, const Json& arguments) {
    const ToolRequest made = request(tool, arguments);
    const Result<Plan> planned = executor_->plan(made);
    if (!planned) {
      Outcome refused;
      refused.is_error = true;
      refused.receipt.error = planned.error().message;
      refused.receipt.exit = schema::ExitKind::not_run;
      return refused;
    }
    return executor_->run(made, *planned, {}, {});
  }

  Json ok(const std::string& tool, const Json& arguments) {
    const Outcome outcome = call(tool, arguments);
    INFO(outcome.receipt.error);
    REQUIRE_FALSE(outcome.is_error);
    return *parse_json(outcome.result);
  }

  std::string error(const std::string& tool, const Json& arguments) {
    const Outcome outcome = call(tool, arguments);
    REQUIRE(outcome.is_error);
    return outcome.receipt.error;
  }

  void put(const std::string& path, const std::string& bytes) const {
    std::filesystem::create_directories((dir.path() / path).parent_path());
    tests::write_file(dir.path() / path, bytes);
  }
  std::string get(const std::string& path) const { return tests::read_file(dir.path() / path); }
  bool has(const std::string& path) const { return std::filesystem::exists(dir.path() / path); }

  /// Every file with its bytes, links and leftovers included.
  std::map<std::string, std::string> tree() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir.path())) {
      const std::string name = entry.path().lexically_relative(dir.path()).string();
      files[name] = entry.is_regular_file() ? tests::read_file(entry.path()) : "(no file)";
    }
    return files;
  }

  Executor& executor() { return *executor_; }

  tests::TempDir dir;
  Policy policy{1, {}};

 private:
  std::unique_ptr<Executor> executor_;
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace daybook::executor
