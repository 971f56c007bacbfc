// How a turn ended: what happened, where, and what a person can do about it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/driver.h"
#include "tools/command.h"

namespace daybook::tools {

/// What errors say about the model that was called.
struct ModelPlace {
  std::string name;      // "anthropic:NAME"
  std::string provider;  // in the configuration
  std::string where;     // host and path of the endpoint; a scenario's file
  std::string key_env;   // variable that holds the key; "": none
  bool is_script = false;
};

ModelPlace place_of(const engine::ResolvedModel& model);

/// Passes everything on, and remembers the HTTP status of the turn's last model failure.
class FailureWatch final : public engine::Observer {
 public:
  explicit FailureWatch(engine::Observer& next) : next_(next) {}
  void on_event(const schema::Event& event, std::span<const std::byte> bytes) override;
  void on_delta(const engine::Delta& delta) override { next_.on_delta(delta); }
  void on_output(std::string_view call_id, std::string_view bytes) override {
    next_.on_output(call_id, bytes);
  }
  std::uint32_t http_status() const { return http_status_; }

 private:
  engine::Observer& next_;
  std::uint32_t http_status_ = 0;  // 0: none came
};

/// The outcome on `out` and `err`, or one JSON line on `out`. `state` is the session's after the
/// turn.
void tell_outcome(Context& context, const engine::SessionState& state,
                  const engine::TurnReport& report, const ModelPlace& place,
                  std::uint32_t http_status, bool json);

/// Prints an answer: its bytes to a file or pipe, and nothing that drives a terminal to one.
void tell_answer(Context& context, const std::string& answer);

}  // namespace daybook::tools
