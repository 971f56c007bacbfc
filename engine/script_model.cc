#include "engine/script_model.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/nearest.h"
#include "schema/json.h"

namespace daybook::engine {
namespace {

using schema::FailureKind;
using schema::StopReason;

constexpr std::pair<std::string_view, StopReason> kStops[] = {
    {"end", StopReason::end},
    {"tool_calls", StopReason::tool_calls},
    {"output_limit", StopReason::output_limit},
    {"refusal", StopReason::refusal},
    {"content_filter", StopReason::content_filter},
};

constexpr std::pair<std::string_view, FailureKind> kFailures[] = {
    {"retryable_status", FailureKind::retryable_status},
    {"connection", FailureKind::connection},
    {"stream_cut", FailureKind::stream_cut},
    {"bad_response", FailureKind::bad_response},
    {"permanent", FailureKind::permanent},
    {"authentication", FailureKind::authentication},
    {"context_overflow", FailureKind::context_overflow},
};

/// Reads one scenario file; the first mistake stops it, with its place.
class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  Result<Scenario> scenario(const toml::table& root);

 private:
  tl::unexpected<Error> wrong(const toml::node& node, std::string_view what) const {
    const auto at = node.source().begin;
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}:{}:{}: {}", file_, at.line, at.column, what));
  }
  Result<void> only(const toml::table& table, std::initializer_list<std::string_view> known) const;
  Result<std::string> text(const toml::table& table, std::string_view key) const;
  Result<std::int64_t> number(const toml::table& table, std::string_view key,
                              std::int64_t otherwise) const;
  template <class T, std::size_t N>
  Result<T> one_of(const toml::table& table, std::string_view key,
                   const std::pair<std::string_view, T> (&names)[N], T otherwise) const;
  Result<ScriptStep> response(const toml::table& table) const;
  Result<void> steps(const toml::table& root, std::string_view key,
                     std::vector<ScriptStep>& to) const;
  Result<void> calls(const toml::table& table, Reply& reply) const;
  Result<Block> call(const toml::table& table) const;
  Result<void> usage(const toml::table& table, Usage& usage) const;
  Result<void> failure(const toml::table& table, ScriptStep& step) const;

  std::string_view file_;
};

Result<void> Reader::only(const toml::table& table,
                          std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}:{}:{}: unknown key '{}'{}", file_, key.source().begin.line,
                            key.source().begin.column, key.str(), suggestion(key.str(), names)));
  }
  return {};
}

Result<std::string> Reader::text(const toml::table& table, std::string_view key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::string();
  if (const auto value = node->value_exact<std::string>()) return *value;
  return wrong(*node, fmt::format("'{}' must be a string", key));
}

Result<std::int64_t> Reader::number(const toml::table& table, std::string_view key,
                                    std::int64_t otherwise) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return otherwise;
  const auto value = node->value_exact<std::int64_t>();
  if (value && *value >= 0) return *value;
  return wrong(*node, fmt::format("'{}' must be a whole number, 0 or more", key));
}

template <class T, std::size_t N>
Result<T> Reader::one_of(const toml::table& table, std::string_view key,
                         const std::pair<std::string_view, T> (&names)[N], T otherwise) const {
  auto name = text(table, key);
  if (!name) return fail(std::move(name.error()));
  if (name->empty()) return otherwise;
  std::string known;
  for (const auto& [each, value] : names) {
    if (each == *name) return value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", each);
  }
  return wrong(*table.get(key), fmt::format("'{}' must be one of {}", key, known));
}

Result<Block> Reader::call(const toml::table& table) const {
  DAYBOOK_TRY(only(table, {"tool", "arguments"}));
  Block block;
  block.kind = schema::BlockKind::tool_call;
  auto tool = text(table, "tool");
  if (!tool) return fail(std::move(tool.error()));
  if (tool->empty()) return wrong(table, "a call needs 'tool'");
  block.tool = std::move(*tool);
  const toml::node* arguments = table.get("arguments");
  if (arguments == nullptr) {
    block.text = "{}";
  } else if (const auto raw = arguments->value_exact<std::string>()) {
    // A string stands for the bytes a model sent, right or wrong.
    block.text = *raw;
    auto parsed = parse_json(block.text);
    if (!parsed || !parsed->is_object()) {
      block.arguments_state = schema::ArgumentsState::malformed;
      block.arguments_error = parsed ? "not an object" : parsed.error().message;
    }
  } else if (const auto* object = arguments->as_table()) {
    std::ostringstream json;
    json << toml::json_formatter(*object);
    auto parsed = parse_json(json.str());
    if (!parsed) return wrong(*arguments, parsed.error().message);
    block.text = dump_json(*parsed);
  } else {
    return wrong(*arguments, "'arguments' must be a table, or a string holding JSON");
  }
  return block;
}

Result<void> Reader::calls(const toml::table& table, Reply& reply) const {
  const toml::node* node = table.get("call");
  if (node == nullptr) return {};
  const toml::array* array = node->as_array();
  if (array == nullptr) return wrong(*node, "write calls as [[response.call]]");
  for (const auto& each : *array) {
    if (!each.is_table()) return wrong(each, "write calls as [[response.call]]");
    auto block = call(*each.as_table());
    if (!block) return fail(std::move(block.error()));
    if (reply.stop == StopReason::output_limit &&
        block->arguments_state == schema::ArgumentsState::malformed) {
      block->arguments_state = schema::ArgumentsState::cut;
    }
    block->provider_call_id = fmt::format("script-{}", reply.blocks.size());
    reply.blocks.push_back(std::move(*block));
  }
  return {};
}

Result<void> Reader::usage(const toml::table& table, Usage& usage) const {
  const toml::node* node = table.get("usage");
  if (node == nullptr) return {};
  const toml::table* fields = node->as_table();
  if (fields == nullptr) return wrong(*node, "'usage' must be a table");
  DAYBOOK_TRY(only(*fields, {"input", "output", "cache_read", "cache_write"}));
  const auto read = [&](std::string_view key, std::optional<std::uint64_t>& to) -> Result<void> {
    if (fields->get(key) == nullptr) return {};
    auto value = number(*fields, key, 0);
    if (!value) return fail(std::move(value.error()));
    to = static_cast<std::uint64_t>(*value);
    return {};
  };
  DAYBOOK_TRY(read("input", usage.input_total));
  DAYBOOK_TRY(read("output", usage.output));
  DAYBOOK_TRY(read("cache_read", usage.cache_read));
  DAYBOOK_TRY(read("cache_write", usage.cache_write));
  return {};
}

Result<void> Reader::failure(const toml::table& table, ScriptStep& step) const {
  const toml::node* node = table.get("fail");
  if (node == nullptr) return {};
  const toml::table* fields = node->as_table();
  if (fields == nullptr) return wrong(*node, "'fail' must be a table");
  DAYBOOK_TRY(only(*fields, {"kind", "status", "message", "times", "retry_after_ms"}));
  Failure failure;
  auto kind = one_of(*fields, "kind", kFailures, FailureKind::permanent);
  if (!kind) return fail(std::move(kind.error()));
  auto status = number(*fields, "status", 0);
  auto times = number(*fields, "times", 1);
  auto wait = number(*fields, "retry_after_ms", 0);
  auto message = text(*fields, "message");
  for (auto* each : {&status, &times, &wait}) {
    if (!*each) return fail(std::move(each->error()));
  }
  if (!message) return fail(std::move(message.error()));
  failure.kind = *kind;
  failure.http_status = static_cast<int>(*status);
  failure.message = message->empty() ? "the scenario says so" : std::move(*message);
  failure.retry_after_ms = *wait;
  step.failure = std::move(failure);
  step.failures = static_cast<std::uint32_t>(*times);
  return {};
}

bool has_calls(const toml::table& table) {
  const toml::node* node = table.get("call");
  return node != nullptr && (!node->is_array() || !node->as_array()->empty());
}

Result<ScriptStep> Reader::response(const toml::table& table) const {
  DAYBOOK_TRY(only(table, {"reasoning", "text", "call", "stop", "usage", "fail"}));
  ScriptStep step;
  auto reasoning = text(table, "reasoning");
  if (!reasoning) return fail(std::move(reasoning.error()));
  if (!reasoning->empty()) {
    Block block;
    block.kind = schema::BlockKind::reasoning;
    block.text = std::move(*reasoning);
    block.field = "reasoning";
    step.reply.blocks.push_back(std::move(block));
  }
  auto spoken = text(table, "text");
  if (!spoken) return fail(std::move(spoken.error()));
  const bool speaks = !spoken->empty();
  if (speaks) {
    Block block;
    block.text = std::move(*spoken);
    step.reply.blocks.push_back(std::move(block));
  }
  const auto natural = has_calls(table) ? StopReason::tool_calls : StopReason::end;
  auto stop = one_of(table, "stop", kStops, natural);
  if (!stop) return fail(std::move(stop.error()));
  step.reply.stop = *stop;
  if (*stop == StopReason::tool_calls && !has_calls(table)) {
    return wrong(*table.get("stop"), "'stop' is \"tool_calls\", but there is no [[response.call]]");
  }
  if (*stop == StopReason::end && has_calls(table)) {
    return wrong(*table.get("stop"), "'stop' is \"end\", but there is a [[response.call]]");
  }
  if (!speaks && !has_calls(table) && *stop == StopReason::end && table.get("fail") == nullptr) {
    return wrong(table, "a response needs 'text' or a [[response.call]]");
  }
  DAYBOOK_TRY(calls(table, step.reply));
  DAYBOOK_TRY(usage(table, step.reply.usage));
  DAYBOOK_TRY(failure(table, step));
  step.reply.served_model = "script";
  return step;
}

Result<void> Reader::steps(const toml::table& root, std::string_view key,
                           std::vector<ScriptStep>& to) const {
  const toml::node* node = root.get(key);
  if (node == nullptr) return {};
  const toml::array* array = node->as_array();
  if (array == nullptr) return wrong(*node, fmt::format("write it as [[{}]]", key));
  for (const auto& each : *array) {
    if (!each.is_table()) return wrong(each, fmt::format("write it as [[{}]]", key));
    auto step = response(*each.as_table());
    if (!step) return fail(std::move(step.error()));
    to.push_back(std::move(*step));
  }
  return {};
}

Result<Scenario> Reader::scenario(const toml::table& root) {
  DAYBOOK_TRY(only(root, {"title", "response", "summary"}));
  Scenario scenario;
  DAYBOOK_TRY(steps(root, "response", scenario.steps));
  DAYBOOK_TRY(steps(root, "summary", scenario.summaries));
  // A replay asks for summaries alone.
  if (scenario.steps.empty() && scenario.summaries.empty()) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("{}:1:1: a scenario needs at least one [[response]] or [[summary]]", file_));
  }
  return scenario;
}

class ScriptModel : public Model {
 public:
  ScriptModel(Scenario scenario, Clock& clock) : scenario_(std::move(scenario)), clock_(clock) {}

  void call(ModelCall call, DeltaSink sink, std::function<void(ModelOutcome)> done) override {
    ModelOutcome outcome;
    outcome.started_at_ns = outcome.first_byte_at_ns = outcome.ended_at_ns = clock_.utc_ns();
    outcome.reply = reply_to(call);
    if (outcome.reply) {
      for (const Block& block : outcome.reply->blocks) {
        if (block.kind != schema::BlockKind::tool_call) sink({block.kind, block.text});
      }
    }
    done(std::move(outcome));
  }

  void cancel() override {}

 private:
  tl::expected<Reply, Failure> reply_to(const ModelCall& call) {
    const auto& steps = call.summary ? scenario_.summaries : scenario_.steps;
    if (call.request == 0 || call.request > steps.size()) {
      return tl::unexpected(
          Failure{FailureKind::permanent,
                  0,
                  fmt::format("the scenario ends after {} {}, there is none for request {}",
                              call.summary ? "summary" : "response", steps.size(), call.request),
                  "",
                  {},
                  {}});
    }
    const ScriptStep& step = steps[call.request - 1];
    if (!step.failure || call.attempt > step.failures) return step.reply;
    // A compaction that was given up begins anew with the same summary: its attempts go on.
    if (call.summary && summary_failures_[call.request]++ >= step.failures) return step.reply;
    return tl::unexpected(*step.failure);
  }

  Scenario scenario_;
  Clock& clock_;
  std::map<std::uint32_t, std::uint32_t> summary_failures_;  // given, by number of the summary
};

}  // namespace

Result<Scenario> parse_scenario(std::string_view toml, std::string_view file_name) {
  try {
    return Reader(file_name).scenario(toml::parse(toml, file_name));
  } catch (const toml::parse_error& error) {
    const auto at = error.source().begin;
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}:{}:{}: {}", file_name, at.line, at.column, error.description()));
  }
}

Result<Scenario> load_scenario(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the scenario '{}' is a folder; give the path of a file", path));
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  if (!file) {
    const int number = errno;
    return fail(number == EACCES ? ErrorCode::permission : ErrorCode::not_found,
                fmt::format("cannot read the scenario file '{}': {}; give a file that you may read",
                            path, std::strerror(number)));
  }
  return parse_scenario(bytes.str(), path);
}

std::unique_ptr<Model> make_script_model(Scenario scenario, Clock& clock) {
  return std::make_unique<ScriptModel>(std::move(scenario), clock);
}

}  // namespace daybook::engine
