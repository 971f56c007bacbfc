// What may be in a journal's folder, who may write to it, and what a second process sees.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <condition_variable>
#include <csignal>
#include <functional>
#include <map>
#include <mutex>

#include "journal/rocks_journal.h"
#include "tests/support/journal_events.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

using journal::append_and_wait;
using journal::Journal;
using journal::OpenMode;

Result<std::unique_ptr<Journal>> open_as(const std::string& folder, OpenMode mode,
                                         const std::string& owner = "test") {
  return journal::open_rocks_journal(
      {.folder = folder, .mode = mode, .owner = owner, .post = {}, .file_system = {}});
}

ErrorCode refusal(const std::string& folder, OpenMode mode) {
  const auto opened = open_as(folder, mode);
  REQUIRE_FALSE(opened.has_value());
  CHECK(opened.error().message.find(folder) != std::string::npos);
  return opened.error().code;
}

/// Another process that writes to a journal: this program again, in the hidden test case below.
/// Forking alone would not do, as RocksDB's threads do not come along.
class WriterProcess {
 public:
  explicit WriterProcess(const std::string& folder) {
    int to[2];
    int from[2];
    DAYBOOK_CHECK(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    pid_ = fork();
    DAYBOOK_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      dup2(to[0], STDIN_FILENO);
      dup2(from[1], kReplyFd);
      setenv("DAYBOOK_TEST_FOLDER", folder.c_str(), 1);
      execl("/proc/self/exe", "test_journal", "[.writer-process]", nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = from[0];
  }
  ~WriterProcess() {
    close(to_);
    close(from_);
    waitpid(pid_, nullptr, 0);
  }
  WriterProcess(const WriterProcess&) = delete;
  WriterProcess& operator=(const WriterProcess&) = delete;

  /// The reply; 0 when the process is gone.
  char ask(char question) {
    char reply = 0;
    if (write(to_, &question, 1) != 1) return 0;
    return read(from_, &reply, 1) == 1 ? reply : '\0';
  }
  /// Returns when it is gone.
  void kill_it() {
    kill(pid_, SIGKILL);
    char reply = 0;
    while (read(from_, &reply, 1) == 1) {
    }
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }

  static constexpr int kReplyFd = 3;

 private:
  pid_t pid_;
  int to_;
  int from_;
};

}  // namespace

TEST_CASE("the other process", "[.writer-process]") {
  const std::string folder = getenv("DAYBOOK_TEST_FOLDER");
  std::unique_ptr<Journal> journal;
  auto pen = pen_for(session_id("demo"));
  const std::map<char, std::function<bool()>> commands = {
      {'o',
       [&] {
         auto opened = open_as(folder, OpenMode::create, "pid 4711 on elsewhere (daybook run)");
         if (opened) journal = std::move(*opened);
         return opened.has_value();
       }},
      {'c',
       [&] {
         journal.reset();
         return true;
       }},
      {'a', [&] { return append_and_wait(*journal, acquire(pen)).has_value(); }},
      {'n', [&] { return append_and_wait(*journal, notice(pen, "x")).has_value(); }},
      {'b', [&] {
         return append_and_wait(*journal, notice_with_blob(pen, std::string(9000, 'b')))
             .has_value();
       }}};
  char question = 0;
  while (read(STDIN_FILENO, &question, 1) == 1) {
    const char reply = commands.at(question)() ? 'y' : 'n';
    DAYBOOK_CHECK(write(WriterProcess::kReplyFd, &reply, 1) == 1);
  }
}

TEST_CASE("what is not a journal is refused by name") {
  TempDir dir;
  const auto all = {OpenMode::create, OpenMode::write, OpenMode::read_only};
  SECTION("a missing folder is no journal, and only `create` makes one") {
    CHECK(refusal(dir.str("none"), OpenMode::write) == ErrorCode::not_found);
    CHECK(refusal(dir.str("none"), OpenMode::read_only) == ErrorCode::not_found);
    CHECK_FALSE(std::filesystem::exists(dir.str("none")));
    CHECK(open_as(dir.str("a/b/c"), OpenMode::create).has_value());
    CHECK(open_as(dir.str("a/b/c"), OpenMode::write).has_value());
  }
  SECTION("a file") {
    write_file(dir.str("file"), "x");
    for (const OpenMode mode : all) {
      CHECK(refusal(dir.str("file"), mode) == ErrorCode::invalid_argument);
    }
  }
  SECTION("a folder with something else in it, which stays as it is") {
    std::filesystem::create_directory(dir.str("other"));
    write_file(dir.str("other/letter.txt"), "dear");
    for (const OpenMode mode : all) {
      CHECK(refusal(dir.str("other"), mode) == ErrorCode::invalid_argument);
    }
    CHECK(std::distance(std::filesystem::directory_iterator(dir.str("other")), {}) == 1);
  }
  SECTION("an empty folder becomes a journal") {
    std::filesystem::create_directory(dir.str("empty"));
    CHECK(refusal(dir.str("empty"), OpenMode::write) == ErrorCode::not_found);
    CHECK(open_as(dir.str("empty"), OpenMode::create).has_value());
  }
  SECTION("a journal of a newer format or schema, or with a damaged marker") {
    const std::string folder = dir.str("journal");
    REQUIRE(open_as(folder, OpenMode::create).has_value());
    const std::string marker = folder + "/JOURNAL";
    CHECK(read_file(marker) == "daybook journal\nformat 1\nschema 1\n");
    for (const char* text :
         {"daybook journal\nformat 2\nschema 1\n", "daybook journal\nformat 1\nschema 2\n"}) {
      write_file(marker, text);
      for (const OpenMode mode : all) CHECK(refusal(folder, mode) == ErrorCode::newer_schema);
    }
    for (const char* text : {"", "daybook journal\nformat 1\n",
                             "daybook journal\nformat 1\nschema "
                             "1\nmore\n"}) {
      write_file(marker, text);
      for (const OpenMode mode : all) CHECK(refusal(folder, mode) == ErrorCode::corrupt);
    }
  }
  SECTION("a journal without its witness") {
    REQUIRE(open_as(dir.str("journal"), OpenMode::create).has_value());
    std::filesystem::remove(dir.str("journal/witness"));
    for (const OpenMode mode : all) CHECK(refusal(dir.str("journal"), mode) == ErrorCode::corrupt);
  }
}

TEST_CASE("a journal's folder is private and holds no surprise") {
  TempDir dir;
  { REQUIRE(open_as(dir.str("journal"), OpenMode::create).has_value()); }
  struct stat status {};
  REQUIRE(stat(dir.str("journal").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  for (const auto& item : std::filesystem::recursive_directory_iterator(dir.str("journal"))) {
    CAPTURE(item.path().filename().string());
    REQUIRE(stat(item.path().c_str(), &status) == 0);
    if (item.is_directory()) CHECK((status.st_mode & 0777) == 0700);
    if (!item.is_regular_file()) continue;
    if (item.path().filename() != "LOCK") CHECK((status.st_mode & 0777) == 0600);
    CHECK(item.path().filename().string().substr(0, 3) != "LOG");
  }
}

TEST_CASE("one process writes, and the second is told who") {
  TempDir dir;
  const std::string folder = dir.str("journal");
  WriterProcess child(folder);
  REQUIRE(child.ask('o') == 'y');
  for (const OpenMode mode : {OpenMode::create, OpenMode::write}) {
    const auto refused = open_as(folder, mode);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::busy);
    CHECK(refused.error().message.find("pid 4711 on elsewhere (daybook run)") != std::string::npos);
  }
  SECTION("after it closed, the next one may write") {
    REQUIRE(child.ask('c') == 'y');
    CHECK(open_as(folder, OpenMode::write).has_value());
  }
  SECTION("after it was killed, too") {
    child.kill_it();
    CHECK(open_as(folder, OpenMode::write).has_value());
  }
}

TEST_CASE("a reader beside a writer in another process sees its appends") {
  TempDir dir;
  const std::string folder = dir.str("journal");
  WriterProcess child(folder);
  REQUIRE(child.ask('o') == 'y');
  REQUIRE(child.ask('a') == 'y');
  auto opened = open_as(folder, OpenMode::read_only);
  INFO((opened ? "" : opened.error().message));
  REQUIRE(opened.has_value());
  Journal& reader = **opened;
  CHECK(reader.head(session_id("demo"))->version == 1);
  for (std::uint64_t version = 2; version < 6; ++version) {
    REQUIRE(child.ask(version == 4 ? 'b' : 'n') == 'y');
    REQUIRE(reader.refresh().has_value());
    CHECK(event_bytes(reader, session_id("demo"))->size() == version);
  }
  CHECK(*reader.blob(BlobRef::of(std::string(9000, 'b'))) == std::string(9000, 'b'));
  const auto report = reader.verify({});
  CHECK(report->events == 5);
  CHECK(report->blobs == 1);
  CHECK(report->damage.empty());
  auto reading_pen = pen_for(session_id("demo"), *reader.head(session_id("demo")));
  const auto refused = append_and_wait(reader, acquire(reading_pen));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::unsupported);
  CHECK(reader.save_checkpoint(session_id("demo"), "p", {}).error().code == ErrorCode::unsupported);
}

TEST_CASE("a backup is a journal of its own") {
  TempDir dir;
  auto opened = open_as(dir.str("journal"), OpenMode::create);
  REQUIRE(opened.has_value());
  auto pen = pen_for(session_id("demo"));
  REQUIRE(append_and_wait(**opened, acquire(pen)).has_value());
  REQUIRE(append_and_wait(**opened, notice_with_blob(pen, std::string(9000, 'z'))).has_value());
  const auto before = everything(**opened);
  REQUIRE((*opened)->backup(dir.str("copy")).has_value());
  CHECK((*opened)->backup(dir.str("copy")).error().code == ErrorCode::invalid_argument);
  REQUIRE(append_and_wait(**opened, notice(pen, "only in the first")).has_value());
  auto copy = open_as(dir.str("copy"), OpenMode::write);
  INFO((copy ? "" : copy.error().message));
  REQUIRE(copy.has_value());
  CHECK(*everything(**copy) == *before);
  CHECK((*copy)->verify({})->damage.empty());
  auto other = pen_for(session_id("demo"), *(*copy)->head(session_id("demo")));
  CHECK(append_and_wait(**copy, acquire(other)).has_value());
}

TEST_CASE("completions are posted once for a batch, after it is durable") {
  TempDir dir;
  std::vector<std::function<void()>> posted;
  std::mutex mutex;
  std::condition_variable arrived;
  auto opened = journal::open_rocks_journal({.folder = dir.str("journal"),
                                             .owner = "test",
                                             .post =
                                                 [&](std::function<void()> run) {
                                                   const std::lock_guard lock(mutex);
                                                   posted.push_back(std::move(run));
                                                   arrived.notify_all();
                                                 },
                                             .file_system = {}});
  REQUIRE(opened.has_value());
  auto pen = pen_for(session_id("demo"));
  bool told = false;
  (*opened)->append(acquire(pen), [&](const auto& result) { told = result.has_value(); });
  std::unique_lock lock(mutex);
  arrived.wait(lock, [&] { return !posted.empty(); });
  CHECK_FALSE(told);
  CHECK((*opened)->head(session_id("demo"))->version == 1);
  posted[0]();
  CHECK(told);
}

}  // namespace daybook::tests
