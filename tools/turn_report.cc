#include "tools/turn_report.h"

#include <fmt/format.h>

#include <ostream>

#include "engine/http_client.h"
#include "engine/mask.h"
#include "tools/format.h"
#include "tools/json_writer.h"

namespace daybook::tools {
namespace {

using engine::TurnReport;
using Kind = engine::TurnReport::Kind;
using schema::FailureKind;

/// What happened, and what helps.
struct Told {
  std::string what;
  std::string advice;
};

std::string advice_for_http(const ModelPlace& place, FailureKind kind, std::uint32_t status,
                            const std::string& session) {
  const std::string base_url = fmt::format("base_url of [providers.{}]", place.provider);
  const std::string resume = "daybook resume " + session;
  if (kind == FailureKind::context_overflow) {
    return fmt::format(
        "the session no longer fits the model's context window: start a new session, or go on "
        "with a model whose window is larger: {} --model PROVIDER:MODEL",
        resume);
  }
  if (kind == FailureKind::authentication) {
    return place.key_env.empty()
               ? fmt::format(
                     "name the variable that holds the key as key_env of [providers.{}], "
                     "then go on with: {}",
                     place.provider, resume)
               : fmt::format("put a key that it accepts into the variable {}, then go on with: {}",
                             place.key_env, resume);
  }
  if (status == 404) {
    return fmt::format("check the model's name and {}, then go on with: {} --model PROVIDER:MODEL",
                       base_url, resume);
  }
  if (kind == FailureKind::connection) {
    return fmt::format("check that the endpoint runs, and {}, then go on with: {}", base_url,
                       resume);
  }
  if (kind == FailureKind::bad_response || kind == FailureKind::local ||
      (status >= 300 && status < 400)) {
    return fmt::format("check {}, then go on with: {}", base_url, resume);
  }
  if (kind == FailureKind::permanent) {
    return fmt::format("change what it objects to, then go on with: {}", resume);
  }
  return fmt::format("it may pass: try again later with: {}", resume);
}

/// " answered HTTP 503: overloaded", with one mention of the status.
std::string answered(std::uint32_t status, const std::string& message) {
  if (status == 0) return ": " + message;
  if (message.starts_with(fmt::format("HTTP status {} ", status))) return " answered " + message;
  const std::string_view link = message.starts_with("an error in its ") ? " with" : ":";
  return fmt::format(" answered HTTP {}{} {}", status, link, message);
}

Told told_of_call(const engine::SessionState& state, const TurnReport& report,
                  const ModelPlace& place, std::uint32_t status) {
  const auto& turn = *state.turn;
  if (place.is_script) {
    const bool is_fixed = turn.failure == FailureKind::permanent;
    if (turn.failure == FailureKind::context_overflow) {
      return {report.message,
              fmt::format("for example: daybook resume {} --model PROVIDER:MODEL", state.session)};
    }
    return {report.message,
            fmt::format("{}go on with: daybook resume {}",
                        is_fixed ? "change the scenario (a session's response N plays the file's "
                                   "response N), then "
                                 : "",
                        state.session)};
  }
  return {
      fmt::format("{} at {}{}", place.name, place.where, answered(status, turn.failure_message)),
      advice_for_http(place, turn.failure, status, state.session)};
}

/// The model answered, and that ended the turn: asking again sends the same history.
Told told_of_answer(const engine::SessionState& state, const TurnReport& report) {
  const bool is_limit = state.turn->stop == schema::StopReason::output_limit;
  return {report.message,
          fmt::format("{} with: daybook run --session {} PROMPT",
                      is_limit ? "then ask again" : "ask for something else", state.session)};
}

Told told_of_reconcile(const std::string& session, const TurnReport& report) {
  std::string each;
  for (const auto& call : report.calls) {
    each += fmt::format("\n  daybook reconcile {} {} --outcome applied|not-applied|retry", session,
                        call);
  }
  return {"a crash interrupted tool calls and nobody can tell whether they took effect",
          fmt::format("look, then say so for each:{}\nthen go on with: daybook resume {}", each,
                      session)};
}

Told told_of(const engine::SessionState& state, const TurnReport& report, const ModelPlace& place,
             std::uint32_t http_status) {
  const std::string& session = state.session;
  switch (report.kind) {
    case Kind::failed:
      if (state.turn->failures > 0) return told_of_call(state, report, place, http_status);
      if (state.turn->replied) return told_of_answer(state, report);
      return {report.message, "go on with: daybook resume " + session};
    case Kind::interrupted:
    case Kind::iteration_limit:
      return {report.message, "go on with: daybook resume " + session};
    case Kind::needs_reconcile:
      return told_of_reconcile(session, report);
    case Kind::needs_approval:
      return {report.calls.at(0) + " waits for approval",
              "answer it on a terminal with: daybook resume " + session};
    case Kind::nothing_to_do:
      return {fmt::format("session {} has nothing to resume", session),
              fmt::format("give it new work with: daybook run --session {} PROMPT", session)};
    case Kind::completed:
      return {report.truncated ? "the answer was cut by the output limit" : "", ""};
  }
  return {};
}

std::string json_of(const std::string& session, const TurnReport& report, const Told& told) {
  JsonWriter writer;
  writer.begin_object().member("session", session);
  writer.member("outcome", name_of(report.kind));
  if (report.kind == Kind::completed) writer.member("answer", report.answer);
  if (!told.what.empty()) writer.member("message", told.what);
  if (!told.advice.empty()) writer.member("advice", told.advice);
  if (!report.calls.empty()) {
    writer.key("calls").begin_array();
    for (const auto& call : report.calls) writer.value(call);
    writer.end_array();
  }
  return writer.end_object().text();
}

}  // namespace

ModelPlace place_of(const engine::ResolvedModel& model) {
  ModelPlace place;
  place.provider = model.provider.name;
  place.name = fmt::format("{}:{}", model.provider.name, model.model);
  place.key_env = model.provider.key_env;
  place.is_script = model.provider.kind == "script";
  place.where = model.model;
  if (place.is_script) return place;
  const engine::Codec* codec = engine::find_codec(model.provider.kind);
  DAYBOOK_CHECK(codec != nullptr);
  // A gateway's address may hold the key.
  place.where = engine::Mask(model.key)(
      engine::host_and_path(model.provider.base_url + codec->path(model.model)));
  return place;
}

void FailureWatch::on_event(const schema::Event& event, std::span<const std::byte> bytes) {
  if (const auto* failed = event.payload_as_ModelFailed()) http_status_ = failed->http_status();
  next_.on_event(event, bytes);
}

void tell_outcome(Context& context, const engine::SessionState& state, const TurnReport& report,
                  const ModelPlace& place, std::uint32_t http_status, bool json) {
  const Told told = told_of(state, report, place, http_status);
  if (json) {
    context.out << json_of(state.session, report, told) << '\n' << std::flush;
    return;
  }
  if (report.kind == Kind::completed) tell_answer(context, report.answer);
  if (told.what.empty()) return;
  const bool names_kind = report.kind == Kind::failed || report.kind == Kind::iteration_limit;
  context.err << "daybook: " << (names_kind ? std::string(name_of(report.kind)) + ": " : "")
              << printable(told.what) << (told.advice.empty() ? "" : "; ") << printable(told.advice)
              << '\n';
}

void tell_answer(Context& context, const std::string& answer) {
  context.out << (context.out_is_terminal ? printable(answer) : answer) << '\n' << std::flush;
}

}  // namespace daybook::tools
