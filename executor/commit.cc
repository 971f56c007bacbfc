#include "executor/commit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

#include <cerrno>

namespace daybook::executor {
namespace {

Result<LoadedFile> load_source(const Policy& policy, const Location& source) {
  Result<Target> target = open_target(policy, source);
  if (!target) return fail(std::move(target.error()));
  Result<std::optional<LoadedFile>> file = load_file(*target, source.shown);
  if (!file) return fail(std::move(file.error()));
  if (!*file) return fail(path_error(ENOENT, source.shown));
  return std::move(**file);
}

class Commit {
 public:
  explicit Commit(std::vector<PendingChange>& changes) : changes_(changes) {}

  Result<void> run(const CommitHook& hook) {
    Result<void> made = make_all(hook);
    if (!made) undo(made.error());
    return made;
  }

 private:
  struct MadeFolder {
    UniqueFd parent;
    std::string name;
  };

  Result<void> make_all(const CommitHook& hook) {
    for (PendingChange& change : changes_) DAYBOOK_TRY(prepare(change));
    for (PendingChange& change : changes_) {
      if (hook) DAYBOOK_TRY(hook(change.op));
      DAYBOOK_TRY(commit(change));
    }
    return {};
  }

  Result<void> prepare(PendingChange& change) {
    if (!change.after) return {};
    DAYBOOK_TRY(make_folders(change));
    const struct stat* like = change.attributes ? &*change.attributes : nullptr;
    return write_temporary(change.target.parent.get(), change.temporary, *change.after, like,
                           change.shown);
  }

  Result<void> make_folders(PendingChange& change) {
    for (const std::string& name : change.target.missing) {
      const int parent = change.target.parent.get();
      if (::mkdirat(parent, name.c_str(), 0777) == 0) {
        folders_.push_back({UniqueFd(::fcntl(parent, F_DUPFD_CLOEXEC, 0)), name});
        DAYBOOK_TRY(sync_folder(parent, change.shown));
      } else if (errno != EEXIST) {  // another change of this call may have made it
        return fail(path_error(errno, change.shown));
      }
      Opened next = open_below(parent, name, O_PATH | O_DIRECTORY, Links::refuse);
      if (!next) return fail(path_error(next.error(), change.shown));
      change.target.parent = std::move(*next);
    }
    change.target.missing.clear();
    return {};
  }

  Result<void> commit(PendingChange& change) {
    DAYBOOK_TRY(check_unchanged(change));
    const int folder = change.target.parent.get();
    const char* name = change.target.name.c_str();
    int result = 0;
    if (!change.after) {
      result = ::unlinkat(folder, name, 0);
    } else {
      const unsigned flags = change.before ? 0 : RENAME_NOREPLACE;
      result = ::renameat2(folder, change.temporary.c_str(), folder, name, flags);
    }
    if (result != 0) return fail(path_error(errno, change.shown));
    ++committed_;
    return sync_folder(folder, change.shown);
  }

  /// Narrows the window for a foreign change to the moment between this and the rename.
  static Result<void> check_unchanged(const PendingChange& change) {
    Result<std::optional<LoadedFile>> now = load_file(change.target, change.shown);
    if (!now) return fail(std::move(now.error()));
    const bool same = now->has_value() == change.before.has_value() &&
                      (!*now || (*now)->bytes == change.before->bytes);
    if (same) return {};
    return fail(ErrorCode::conflict,
                fmt::format("'{}' changed while the call ran; read it again and repeat the call",
                            change.shown));
  }

  void undo(Error& error) {
    std::size_t restored = 0;
    for (std::size_t i = committed_; i-- > 0;) restored += restore(changes_[i]) ? 1 : 0;
    if (restored > 0) error.message += "; the files changed before it were set back";
    for (const PendingChange& change : changes_) {
      if (change.target.missing.empty()) {
        ::unlinkat(change.target.parent.get(), change.temporary.c_str(), 0);
      }
    }
    for (std::size_t i = folders_.size(); i-- > 0;) {
      ::unlinkat(folders_[i].parent.get(), folders_[i].name.c_str(), AT_REMOVEDIR);
    }
  }

  /// Only what this run itself put there is taken back.
  static bool restore(const PendingChange& change) {
    const Result<std::optional<LoadedFile>> now = load_file(change.target, change.shown);
    const bool ours = now && now->has_value() == change.after.has_value() &&
                      (!*now || (*now)->bytes == *change.after);
    if (!ours) return false;
    const int folder = change.target.parent.get();
    const char* name = change.target.name.c_str();
    if (!change.before) {
      return ::unlinkat(folder, name, 0) == 0 && sync_folder(folder, change.shown).has_value();
    }
    return write_temporary(folder, change.temporary, change.before->bytes, &change.before->status,
                           change.shown)
               .has_value() &&
           ::renameat(folder, change.temporary.c_str(), folder, name) == 0 &&
           sync_folder(folder, change.shown).has_value();
  }

  std::vector<PendingChange>& changes_;
  std::vector<MadeFolder> folders_;
  std::size_t committed_ = 0;
};

}  // namespace

Result<std::optional<std::string>> compute_edit(const Policy& policy, const FileEdit& edit,
                                                const std::optional<LoadedFile>& before) {
  std::string_view bytes = before ? std::string_view(before->bytes) : std::string_view();
  LoadedFile source;
  if (edit.source) {
    Result<LoadedFile> loaded = load_source(policy, *edit.source);
    if (!loaded) return fail(std::move(loaded.error()));
    source = std::move(*loaded);
    bytes = source.bytes;
  }
  if (!edit.transform) return std::nullopt;
  Result<std::string> after = edit.transform(bytes);
  if (!after) return fail(std::move(after.error()));
  if (edit.kind != FileEdit::Kind::remove) return std::move(*after);
  if (after->empty()) return std::nullopt;
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{}' would not be empty after the patch that deletes it; the patch must "
                          "remove every line",
                          edit.where.shown));
}

Result<void> take_attributes(const Policy& policy, const FileEdit& edit,
                             const std::optional<LoadedFile>& now, PendingChange& change) {
  if (now) {
    change.attributes = now->status;
  } else if (edit.source) {
    Result<LoadedFile> loaded = load_source(policy, *edit.source);
    if (!loaded) return fail(std::move(loaded.error()));
    change.attributes = loaded->status;
  }
  return {};
}

std::string temporary_name(const ToolRequest& request, std::size_t op) {
  const std::string id = request.session + '\0' + request.call_id;
  return fmt::format(".daybook-{}-{}.tmp", Digest::of(id).hex().substr(0, 16), op);
}

Result<void> remove_leftover(const Target& target, const std::string& name,
                             std::string_view shown) {
  if (!target.missing.empty() || ::unlinkat(target.parent.get(), name.c_str(), 0) == 0 ||
      errno == ENOENT) {
    return {};
  }
  return fail(path_error(errno, shown));
}

void remove_leftovers(const ToolRequest& request, const std::vector<FileOp>& ops) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const std::string folder = ops[i].path.substr(0, ops[i].path.rfind('/') + 1);
    const UniqueFd parent(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!parent) continue;
    ::unlinkat(parent.get(), temporary_name(request, i).c_str(), 0);
  }
}

Result<void> commit_changes(std::vector<PendingChange>& changes, const CommitHook& hook) {
  return Commit(changes).run(hook);
}

}  // namespace daybook::executor
