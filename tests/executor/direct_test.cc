#include "executor/direct.h"

#include <set>
#include <thread>

#include "executor/arguments.h"
#include "tests/executor/workspace.h"

namespace daybook::executor {
namespace {

TEST_CASE("an unknown tool is refused with the known ones", "[executor][direct]") {
  Workspace ws;
  const Result<Plan> plan = ws.plan("rm", Json::object());
  REQUIRE_FALSE(plan);
  CHECK(plan.error().message ==
        "there is no tool 'rm'; the tools are: read_file, list_files, write_file, "
        "replace_in_file, apply_patch, apply_unified_diff");
  const Outcome outcome = ws.executor().run(ws.request("rm", Json::object()), {}, {}, {});
  CHECK(outcome.is_error);
  CHECK(outcome.receipt.exit == schema::ExitKind::not_run);
  CHECK(parse_json(outcome.result)->at("error") == plan.error().message);
}

TEST_CASE("arguments are checked against the schema", "[executor][direct]") {
  Workspace ws;
  CHECK(contains(ws.error("write_file", {{"path", "a"}}), "needs the argument 'content'"));
  CHECK(contains(ws.error("write_file", {{"path", nullptr}, {"content", ""}}), "'path'"));
  CHECK(contains(ws.error("write_file", {{"path", "a"}, {"content", 5}}), "type string"));
  CHECK(contains(ws.error("write_file", {{"path", "a"}, {"content", ""}, {"mode", 1}}),
                 "no argument 'mode'; it takes: path, content, overwrite"));
  CHECK(contains(ws.error("write_file", Json::array()), "JSON object"));
  ToolRequest broken = ws.request("write_file", Json::object());
  broken.arguments = R"({"path":"a","content":"\ud800"})";
  CHECK_FALSE(ws.executor().plan(broken));
  broken.arguments = "{";
  CHECK_FALSE(ws.executor().plan(broken));
  CHECK(ws.tree().empty());
}

TEST_CASE("the validator's subset of JSON schema", "[executor][direct]") {
  const Json schema = *parse_json(
      R"({"type":"object","required":["n"],"properties":{
          "n":{"type":"integer","minimum":2},"b":{"type":"boolean"},
          "e":{"type":"string","enum":["x","y"]},
          "d":{"type":"integer","minimum":1,"maximum":9,"default":7}}})");
  CHECK(*check_arguments("t", schema, {{"n", 3}}) == Json{{"n", 3}, {"d", 7}});
  CHECK(*check_arguments("t", schema, {{"n", "3"}, {"d", "bad"}}) == Json{{"n", 3}, {"d", 7}});
  CHECK(*check_arguments("t", schema, {{"n", 3.0}, {"d", 9}}) == Json{{"n", 3}, {"d", 9}});
  CHECK(*check_arguments("t", schema, {{"n", 3}, {"b", nullptr}}) == Json{{"n", 3}, {"d", 7}});
  for (const Json& wrong : {Json{{"n", 1}}, Json{{"n", 2.5}}, Json{{"n", "2x"}},
                            Json{{"n", UINT64_MAX}}, Json{{"n", 1e300}}, Json{{"n", true}},
                            Json{{"n", 2}, {"b", "true"}}, Json{{"n", 2}, {"e", "z"}}}) {
    INFO(wrong.dump());
    CHECK_FALSE(check_arguments("t", schema, wrong));
  }
  // A default is no licence to do something else than what was asked for.
  CHECK(check_arguments("t", schema, {{"n", 2}, {"d", 0}}).error().message ==
        "argument 'd' must be at least 1, not 0");
  CHECK(check_arguments("t", schema, {{"n", 2}, {"d", "10"}}).error().message ==
        "argument 'd' must be at most 9, not 10");
}

TEST_CASE("a receipt has times and the working folder", "[executor][direct]") {
  Workspace ws;
  const Outcome outcome = ws.call("write_file", {{"path", "a"}, {"content", "x"}});
  CHECK(outcome.receipt.started_at_ns > 1'600'000'000'000'000'000);
  CHECK(outcome.receipt.ended_at_ns >= outcome.receipt.started_at_ns);
  CHECK(outcome.receipt.duration_ns > 0);
  CHECK(outcome.receipt.cwd_before == ws.dir.str());
  CHECK(outcome.receipt.cwd_after == ws.dir.str());
  REQUIRE(outcome.receipt.files.size() == 1);
  CHECK(outcome.receipt.files[0].path == ws.dir.str("a"));
  CHECK(outcome.receipt.files[0].kind == schema::FileOpKind::create);
  CHECK_FALSE(outcome.receipt.files[0].before);
  CHECK(outcome.receipt.files[0].after == BlobRef::of("x"));
}

TEST_CASE("closing happens once", "[executor][direct]") {
  int closed = 0;
  {
    const auto executor = make_direct_executor({}, [&closed] { ++closed; });
    executor->close();
    executor->close();
    CHECK(closed == 1);
  }
  CHECK(closed == 1);
}

class Throws : public Tool {
 public:
  const ToolSpec& spec() const override { return spec_; }
  Result<Plan> plan(const ToolRequest&, const Json&) override { return Plan{}; }
  Outcome run(const ToolRequest&, const Json&, const Plan&, const OutputSink&,
              std::stop_token) override {
    throw std::runtime_error("broken");
  }

 private:
  ToolSpec spec_{"throws", "", R"({"type":"object"})", Risk::read, schema::Effect::read_only};
};

TEST_CASE("run never throws", "[executor][direct]") {
  Tools tools;
  tools.push_back(std::make_unique<Throws>());
  const auto executor = make_direct_executor(std::move(tools), {});
  ToolRequest request;
  request.tool = "throws";
  request.arguments = "{}";
  const Outcome outcome = executor->run(request, {}, {}, {});
  CHECK(outcome.is_error);
  CHECK(contains(outcome.receipt.error, "broken"));
}

TEST_CASE("specs are complete and writers say when to use them", "[executor][direct]") {
  Workspace ws;
  std::set<std::string> names;
  for (const ToolSpec& spec : ws.executor().tools()) {
    names.insert(spec.name);
    CHECK(parse_json(spec.parameters));
    const bool writer = spec.risk == Risk::write_local;
    CHECK((spec.effect == schema::Effect::checked) == writer);
    CHECK(spec.in_order == spec.name.starts_with("shell_task_"));
    if (writer) CHECK(contains(spec.description, "se it"));
  }
  CHECK(names.size() == 6);
}

TEST_CASE("reads run concurrently", "[executor][direct]") {
  Workspace ws;
  ws.put("a", "one\n");
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const ToolRequest request = ws.request("read_file", {{"path", "a"}});
      for (int k = 0; k < 50; ++k) {
        const Outcome outcome = ws.executor().run(request, {}, {}, {});
        right += contains(outcome.result, "1\\tone") ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 200);
}

TEST_CASE("a stopped call changes nothing and says so", "[executor][direct]") {
  Workspace ws;
  ws.put("a", "old");
  std::stop_source stop;
  stop.request_stop();
  const ToolRequest request = ws.request("write_file", {{"path", "a"}, {"content", "new"}});
  const Result<Plan> plan = ws.executor().plan(request);
  const Outcome outcome = ws.executor().run(request, *plan, {}, stop.get_token());
  CHECK(outcome.receipt.exit == schema::ExitKind::user_stop);
  CHECK(ws.get("a") == "old");
  const ToolRequest read = ws.request("read_file", {{"path", "a"}});
  CHECK(ws.executor().run(read, {}, {}, stop.get_token()).receipt.exit ==
        schema::ExitKind::user_stop);
}

}  // namespace
}  // namespace daybook::executor
