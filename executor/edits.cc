#include "executor/edits.h"

#include <fmt/format.h>

#include <set>
#include <tuple>

#include "executor/commit.h"
#include "executor/file_io.h"
#include "executor/outcome.h"

namespace daybook::executor {
namespace {

/// What a target is, however it was named.
using Identity = std::tuple<dev_t, ino_t, std::string>;

Result<Identity> identity_of(const Target& target, std::string_view shown) {
  struct stat parent {};
  if (::fstat(target.parent.get(), &parent) != 0) return fail(path_error(errno, shown));
  std::string rest;
  for (const std::string& folder : target.missing) rest += folder + "/";
  return Identity{parent.st_dev, parent.st_ino, rest + target.name};
}

Result<void> check_existence(const FileEdit& edit, bool exists) {
  if (edit.kind == FileEdit::Kind::create && exists) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' already exists; update it instead, or choose another name",
                            edit.where.shown));
  }
  const bool needed = edit.kind == FileEdit::Kind::update || edit.kind == FileEdit::Kind::remove;
  if (needed && !exists) return fail(path_error(ENOENT, edit.where.shown));
  return {};
}

Result<FileOp> plan_edit(const Policy& policy, const FileEdit& edit, std::set<Identity>& seen) {
  Result<Target> target = open_target(policy, edit.where);
  if (!target) return fail(std::move(target.error()));
  const Result<Identity> identity = identity_of(*target, edit.where.shown);
  if (!identity) return fail(identity.error());
  if (!seen.insert(*identity).second) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is changed twice in one call; merge the changes of each file",
                            edit.where.shown));
  }
  Result<std::optional<LoadedFile>> before = load_file(*target, edit.where.shown);
  if (!before) return fail(std::move(before.error()));
  DAYBOOK_TRY(check_existence(edit, before->has_value()));
  FileOp op;
  op.path = edit.where.path;
  if (*before) op.before = BlobRef::of((*before)->bytes);
  op.kind = *before ? schema::FileOpKind::update : schema::FileOpKind::create;
  Result<std::optional<std::string>> after = compute_edit(policy, edit, *before);
  if (!after) return fail(std::move(after.error()));
  if (*after) op.after = BlobRef::of(**after);
  if (edit.kind == FileEdit::Kind::remove) op.kind = schema::FileOpKind::remove;
  return op;
}

enum class Side { before, after, both, neither };

Side side_of(const FileOp& op, const std::optional<BlobRef>& now) {
  if (op.before == op.after) return now == op.before ? Side::both : Side::neither;
  if (now == op.after) return Side::after;
  return now == op.before ? Side::before : Side::neither;
}

Error changed_meanwhile(const Location& where) {
  return {ErrorCode::conflict,
          fmt::format("'{}' changed after the call was planned; this run changed no file: read "
                      "it again and repeat the call",
                      where.shown)};
}

/// The changes still to be made, with their contents.
Result<std::vector<PendingChange>> find_pending(const ToolRequest& request, const FileEdits& edits,
                                                const Plan& plan) {
  std::vector<PendingChange> pending;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    const FileEdit& edit = edits[i];
    Result<Target> target = open_target(request.policy, edit.where);
    if (!target) return fail(std::move(target.error()));
    PendingChange change;
    change.op = i;
    change.shown = edit.where.shown;
    change.temporary = temporary_name(request, i);
    DAYBOOK_TRY(remove_leftover(*target, change.temporary, change.shown));
    Result<std::optional<LoadedFile>> now = load_file(*target, edit.where.shown);
    if (!now) return fail(std::move(now.error()));
    const std::optional<BlobRef> digest =
        *now ? std::optional(BlobRef::of((*now)->bytes)) : std::nullopt;
    const Side side = side_of(plan.ops[i], digest);
    if (side == Side::neither) return fail(changed_meanwhile(edit.where));
    if (side != Side::before) {
      // An interrupted run may have ended between this file's rename and the folder's sync.
      if (side == Side::after) DAYBOOK_TRY(sync_folder(target->parent.get(), change.shown));
      continue;
    }
    Result<std::optional<std::string>> after = compute_edit(request.policy, edit, *now);
    if (!after) return fail(std::move(after.error()));
    const std::optional<BlobRef> planned =
        *after ? std::optional(BlobRef::of(**after)) : std::nullopt;
    if (planned != plan.ops[i].after) return fail(changed_meanwhile(edit.where));
    DAYBOOK_TRY(take_attributes(request.policy, edit, *now, change));
    change.target = std::move(*target);
    change.before = std::move(*now);
    change.after = std::move(*after);
    pending.push_back(std::move(change));
  }
  return pending;
}

bool matches(const FileEdits& edits, const Plan& plan) {
  if (edits.empty() || edits.size() != plan.ops.size()) return false;
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (edits[i].where.path != plan.ops[i].path) return false;
  }
  return true;
}

/// After an error, what is on disk decides which files count as changed: those of an interrupted
/// earlier run, and those that could not be set back.
Outcome failed(Error error, const FileEdits& edits, const Plan& plan) {
  std::vector<FileOp> changed;
  std::string names;
  for (std::size_t i = 0; i < plan.ops.size(); ++i) {
    const FileOp& op = plan.ops[i];
    if (op.before == op.after) continue;
    const Result<std::optional<BlobRef>> now = digest_file(op.path);
    if (!now || *now != op.after) continue;
    changed.push_back(op);
    names += (names.empty() ? "" : ", ") + edits[i].where.shown;
  }
  if (!changed.empty()) error.message += "; already in their new state: " + names;
  Outcome outcome = failure(error);
  outcome.receipt.files = std::move(changed);
  return outcome;
}

}  // namespace

Result<std::vector<FileOp>> plan_edits(const Policy& policy, const FileEdits& edits) {
  std::vector<FileOp> ops;
  std::set<Identity> seen;
  for (const FileEdit& edit : edits) {
    Result<FileOp> op = plan_edit(policy, edit, seen);
    if (!op) return fail(std::move(op.error()));
    ops.push_back(std::move(*op));
  }
  return ops;
}

Outcome run_edits(const ToolRequest& request, const FileEdits& edits, const Plan& plan,
                  const std::stop_token& stop, const CommitHook& hook) {
  if (!matches(edits, plan)) {
    return failure({ErrorCode::invalid_argument,
                    "the recorded plan does not belong to this call; plan the call again"});
  }
  Result<std::vector<PendingChange>> pending = find_pending(request, edits, plan);
  if (!pending) return failed(pending.error(), edits, plan);
  if (stop.stop_requested()) {
    const Error stopped{ErrorCode::cancelled, "stopped before any file was changed"};
    return failed(stopped, edits, plan);
  }
  const Result<void> made = commit_changes(*pending, hook);
  if (!made) return failed(made.error(), edits, plan);
  Outcome outcome = success(plan.planned_result);
  for (const FileOp& op : plan.ops) {
    if (op.before != op.after) outcome.receipt.files.push_back(op);
  }
  const std::size_t all = outcome.receipt.files.size();
  if (pending->size() < all) {
    outcome.receipt.notices.push_back(
        fmt::format("{} of {} changes were already there", all - pending->size(), all));
  }
  return outcome;
}

Settlement settle_ops(const std::vector<FileOp>& ops) {
  std::size_t before = 0;
  std::size_t after = 0;
  for (const FileOp& op : ops) {
    const Result<std::optional<BlobRef>> now = digest_file(op.path);
    const Side side = now ? side_of(op, *now) : Side::neither;
    if (side == Side::neither) return Settlement::conflict;
    before += side == Side::before ? 1 : 0;
    after += side == Side::after ? 1 : 0;
  }
  if (ops.empty()) return Settlement::conflict;
  if (before == 0) return Settlement::applied;
  return after == 0 ? Settlement::not_applied : Settlement::partial;
}

}  // namespace daybook::executor
