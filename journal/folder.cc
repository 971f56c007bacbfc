#include "journal/folder.h"

#include <fmt/format.h>
#include <rocksdb/file_system.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "journal/owner_lock.h"
#include "schema/event.h"

namespace daybook::journal {
namespace {

namespace stdfs = std::filesystem;

// "daybook journal", the format of this folder, the newest schema major that events may have.
constexpr char kMarkerFormat[] = "daybook journal\nformat {}\nschema {}\n";
constexpr int kFolderFormat = 1;

Result<void> check_marker(const std::string& text, const std::string& path) {
  int format = 0;
  int schema = 0;
  const bool parsed =
      std::sscanf(text.c_str(), "daybook journal\nformat %d\nschema %d\n", &format, &schema) == 2 &&
      text == fmt::format(kMarkerFormat, format, schema) && format > 0 && schema > 0;
  if (!parsed) {
    return fail(ErrorCode::corrupt,
                fmt::format("{} is damaged: restore it from a backup of the journal", path));
  }
  if (format > kFolderFormat || schema > kSchemaMajor) {
    return fail(ErrorCode::newer_schema,
                fmt::format("{} says format {} and schema {}, this build reads format {} and "
                            "schema {}: use a newer build",
                            path, format, schema, kFolderFormat, kSchemaMajor));
  }
  return {};
}

class PrivateFiles : public rocksdb::FileSystemWrapper {
 public:
  using rocksdb::FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "DaybookPrivateFiles"; }

  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    auto status = FileSystemWrapper::NewWritableFile(path, options, file, debug);
    // The folder is private already; this is for copies that lose its mode.
    if (status.ok()) std::ignore = chmod(path.c_str(), 0600);
    return status;
  }

  rocksdb::IOStatus CreateDirIfMissing(const std::string& path, const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* debug) override {
    const bool is_new = FileSystemWrapper::FileExists(path, options, debug).IsNotFound();
    auto status = FileSystemWrapper::CreateDirIfMissing(path, options, debug);
    if (status.ok() && is_new) std::ignore = chmod(path.c_str(), 0700);
    return status;
  }
};

}  // namespace

FolderPaths::FolderPaths(const std::string& root)
    : folder(root),
      marker(root + "/JOURNAL"),
      lock(root + "/lock"),
      witness(root + "/witness"),
      closed(root + "/closed"),
      db(root + "/db") {}

Result<FolderState> inspect_folder(rocksdb::FileSystem& fs, const FolderPaths& paths) {
  std::error_code error;
  const auto status = stdfs::status(paths.folder, error);
  if (status.type() == stdfs::file_type::not_found) return FolderState::absent;
  if (error == std::errc::not_a_directory || error == std::errc::filename_too_long ||
      error == std::errc::too_many_symbolic_link_levels) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} cannot be a journal's folder: {}; name another path", paths.folder,
                            error.message()));
  }
  if (error) return fail(os_error(error.value(), fmt::format("looking at {}", paths.folder)));
  if (status.type() != stdfs::file_type::directory) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} is not a folder: name a journal's folder, or one that does not "
                            "exist yet",
                            paths.folder));
  }
  bool marked = false;
  std::string foreign;
  const std::set<std::string> ours = {"JOURNAL.new", "lock", "witness",
                                      "closed",      "db",   "lost+found"};
  for (stdfs::directory_iterator it(paths.folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename();
    if (name == "JOURNAL") {
      marked = true;
    } else if (!ours.contains(name)) {
      foreign = name;
    }
  }
  if (error) return fail(os_error(error.value(), fmt::format("listing {}", paths.folder)));
  if (marked) {
    auto text = read_whole(fs, paths.marker);
    if (!text) return fail(std::move(text.error()));
    DAYBOOK_TRY(check_marker(*text, paths.marker));
    return FolderState::journal;
  }
  std::error_code ignored;
  if (foreign == "spill" && stdfs::exists(paths.witness, ignored)) {
    return fail(ErrorCode::corrupt,
                fmt::format("the journal in {} has lost its file JOURNAL: restore that file or a "
                            "backup of the journal",
                            paths.folder));
  }
  if (!foreign.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} is not a journal: it holds '{}' and no file JOURNAL; name an empty "
                            "folder, or one that does not exist yet",
                            paths.folder, foreign));
  }
  return FolderState::empty;
}

Result<void> make_folder(rocksdb::FileSystem& fs, const FolderPaths& paths) {
  std::error_code error;
  const stdfs::path folder = stdfs::absolute(paths.folder);
  stdfs::path at;
  for (const stdfs::path& part : folder) {
    at /= part;
    if (at.empty() || stdfs::exists(at, error)) continue;
    if (mkdir(at.c_str(), 0700) != 0 && errno != EEXIST) {
      const int number = errno;
      if (number == ENOENT || number == ENOTDIR || number == ENAMETOOLONG || number == ENOTSUP) {
        return fail(ErrorCode::invalid_argument,
                    fmt::format("the folder {} cannot be made: {}; name another path", at.string(),
                                std::strerror(number)));
      }
      return fail(os_error(number, fmt::format("making the folder {}", at.string())));
    }
    DAYBOOK_TRY(sync_folder(fs, at.parent_path().string()));
  }
  return {};
}

Result<void> mark_folder(rocksdb::FileSystem& fs, const FolderPaths& paths) {
  const std::string fresh = paths.marker + ".new";
  DAYBOOK_TRY(write_durably(fs, fresh, fmt::format(kMarkerFormat, kFolderFormat, kSchemaMajor)));
  DAYBOOK_TRY(sync_folder(fs, paths.folder));
  const auto status = fs.RenameFile(fresh, paths.marker, rocksdb::IOOptions(), nullptr);
  if (!status.ok()) return fail(error_of(status, fmt::format("making {}", paths.marker)));
  return sync_folder(fs, paths.folder);
}

Result<void> write_durably(rocksdb::FileSystem& fs, const std::string& path,
                           const std::string& bytes) {
  const rocksdb::IOOptions io;
  rocksdb::FileOptions options;
  options.use_mmap_writes = false;
  std::unique_ptr<rocksdb::FSWritableFile> file;
  auto status = fs.NewWritableFile(path, options, &file, nullptr);
  if (status.ok()) status = file->Append(bytes, io, nullptr);
  if (status.ok()) status = file->Flush(io, nullptr);
  if (status.ok()) status = file->Sync(io, nullptr);
  if (status.ok()) status = file->Close(io, nullptr);
  if (!status.ok()) return fail(error_of(status, fmt::format("writing {}", path)));
  return {};
}

Result<void> sync_folder(rocksdb::FileSystem& fs, const std::string& path) {
  std::unique_ptr<rocksdb::FSDirectory> directory;
  auto status = fs.NewDirectory(path, rocksdb::IOOptions(), &directory, nullptr);
  if (status.ok()) status = directory->Fsync(rocksdb::IOOptions(), nullptr);
  if (!status.ok()) return fail(error_of(status, fmt::format("syncing the folder {}", path)));
  return {};
}

Result<std::string> read_whole(rocksdb::FileSystem& fs, const std::string& path) {
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  auto status = fs.NewSequentialFile(path, rocksdb::FileOptions(), &file, nullptr);
  std::string bytes;
  std::string buffer(16 << 10, '\0');
  while (status.ok()) {
    rocksdb::Slice piece;
    status = file->Read(buffer.size(), rocksdb::IOOptions(), &piece, buffer.data(), nullptr);
    if (!status.ok() || piece.empty()) break;
    bytes.append(piece.data(), piece.size());
  }
  if (status.IsPathNotFound() || status.IsNotFound()) {
    return fail(ErrorCode::corrupt,
                fmt::format("{} is missing: restore it from a backup of the journal", path));
  }
  if (!status.ok()) return fail(error_of(status, fmt::format("reading {}", path)));
  return bytes;
}

std::shared_ptr<rocksdb::FileSystem> private_files(
    const std::shared_ptr<rocksdb::FileSystem>& base) {
  return std::make_shared<PrivateFiles>(base);
}

}  // namespace daybook::journal
