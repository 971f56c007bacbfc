// File changes as a plan: all computed and checked first, then committed one by one.
//
// A file's new bytes depend only on the arguments and on its own old bytes (for a move: on the
// source's), so that after a crash every change still missing can be computed again. Removals come
// last, hence the source of an unfinished move is still there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "executor/executor.h"
#include "executor/paths.h"

namespace daybook::executor {

/// New bytes from old ones; the error is for the model.
using Transform = std::function<Result<std::string>(std::string_view before)>;

struct FileEdit {
  enum class Kind {
    create,  // the file must not exist
    update,  // the file must exist
    write,   // either
    remove,  // the file must exist
  };
  Kind kind = Kind::update;
  Location where;
  Transform transform;             // remove: optional, must yield nothing (a check of the content)
  std::optional<Location> source;  // the file whose bytes and mode are taken (move)
};

using FileEdits = std::vector<FileEdit>;

/// Computes every change without making any. Two edits of one file are refused.
Result<std::vector<FileOp>> plan_edits(const Policy& policy, const FileEdits& edits);

/// Called before change number `op` is committed; an error fails it. Tests interrupt here.
using CommitHook = std::function<Result<void>(std::size_t op)>;

/// Makes the planned changes that are not there yet: all of them, or none and an error. A file
/// that is in neither planned state stays as it is, and so do all others. The outcome's result is
/// the plan's, whether or not an earlier run was interrupted.
Outcome run_edits(const ToolRequest& request, const FileEdits& edits, const Plan& plan,
                  const std::stop_token& stop, const CommitHook& hook);

/// How far the disk is with planned changes. A plan without any tells nothing: conflict.
Settlement settle_ops(const std::vector<FileOp>& ops);

}  // namespace daybook::executor
