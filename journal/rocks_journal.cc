#include "journal/rocks_journal.h"

#include <fmt/format.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/utilities/checkpoint.h>

#include <filesystem>
#include <mutex>
#include <optional>
#include <vector>

#include "journal/checkpoints.h"
#include "journal/copy.h"
#include "journal/folder.h"
#include "journal/keys.h"
#include "journal/opening.h"
#include "journal/owner_lock.h"
#include "journal/reader.h"
#include "journal/store.h"
#include "journal/verify.h"
#include "journal/witness.h"
#include "journal/writer.h"

namespace daybook::journal {
namespace {

/// RocksDB's usual environment, but with another clock.
class ClockedEnv : public rocksdb::EnvWrapper {
 public:
  ClockedEnv(std::unique_ptr<rocksdb::Env> base, std::shared_ptr<rocksdb::SystemClock> clock)
      : EnvWrapper(std::move(base)) {
    system_clock_ = std::move(clock);
  }
};

Site make_site(const RocksOptions& options) {
  auto base = options.file_system ? options.file_system : rocksdb::FileSystem::Default();
  auto fs = private_files(base);
  std::shared_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(fs);
  if (options.clock) {
    env = std::make_shared<ClockedEnv>(rocksdb::NewCompositeEnv(fs), options.clock);
  }
  return {FolderPaths(options.folder), std::move(fs), std::move(env)};
}

/// Makes the folder of a copy, which must not be there.
Result<void> claim_copy(const Site& copy) {
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::symlink_status(copy.paths.folder, ignored))) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} exists already: name a folder that does not", copy.paths.folder));
  }
  auto state = inspect_folder(*copy.fs, copy.paths);
  if (!state) return fail(std::move(state.error()));
  return make_folder(*copy.fs, copy.paths);
}

/// Turns the folder, whose database is complete, into a journal.
Result<void> finish_copy(const Site& copy) {
  std::uint64_t last = 0;
  {
    auto copied = open_store(copy.paths.db, copy.env.get(), StoreMode::reader, false);
    if (!copied) return fail(std::move(copied.error()));
    auto position = last_position(**copied);
    if (!position) return fail(std::move(position.error()));
    last = *position;
  }
  DAYBOOK_TRY(Witness::create(*copy.fs, copy.paths.witness, last));
  return mark_folder(*copy.fs, copy.paths);
}

/// Copies what is in the journal now to a database at `path`, and checks every byte of the copy.
Result<void> copy_now(const Site& site, const std::string& path) {
  auto from = open_reader_store(site);
  if (!from) return fail(std::move(from.error()));
  const auto made = site.fs->CreateDirIfMissing(path, rocksdb::IOOptions(), nullptr);
  if (!made.ok()) return fail(error_of(made, fmt::format("making {}", path)));
  {
    auto to = open_store(path, site.env.get(), StoreMode::writer, true);
    if (!to) return fail(std::move(to.error()));
    DAYBOOK_TRY(copy_store(*from->store, **to));
  }
  auto copied = open_store(path, site.env.get(), StoreMode::reader, false);
  if (!copied) return fail(std::move(copied.error()));
  auto report = verify_store(**copied, {});
  if (!report) return fail(std::move(report.error()));
  if (report->damage.empty()) return {};
  return fail(
      ErrorCode::corrupt,
      fmt::format("the copy would be damaged, and was not kept ({}: {}); run daybook "
                  "verify on the journal in {}",
                  report->damage.front().where, report->damage.front().what, site.paths.folder));
}

/// What the writing and the reading journal share: everything that only reads.
class RocksReader : public Journal {
 public:
  RocksReader(Site site, std::unique_ptr<Store> store)
      : site_(std::move(site)), gate_(std::move(store)) {}

  Result<Head> head(const SessionId& session) override {
    return with_store([&](Store& store) { return read_head(store, session); });
  }
  Result<void> read(const SessionId& session, std::uint64_t from, ReadMode mode,
                    const EntryVisitor& visit) override {
    return with_store(
        [&](Store& store) { return read_session(store, session, from, mode, visit); });
  }
  Result<void> tail(std::uint64_t from, const EntryVisitor& visit) override {
    return with_store([&](Store& store) { return read_tail(store, from, visit); });
  }
  Result<std::vector<SessionInfo>> sessions(std::string_view prefix) override {
    return with_store([&](Store& store) { return read_sessions(store, prefix); });
  }
  Result<std::string> blob(const BlobRef& ref) override {
    return with_store([&](Store& store) { return read_blob(store, ref); });
  }
  Result<std::optional<RequestRecord>> find_request(std::string_view scope,
                                                    std::string_view id) override {
    return with_store([&](Store& store) { return read_request(store, scope, id); });
  }
  Result<std::optional<Checkpoint>> load_checkpoint(const SessionId& session,
                                                    std::string_view projection) override {
    return with_store([&](Store& store) { return read_checkpoint(store, session, projection); });
  }
  Result<VerifyReport> verify(const Refold& refold) override {
    return with_store([&](Store& store) { return verify_store(store, refold); });
  }

 protected:
  template <class Use>
  auto with_store(const Use& use) -> decltype(use(std::declval<Store&>())) {
    auto store = gate_.use();
    if (!store) return fail(std::move(store.error()));
    return use(**store);
  }

  const Site site_;
  StoreGate gate_;
};

class ReadingJournal final : public RocksReader {
 public:
  ReadingJournal(Site site, ReaderStore opened)
      : RocksReader(std::move(site), std::move(opened.store)), last_(opened.last) {}

  void append(Append, AppendDone done) override { done(fail(read_only())); }
  Result<void> save_checkpoint(const SessionId&, std::string_view, const Checkpoint&) override {
    return fail(read_only());
  }
  Result<void> backup(const std::string& folder) override;

  /// Opens the database again when the witness says that there is more. RocksDB's secondary
  /// instance would follow more cheaply, but version 7.8 crashes in it when reading blob files.
  Result<void> refresh() override {
    const std::lock_guard lock(refreshing_);
    auto witnessed = Witness::read(*site_.fs, site_.paths.witness);
    if (!witnessed) return fail(std::move(witnessed.error()));
    if (*witnessed <= last_) return {};
    auto fresh = open_reader_store(site_);
    if (!fresh) return fail(std::move(fresh.error()));
    last_ = fresh->last;
    return gate_.replace(
        [&]() -> Result<std::unique_ptr<Store>> { return std::move(fresh->store); });
  }

 private:
  Error read_only() const {
    return {ErrorCode::unsupported,
            fmt::format("the journal in {} is open for reading only: open it for writing",
                        site_.paths.folder)};
  }

  std::mutex refreshing_;
  std::uint64_t last_;
};

class WritingJournal final : public RocksReader {
 public:
  WritingJournal(OwnerLock lock, Site site, std::unique_ptr<Store> store, Witness witness,
                 std::uint64_t last, Writer::Post post)
      : RocksReader(std::move(site), std::move(store)),
        lock_(std::move(lock)),
        writer_(gate_, std::move(witness), last, std::move(post),
                [this] { return open_writer_store(site_); }) {}

  WritingJournal(const WritingJournal&) = delete;
  WritingJournal& operator=(const WritingJournal&) = delete;
  /// The lock goes last: until then nobody else may open the database or list its files.
  ~WritingJournal() override {
    writer_.finish();
    if (gate_.close()) note_closed(site_);
  }

  void append(Append append, AppendDone done) override {
    writer_.submit(std::move(append), std::move(done));
  }

  Result<void> save_checkpoint(const SessionId& session, std::string_view projection,
                               const Checkpoint& checkpoint) override {
    return with_store([&](Store& store) -> Result<void> {
      return write_checkpoint(store, session, projection, checkpoint);
    });
  }

  Result<void> backup(const std::string& folder) override;

  Result<void> refresh() override { return {}; }

 private:
  OwnerLock lock_;
  Writer writer_;
};

/// Beside a writer. Its files cannot be linked as a checkpoint does: it may be replacing them, and
/// only it knows which belong together.
Result<void> ReadingJournal::backup(const std::string& folder) {
  constexpr int kAttempts = 5;
  const Site copy{FolderPaths(folder), site_.fs, site_.env};
  DAYBOOK_TRY(claim_copy(copy));
  // Until it is whole it has another name: nothing takes it for a journal half made.
  const std::string unfinished = copy.paths.db + ".unfinished";
  std::error_code ignored;
  Result<void> copied;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    const std::string before = listing_of(site_);
    std::filesystem::remove_all(unfinished, ignored);
    copied = copy_now(site_, unfinished);
    // A file may be gone between the moment it was listed and the moment it was opened.
    if (copied || listing_of(site_) == before) break;
  }
  if (copied) {
    const auto status =
        copy.fs->RenameFile(unfinished, copy.paths.db, rocksdb::IOOptions(), nullptr);
    if (!status.ok()) copied = fail(error_of(status, fmt::format("making {}", copy.paths.db)));
  }
  if (copied) copied = finish_copy(copy);
  if (!copied) std::filesystem::remove_all(copy.paths.folder, ignored);
  return copied;
}

Result<void> WritingJournal::backup(const std::string& folder) {
  const Site copy{FolderPaths(folder), site_.fs, site_.env};
  DAYBOOK_TRY(claim_copy(copy));
  DAYBOOK_TRY(with_store([&](Store& store) -> Result<void> {
    rocksdb::Checkpoint* raw = nullptr;
    auto status = rocksdb::Checkpoint::Create(&store.db(), &raw);
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
    if (status.ok()) status = checkpoint->CreateCheckpoint(copy.paths.db);
    if (!status.ok()) return fail(error_of(status, fmt::format("copying to {}", folder)));
    return {};
  }));
  return finish_copy(copy);
}

Error no_journal(const Site& site) {
  std::error_code ignored;
  if (std::filesystem::exists(site.paths.witness, ignored)) {
    return {ErrorCode::not_found,
            fmt::format("the journal in {} has no file JOURNAL: restore that file or a backup of "
                        "the journal; if it was never finished, run something",
                        site.paths.folder)};
  }
  return {ErrorCode::not_found,
          fmt::format("there is no journal in {}: check the path, or run something first",
                      site.paths.folder)};
}

Result<std::unique_ptr<Journal>> open_reading(Site site) {
  auto opened = open_reader_store(site);
  if (!opened) return fail(std::move(opened.error()));
  return std::make_unique<ReadingJournal>(std::move(site), std::move(*opened));
}

Result<std::unique_ptr<Journal>> open_writing(Site site, RocksOptions options, FolderState state) {
  if (state == FolderState::absent) DAYBOOK_TRY(make_folder(*site.fs, site.paths));
  auto lock = OwnerLock::take(site.paths.lock, options.owner);
  if (!lock) return fail(std::move(lock.error()));
  // Again: another process may have made the journal before this one held the lock.
  auto locked_state = inspect_folder(*site.fs, site.paths);
  if (!locked_state) return fail(std::move(locked_state.error()));
  auto store =
      *locked_state == FolderState::journal ? open_writer_store(site) : create_journal(site);
  if (!store) return fail(std::move(store.error()));
  auto last = last_position(**store);
  if (!last) return fail(std::move(last.error()));
  auto witness = Witness::open(*site.fs, site.paths.witness);
  if (!witness) return fail(std::move(witness.error()));
  witness->write(*last);
  return std::make_unique<WritingJournal>(std::move(*lock), std::move(site), std::move(*store),
                                          std::move(*witness), *last, std::move(options.post));
}

}  // namespace

Result<std::unique_ptr<Journal>> open_rocks_journal(RocksOptions options) {
  Site site = make_site(options);
  auto state = inspect_folder(*site.fs, site.paths);
  if (!state) return fail(std::move(state.error()));
  if (*state != FolderState::journal && options.mode != OpenMode::create) {
    return fail(no_journal(site));
  }
  if (options.mode == OpenMode::read_only) return open_reading(std::move(site));
  return open_writing(std::move(site), std::move(options), *state);
}

}  // namespace daybook::journal
