#include "replay/requests.h"

#include <catch2/catch.hpp>

#include "engine/script_model.h"
#include "tests/support/journal_events.h"
#include "tests/support/memory_journal.h"

using namespace daybook;
using daybook::tests::MemoryJournal;
using daybook::tests::MemoryStore;

namespace {

/// A session with one request whose only message is `segment`, recorded with `digest`.
std::shared_ptr<MemoryStore> session_with(const std::string& prompt, const std::string& segment,
                                          std::optional<Digest> digest = {}) {
  auto store = std::make_shared<MemoryStore>();
  MemoryJournal journal(store);
  auto pen = tests::pen_for(tests::session_id("s"));
  REQUIRE(journal::append_and_wait(journal, tests::acquire(pen)));
  journal::Batch batch;
  schema::TurnStartedT turn;
  turn.turn = 1;
  turn.prompt = batch.content(prompt);
  turn.max_iterations = 5;
  batch.add(draft(std::move(turn), 1));
  const std::string head = "\"model\":\"m\"";
  const std::string body =
      "{" + head + ",\"system\":[],\"tools\":[],\"messages\":[" + segment + "]}";
  schema::ModelRequestedT requested;
  requested.request = 1;
  requested.attempt = 1;
  requested.provider_kind = "script";
  requested.head = batch.content(head);
  requested.appended.emplace_back(batch.blob(segment).fb());
  requested.body_digest = std::make_unique<schema::Digest>(digest.value_or(Digest::of(body)).fb());
  requested.body_size = body.size();
  batch.add(draft(std::move(requested), 1));
  REQUIRE(journal::append_and_wait(journal, pen.next(std::move(batch))));
  return store;
}

replay::RebuiltRequest only_request(const std::shared_ptr<MemoryStore>& store) {
  MemoryJournal journal(store);
  std::vector<replay::RebuiltRequest> all;
  REQUIRE(replay::rebuild_requests(journal, tests::session_id("s"), [&](const auto& request) {
    all.push_back(request);
    return true;
  }));
  REQUIRE(all.size() == 1);
  return all[0];
}

}  // namespace

TEST_CASE("a request rebuilds to the bytes that were sent") {
  const auto request = only_request(session_with("hi", R"({"role":"user","text":"hi"})"));
  CHECK(request.identical);
  CHECK(request.first_difference == -1);
  CHECK(request.body ==
        R"({"model":"m","system":[],"tools":[],"messages":[{"role":"user","text":"hi"}]})");
}

TEST_CASE("other bytes than recorded are noticed") {
  const auto request =
      only_request(session_with("hi", R"({"role":"user","text":"hi"})", Digest{1, 2}));
  CHECK_FALSE(request.identical);
}

TEST_CASE("a message that this build would render otherwise is named") {
  const auto request = only_request(session_with("hi", R"({"text":"hi","role":"user"})"));
  CHECK(request.identical);  // what was sent is what was recorded
  CHECK(request.first_difference == 0);
}

TEST_CASE("a lost segment is an error, not a shorter request") {
  const std::string segment = R"({"role":"user","text":"hi"})";
  const auto store = session_with("hi", segment);
  store->lose_blob(Digest::of(segment));
  MemoryJournal journal(store);
  CHECK_FALSE(
      replay::rebuild_requests(journal, tests::session_id("s"), [](const auto&) { return true; }));
}
