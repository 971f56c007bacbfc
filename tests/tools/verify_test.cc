#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "engine/load.h"
#include "engine/request_body.h"
#include "engine/script_model.h"
#include "tests/support/cli.h"
#include "tests/support/journal_events.h"

namespace daybook::tests {
namespace {

using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;

/// A journal with one session, "folded", that stands at its first request: of one message,
/// "hello", recorded as sent with this body.
Cli with_folded(const std::string& sent = "") {
  Cli cli;
  journal::Batch batch;
  batch.add(draft(schema::OwnerAcquiredT{}));
  schema::SessionStartedT started;
  started.workspace = "/work";
  batch.add(draft(std::move(started)));
  schema::TurnStartedT turn;
  turn.turn = 1;
  turn.prompt = batch.content("hello");
  batch.add(draft(std::move(turn), 1));
  schema::ModelRequestedT request;
  request.request = request.attempt = 1;
  request.provider_kind = "script";
  request.head = batch.content(R"("model":"m")");
  request.appended.emplace_back(batch.blob("hello").fb());
  request.body_size = sent.size();
  request.body_digest = std::make_unique<schema::Digest>(Digest::of(sent).fb());
  batch.add(draft(std::move(request), 1));
  MemoryJournal journal(cli.store);
  journal::SessionWriter pen = pen_for(session_id("folded"));
  REQUIRE(append_and_wait(journal, pen.acquire(std::move(batch))));
  return cli;
}

TEST_CASE("verify proves checkpoints equal to the fold") {
  Cli cli = with_folded();
  MemoryJournal journal(cli.store);
  const auto session = session_id("folded");
  auto state = engine::load_state(journal, session);
  REQUIRE(state);
  const auto save = [&] {
    REQUIRE(journal.save_checkpoint(
        session, engine::kStateProjection,
        {state->version, std::string(engine::fold_fingerprint()), engine::pack_state(*state)}));
  };
  save();
  CHECK(cli.run({"verify"}).code == 0);
  CHECK_THAT(cli.run({"verify"}).out, Contains("1 checkpoint: no damage"));
  state->title = "tampered";
  save();
  const CliRun bad = cli.run({"verify"});
  CHECK(bad.code == 6);
  CHECK_THAT(bad.out, StartsWith("checkpoint session of session folded: ") &&
                          Contains("1 checkpoint: 1 damaged\n"));
}

TEST_CASE("verify rebuilds every request when asked") {
  const auto body = [](const std::string& text) {
    const auto& codec = engine::script_codec();
    return engine::whole_body(
        codec, {R"("model":"m")", {}, {}, std::vector<std::string_view>{text}, {}, {}});
  };
  Cli cli = with_folded(body("hello"));
  CHECK_THAT(cli.run({"verify", "--requests"}).out,
             EndsWith(" 0 checkpoints, 1 request rebuilt byte-identically: no damage\n"));
  CHECK(json_lines(cli.run({"verify", "--requests", "--json"}).out).at(0).at("requests") == 1);
  CHECK(json_lines(cli.run({"verify", "--json"}).out).at(0).count("requests") == 0);

  Cli other = with_folded(body("hullo"));
  CHECK(other.run({"verify"}).code == 0);
  const CliRun bad = other.run({"verify", "--requests"});
  CHECK(bad.code == 6);
  CHECK_THAT(bad.out,
             StartsWith("session folded, version 4: request 1 cannot be rebuilt as it was sent\n"));
}

}  // namespace
}  // namespace daybook::tests
