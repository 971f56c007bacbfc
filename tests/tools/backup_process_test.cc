// Backups beside a process that writes.
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "journal/rocks_journal.h"
#include "tests/support/cli.h"
#include "tests/support/journal_events.h"
#include "tests/tools/place.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

TEST_CASE("a backup beside a running session is whole, and can be resumed") {
  const Place place;
  place.scenario("wait.toml",
                 "[[response]]\n[[response.call]]\ntool = \"run_shell\"\n"
                 "arguments = { command = \"echo > ../begun; cat ../gate\" }\n"
                 "[[response]]\ntext = \"done\"\n");
  const std::string run =
      "$daybook run --session s --approval-mode bypass-approvals --model script:../wait.toml go";
  CHECK(place("mkfifo ../begun ../gate; " + run +
              " > ../out 2> ../err & read line < ../begun; "
              "$daybook backup ../copy > ../said 2> ../backup-err; code=$?; "
              "echo > ../gate; wait $! && exit $code") == 0);
  CHECK(place.file("backup-err").empty());
  CHECK(place.file("out") == "done\n");
  CHECK(place("$daybook verify --requests --journal ../copy > ../out") == 0);
  CHECK_THAT(place.file("out"), Contains("1 session, ") && Contains(": no damage"));
  // The copy stands where the command had started.
  CHECK(place("$daybook audit s --journal ../copy > ../out") == 5);
  CHECK_THAT(place.file("out"), Contains("  unsettled  "));
  CHECK(place("$daybook reconcile s call-1 --outcome not-applied --journal ../copy > ../out && "
              "$daybook resume s --journal ../copy > ../out 2> ../err") == 0);
  CHECK(place.file("out") == "done\n");
}

TEST_CASE("backups taken while events and blobs are appended verify clean") {
  TempDir dir;
  Cli cli;
  cli.on_disk = true;
  cli.environment["DAYBOOK_HOME"] = dir.str("journal");
  auto writer =
      journal::open_rocks_journal({dir.str("journal"), journal::OpenMode::create, "", {}, {}})
          .value();
  write_demo(*writer);
  std::atomic<bool> stop = false;
  std::atomic<std::uint64_t> appended = 0;
  std::thread appending([&] {
    auto pen = pen_for(session_id("busy"));
    for (std::uint64_t n = 1; !stop; ++n) {
      journal::Batch batch;
      if (n == 1) batch.add(draft(schema::OwnerAcquiredT{}));
      schema::TurnStartedT turn;
      turn.turn = static_cast<std::uint32_t>(n);
      turn.prompt = batch.content(std::string(20'000, 'x') + std::to_string(n));
      batch.add(draft(std::move(turn)));
      auto append = n == 1 ? pen.acquire(std::move(batch)) : pen.next(std::move(batch));
      if (!append_and_wait(*writer, std::move(append))) return;
      appended = n;
      appended.notify_all();
    }
  });
  appended.wait(0);
  for (const std::string name : {"first", "second", "third"}) {
    const std::uint64_t before = appended;
    const CliRun backup = cli.run({"backup", dir.str(name)});
    INFO(backup.err);
    CHECK(backup.code == 0);
    CHECK(cli.run({"verify", "--journal", dir.str(name)}).code == 0);
    // Everything acknowledged before it began is in it.
    const CliRun log = cli.run({"log", "busy", "--journal", dir.str(name)});
    CHECK(json_lines(log.out).size() >= before + 1);
    appended.wait(appended);
  }
  stop = true;
  appending.join();
}

TEST_CASE("a journal that is damaged is not copied, and nothing is left of the copy") {
  const Place place;
  CHECK(place("$daybook run --session s --model script:../answer.toml go > ../out 2> ../err") == 0);
  CHECK(place("rm ../journal/db/CURRENT; $daybook backup ../copy 2> ../err") == 6);
  CHECK_THAT(place.file("err"), Contains("is not whole") && Contains("restore"));
  CHECK_FALSE(std::filesystem::exists(place.dir.path() / "copy"));
}

}  // namespace
}  // namespace daybook::tests
