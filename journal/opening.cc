#include "journal/opening.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "journal/keys.h"
#include "journal/manifest.h"
#include "journal/rocks_log.h"
#include "journal/verify.h"
#include "journal/witness.h"

namespace daybook::journal {
namespace {

/// Opens a snapshot of the database that changes nothing on disk, and checks that it is complete.
Result<ReaderStore> look_at(const Site& site) {
  // Before the database: a witness read later could be ahead of what was read.
  auto witnessed = Witness::read(*site.fs, site.paths.witness);
  if (!witnessed) return fail(std::move(witnessed.error()));
  auto store = open_store(site.paths.db, site.env.get(), StoreMode::reader, false);
  if (!store) return fail(std::move(store.error()));
  auto last = last_position(**store);
  if (!last) return fail(std::move(last.error()));
  DAYBOOK_TRY(check_witness(*last, *witnessed, site.paths.folder));
  return ReaderStore{std::move(*store), *last};
}

std::optional<TornManifest> torn_manifest_of(const Site& site, const Error& why) {
  if (why.code != ErrorCode::corrupt) return {};
  auto torn = find_torn_manifest(*site.fs, site.paths.db);
  return torn ? std::move(*torn) : std::nullopt;
}

/// Whether the journal is whole without the torn end of its manifest, which stays on disk.
Result<void> check_without(const Site& site, const TornManifest& torn) {
  const auto fs = without_torn_end(site.fs, torn);
  // RocksDB keeps the environment by address, and the store goes before it.
  const Site view{site.paths, fs, rocksdb::NewCompositeEnv(fs)};
  auto looked = look_at(view);
  if (!looked) return fail(std::move(looked.error()));
  // A witness that did not reach the disk may allow too much, so everything is read: what an older
  // table of files does not name would be missing somewhere.
  auto report = verify_store(*looked->store, {});
  if (!report) return fail(std::move(report.error()));
  if (!report->damage.empty()) {
    const Finding& first = report->damage.front();
    return fail(ErrorCode::corrupt, fmt::format("{}: {}", first.where, first.what));
  }
  return {};
}

/// Durably, before a file is changed that the note lists: it would be taken for damaged.
Result<void> forget_closed(const Site& site) {
  const auto status = site.fs->DeleteFile(site.paths.closed, rocksdb::IOOptions(), nullptr);
  if (status.IsNotFound() || status.IsPathNotFound()) return {};
  if (!status.ok()) return fail(error_of(status, fmt::format("removing {}", site.paths.closed)));
  return sync_folder(*site.fs, site.paths.folder);
}

/// Cuts a manifest that ends in a record which never became durable. `why` is what opening it said,
/// and what this returns when the manifest is not the reason.
Result<void> mend_manifest(const Site& site, Error why, bool has_events) {
  const auto torn = torn_manifest_of(site, why);
  if (!torn) return fail(std::move(why));
  if (has_events) {
    if (auto checked = check_without(site, *torn); !checked) {
      Error& error = checked.error();
      if (error.code != ErrorCode::corrupt) return fail(std::move(error));
      if (error.message == why.message) return fail(std::move(why));
      const bool advises = error.message.find("nothing was changed") != std::string::npos;
      return fail(ErrorCode::corrupt,
                  fmt::format("{} is damaged from byte {} on, and that was no unfinished write: "
                              "without it, {}{}",
                              torn->path, torn->whole_bytes, error.message,
                              advises ? "" : "; nothing was changed, restore a backup"));
    }
  }
  DAYBOOK_TRY(forget_closed(site));
  auto kept = cut_manifest(*site.fs, *torn);
  if (!kept) return fail(std::move(kept.error()));
  journal_log()->warn(
      "{} ended in a record that a loss of power left unfinished; it was cut to {} bytes, no event "
      "is missing, and the damaged file is kept as {}",
      torn->path, torn->whole_bytes, *kept);
  return {};
}

bool is_whole_log(const Site& site, const std::string& name) {
  const auto bytes = read_whole(*site.fs, site.paths.db + "/" + name);
  return bytes && whole_records(*bytes) == bytes->size();
}

/// What a writer wrote down when it closed the database.
struct ClosedNote {
  std::uint64_t position = 0;  // the events up to it are in the database
  std::map<std::string, std::uint64_t, std::less<>> files;
};

std::optional<ClosedNote> read_note(const Site& site) {
  const auto bytes = read_whole(*site.fs, site.paths.closed);
  const auto text = bytes ? unseal(*bytes) : std::nullopt;
  if (!text) return {};
  std::istringstream lines{std::string(*text)};
  ClosedNote note;
  std::string name;
  if (!(lines >> name >> note.position) || name != "position") return {};
  std::uint64_t size = 0;
  while (lines >> name >> size) note.files[name] = size;
  return note;
}

std::map<std::string, std::uint64_t, std::less<>> files_of(const Site& site) {
  std::vector<rocksdb::Env::FileAttributes> files;
  std::map<std::string, std::uint64_t, std::less<>> sizes;
  if (!site.env->GetChildrenFileAttributes(site.paths.db, &files).ok()) return sizes;
  for (const auto& file : files) sizes[file.name] = file.size_bytes;
  return sizes;
}

/// Whether nothing happened to the database's files since a writer closed it, as far as names,
/// sizes and checksums tell, and no acknowledged event was missing then: RocksDB has nothing to
/// recover that it could fail to, and drops nothing.
bool is_as_closed(const Site& site, const ClosedNote& note) {
  const auto witnessed = Witness::read(*site.fs, site.paths.witness);
  if (!witnessed || *witnessed > note.position || note.files != files_of(site)) return false;
  const bool logs_are_whole =
      std::all_of(note.files.begin(), note.files.end(), [&](const auto& file) {
        return !file.first.ends_with(".log") || is_whole_log(site, file.first);
      });
  return logs_are_whole && manifest_is_whole(*site.fs, site.paths.db);
}

/// While the table of files is the one of the last clean close, the files must be those of then.
/// RocksDB does not miss what a shorter table does not name, and deletes it. Logs are not looked
/// at: the end of one may never have become durable, and the witness tells of lost events.
Result<void> check_files(const Site& site, const ClosedNote& note) {
  auto current = read_whole(*site.fs, site.paths.db + "/CURRENT");
  if (!current || !note.files.contains(current->substr(0, current->find('\n')))) return {};
  const auto now = files_of(site);
  for (const auto& [name, size] : note.files) {
    if (!name.ends_with(".sst") && !name.ends_with(".blob") && !name.starts_with("MANIFEST-")) {
      continue;
    }
    const auto found = now.find(name);
    if (found != now.end() && found->second == size) continue;
    const std::string what = found == now.end()
                                 ? "is missing"
                                 : fmt::format("has {} bytes instead of {}", found->second, size);
    return fail(ErrorCode::corrupt,
                fmt::format("{}/{} {} since the journal was last closed; nothing was changed, "
                            "restore the folder's files or a backup of the journal",
                            site.paths.db, name, what));
  }
  return {};
}

/// Without the look. Fails as often as it may: the look then says why.
Result<std::unique_ptr<Store>> open_as_closed(const Site& site) {
  auto witnessed = Witness::read(*site.fs, site.paths.witness);
  if (!witnessed) return fail(std::move(witnessed.error()));
  auto store = open_store(site.paths.db, site.env.get(), StoreMode::writer, false);
  if (!store) return store;
  auto last = last_position(**store);
  if (!last) return fail(std::move(last.error()));
  DAYBOOK_TRY(check_witness(*last, *witnessed, site.paths.folder));
  return store;
}

}  // namespace

std::string listing_of(const Site& site) {
  std::string listing;
  for (const auto& [name, size] : files_of(site)) listing += fmt::format("{} {}\n", name, size);
  return listing;
}

Result<ReaderStore> open_reader_store(const Site& site) {
  // Beside a writer: it replaces files, sometimes while they are being opened here.
  constexpr int kAttempts = 10;
  for (int attempt = 1;; ++attempt) {
    const std::string before = listing_of(site);
    auto opened = look_at(site);
    if (opened) return opened;
    if (attempt < kAttempts && listing_of(site) != before) continue;
    const auto torn = torn_manifest_of(site, opened.error());
    if (!torn || !check_without(site, *torn)) return opened;
    return fail(
        ErrorCode::corrupt,
        fmt::format("{} is damaged from byte {} on, as a loss of power leaves it; no event is "
                    "missing, but reading repairs nothing: open the journal for writing "
                    "once, for example with daybook run",
                    torn->path, torn->whole_bytes));
  }
}

void note_closed(const Site& site) {
  // The database has at least what its witness tells of.
  const auto witnessed = Witness::read(*site.fs, site.paths.witness);
  if (!witnessed) return;
  std::string note = fmt::format("position {}\n{}", *witnessed, listing_of(site));
  seal(note);
  std::unique_ptr<rocksdb::FSWritableFile> file;
  const rocksdb::IOOptions io;
  auto status = site.fs->NewWritableFile(site.paths.closed, {}, &file, nullptr);
  if (status.ok()) status = file->Append(note, io, nullptr);
  if (status.ok()) status = file->Close(io, nullptr);
  // Without it the next opening takes a few milliseconds more.
  status.PermitUncheckedError();
}

Result<std::unique_ptr<Store>> open_writer_store(const Site& site) {
  if (const auto note = read_note(site)) {
    if (is_as_closed(site, *note)) {
      if (auto store = open_as_closed(site)) return store;
    }
    DAYBOOK_TRY(check_files(site, *note));
  }
  // RocksDB deletes what it could not recover, so a look that changes nothing comes first.
  if (auto looked = look_at(site); !looked) {
    DAYBOOK_TRY(mend_manifest(site, std::move(looked.error()), true));
    DAYBOOK_TRY(look_at(site));
  }
  return open_store(site.paths.db, site.env.get(), StoreMode::writer, false);
}

Result<std::unique_ptr<Store>> create_journal(const Site& site) {
  const auto made = site.fs->CreateDirIfMissing(site.paths.db, rocksdb::IOOptions(), nullptr);
  if (!made.ok()) return fail(error_of(made, fmt::format("making {}", site.paths.db)));
  const auto open = [&] {
    return open_store(site.paths.db, site.env.get(), StoreMode::writer, true);
  };
  auto store = open();
  if (!store) {
    // A folder that lost its marker only may hold events; one that is half made holds none.
    const auto witnessed = Witness::read(*site.fs, site.paths.witness);
    DAYBOOK_TRY(mend_manifest(site, std::move(store.error()), witnessed.value_or(0) > 0));
    store = open();
  }
  if (!store) return store;
  auto last = last_position(**store);
  if (!last) return fail(std::move(last.error()));
  DAYBOOK_TRY(Witness::create(*site.fs, site.paths.witness, *last));
  DAYBOOK_TRY(mark_folder(*site.fs, site.paths));
  return store;
}

}  // namespace daybook::journal
