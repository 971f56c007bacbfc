// The program, able to die of SIGKILL at a chosen moment: the shipped program around another
// journal and another renameat2. The shipped one has no such points.
//
// DAYBOOK_TEST_KILL is "append:3:before", "append:3:after", "rename:1:before" or "rename:1:after".
// append before: nothing of the append is written; after: it is durable, and nobody was told.
// rename: around the commit of a file tool's change.
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string_view>

#include "tools/program.h"

namespace daybook::tests {
namespace {

struct KillPoint {
  enum class What { nothing, append, rename };
  What what = What::nothing;
  int number = 0;  // 1: the first one of the process
  bool after = false;
};

[[noreturn]] void die() {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

class KillingJournal : public journal::Journal {
 public:
  KillingJournal(std::unique_ptr<journal::Journal> inner, KillPoint point)
      : inner_(std::move(inner)), point_(point) {}

  void append(journal::Append append, journal::AppendDone done) override {
    if (++appends_ != point_.number) return inner_->append(std::move(append), std::move(done));
    if (!point_.after) die();
    inner_->append(std::move(append), [done = std::move(done)](auto appended) {
      if (appended) die();
      done(std::move(appended));
    });
  }

  Result<journal::Head> head(const SessionId& session) override { return inner_->head(session); }
  Result<void> read(const SessionId& session, std::uint64_t from, journal::ReadMode mode,
                    const journal::EntryVisitor& visit) override {
    return inner_->read(session, from, mode, visit);
  }
  Result<void> tail(std::uint64_t from, const journal::EntryVisitor& visit) override {
    return inner_->tail(from, visit);
  }
  Result<std::vector<journal::SessionInfo>> sessions(std::string_view prefix) override {
    return inner_->sessions(prefix);
  }
  Result<std::string> blob(const BlobRef& ref) override { return inner_->blob(ref); }
  Result<std::optional<journal::RequestRecord>> find_request(std::string_view scope,
                                                             std::string_view id) override {
    return inner_->find_request(scope, id);
  }
  Result<std::optional<journal::Checkpoint>> load_checkpoint(const SessionId& session,
                                                             std::string_view projection) override {
    return inner_->load_checkpoint(session, projection);
  }
  Result<void> save_checkpoint(const SessionId& session, std::string_view projection,
                               const journal::Checkpoint& checkpoint) override {
    return inner_->save_checkpoint(session, projection, checkpoint);
  }
  Result<journal::VerifyReport> verify(const journal::Refold& refold) override {
    return inner_->verify(refold);
  }
  Result<void> backup(const std::string& folder) override { return inner_->backup(folder); }
  Result<void> refresh() override { return inner_->refresh(); }

 private:
  std::unique_ptr<journal::Journal> inner_;
  KillPoint point_;
  int appends_ = 0;
};

KillPoint kill_point_of_process() {
  KillPoint point;
  const char* text = getenv("DAYBOOK_TEST_KILL");
  if (text == nullptr || *text == '\0') return point;
  char what[8] = {};
  char when[8] = {};
  DAYBOOK_CHECK(sscanf(text, "%7[a-z]:%d:%7[a-z]", what, &point.number, when) == 3);
  point.what =
      std::string_view(what) == "append" ? KillPoint::What::append : KillPoint::What::rename;
  point.after = std::string_view(when) == "after";
  return point;
}

}  // namespace
}  // namespace daybook::tests

// Stands before the C library's function of this name: only the file tools call it.
extern "C" int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                         unsigned flags) noexcept {
  using daybook::tests::KillPoint;
  static const KillPoint point = daybook::tests::kill_point_of_process();
  static std::atomic<int> calls{0};
  const bool here = point.what == KillPoint::What::rename && ++calls == point.number;
  if (here && !point.after) daybook::tests::die();
  const auto result = syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
  if (here) daybook::tests::die();
  return static_cast<int>(result);
}

int main(int argc, char** argv, char** variables) {
  using namespace daybook;
  return tools::run_program(
      argc, argv, variables,
      [](journal::RocksOptions options) -> Result<std::unique_ptr<journal::Journal>> {
        auto inner = journal::open_rocks_journal(std::move(options));
        const auto point = tests::kill_point_of_process();
        if (!inner || point.what != tests::KillPoint::What::append) return inner;
        return std::make_unique<tests::KillingJournal>(std::move(*inner), point);
      });
}
