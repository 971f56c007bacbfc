#include "engine/clock_tool.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace daybook::engine {
namespace {

class CurrentTimeTool : public executor::Tool {
 public:
  explicit CurrentTimeTool(Clock& clock) : clock_(clock) {
    spec_.name = "current_time";
    spec_.description = "The current date and time, in UTC and in the machine's time zone.";
    spec_.parameters = R"({"type":"object","properties":{},"additionalProperties":false})";
  }

  const executor::ToolSpec& spec() const override { return spec_; }

  Result<executor::Plan> plan(const executor::ToolRequest&, const Json&) override {
    return executor::Plan{};
  }

  executor::Outcome run(const executor::ToolRequest&, const Json&, const executor::Plan&,
                        const executor::OutputSink&, std::stop_token) override {
    const std::int64_t now_ns = clock_.utc_ns();
    const std::time_t seconds = now_ns / 1'000'000'000;
    std::tm local{};
    localtime_r(&seconds, &local);
    executor::Outcome outcome;
    outcome.result = fmt::format(
        R"({{"utc":"{:%Y-%m-%dT%H:%M:%S}Z","local":"{:%Y-%m-%dT%H:%M:%S%z}","weekday":"{:%A}",)"
        R"("unix_seconds":{}}})",
        fmt::gmtime(seconds), local, local, seconds);
    return outcome;
  }

 private:
  executor::ToolSpec spec_;
  Clock& clock_;
};

}  // namespace

std::unique_ptr<executor::Tool> make_current_time_tool(Clock& clock) {
  return std::make_unique<CurrentTimeTool>(clock);
}

}  // namespace daybook::engine
