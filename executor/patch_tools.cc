#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "executor/file_tools.h"
#include "executor/patch_format.h"
#include "executor/writer_tool.h"

namespace daybook::executor {
namespace {

using Parse = Result<std::vector<FilePatch>> (*)(std::string_view);
using Apply = Result<std::string> (*)(const FilePatch&, std::string_view);

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

struct Format {
  const char* argument;
  Parse parse;
  Apply apply;
};

struct Names {
  std::vector<std::string> changed;
  std::vector<std::string> added;
  std::vector<std::string> deleted;
};

/// Turns parsed patches into edits, one for each file.
class EditBuilder {
 public:
  EditBuilder(const Policy& policy, Apply apply) : policy_(policy), apply_(apply) {}

  Result<void> add(FilePatch patch) {
    Result<Location> where = locate(policy_, patch.path, Access::write);
    if (!where) return fail(std::move(where.error()));
    hunks_ += patch.hunks.size();
    const bool plain_update = patch.kind == FilePatch::Kind::update && patch.move_to.empty();
    const auto earlier = updates_.find(where->path);
    if (plain_update && earlier != updates_.end()) {
      chain(edits_[earlier->second], std::move(patch));
      return {};
    }
    ++files_;
    switch (patch.kind) {
      case FilePatch::Kind::add:
        return add_file(std::move(patch), *where);
      case FilePatch::Kind::remove:
        return remove_file(std::move(patch), *where);
      case FilePatch::Kind::update:
        break;
    }
    if (!plain_update) return move_file(std::move(patch), *where);
    updates_[where->path] = edits_.size();
    names_.changed.push_back(where->shown);
    edits_.push_back({FileEdit::Kind::update, *where, transform(std::move(patch)), {}});
    return {};
  }

  /// Removals last: the source of a move must outlive its target.
  FileEdits take() {
    for (FileEdit& removal : removals_) edits_.push_back(std::move(removal));
    return std::move(edits_);
  }

  std::string result() const {
    return dump_json({{"changed_files", names_.changed},
                      {"added_files", names_.added},
                      {"deleted_files", names_.deleted},
                      {"file_count", files_},
                      {"hunk_count", hunks_}});
  }

 private:
  /// A byte order mark is no part of the first line, unless the patch shows it.
  Transform transform(FilePatch patch) const {
    return [apply = apply_, patch = std::move(patch)](std::string_view before) {
      if (before.starts_with(kByteOrderMark) && !shows_mark(patch)) {
        Result<std::string> after = apply(patch, before.substr(kByteOrderMark.size()));
        if (after) after->insert(0, kByteOrderMark);
        return after;
      }
      return apply(patch, before);
    };
  }

  static bool shows_mark(const FilePatch& patch) {
    return std::ranges::any_of(patch.hunks, [](const Hunk& hunk) {
      return std::ranges::any_of(
          hunk.lines, [](const HunkLine& line) { return line.text.starts_with(kByteOrderMark); });
    });
  }

  void chain(FileEdit& edit, FilePatch patch) const {
    edit.transform = [first = std::move(edit.transform),
                      second = transform(std::move(patch))](std::string_view before) {
      Result<std::string> middle = first(before);
      return middle ? second(*middle) : middle;
    };
  }

  Result<void> add_file(FilePatch patch, const Location& where) {
    names_.added.push_back(where.shown);
    Transform content =
        patch.hunks.empty()
            ? [text = patch.content](std::string_view) { return Result<std::string>(text); }
            : transform(std::move(patch));
    edits_.push_back({FileEdit::Kind::create, where, std::move(content), {}});
    return {};
  }

  Result<void> remove_file(FilePatch patch, const Location& where) {
    names_.deleted.push_back(where.shown);
    Transform check = patch.hunks.empty() ? Transform() : transform(std::move(patch));
    removals_.push_back({FileEdit::Kind::remove, where, std::move(check), {}});
    return {};
  }

  Result<void> move_file(FilePatch patch, const Location& from) {
    Result<Location> to = locate(policy_, patch.move_to, Access::write);
    if (!to) return fail(std::move(to.error()));
    names_.changed.push_back(to->shown);
    names_.deleted.push_back(from.shown);
    edits_.push_back({FileEdit::Kind::create, std::move(*to), transform(std::move(patch)), from});
    removals_.push_back({FileEdit::Kind::remove, from, {}, {}});
    return {};
  }

  const Policy& policy_;
  Apply apply_;
  FileEdits edits_;
  FileEdits removals_;
  std::map<std::string, std::size_t> updates_;  // path: index in edits_
  Names names_;
  std::size_t files_ = 0;
  std::size_t hunks_ = 0;
};

class PatchTool : public WriterTool {
 public:
  PatchTool(std::string name, std::string description, std::string parameters, Format format,
            CommitHook hook)
      : WriterTool(std::move(name), std::move(description), std::move(parameters), std::move(hook)),
        format_(format) {}

 protected:
  Result<Draft> draft(const Policy& policy, const Json& arguments) const override {
    // The transforms hold views into the text and may outlive this call.
    const auto text = std::make_shared<std::string>(json_text(arguments, format_.argument));
    Result<std::vector<FilePatch>> patches = format_.parse(*text);
    if (!patches) return fail(std::move(patches.error()));
    EditBuilder builder(policy, format_.apply);
    for (FilePatch& patch : *patches) DAYBOOK_TRY(builder.add(std::move(patch)));
    Draft drafted;
    drafted.edits = builder.take();
    drafted.result = [text, result = builder.result()] { return result; };
    return drafted;
  }

 private:
  Format format_;
};

}  // namespace

std::unique_ptr<Tool> make_apply_patch(CommitHook hook) {
  return std::make_unique<PatchTool>(
      "apply_patch",
      "Change several places or several files at once, all or nothing. Use it for edits that are "
      "more than one replacement, and to add, delete or rename files along with them. Format: "
      "'*** Begin Patch', then for each file '*** Add File: PATH' with '+' lines, '*** Delete "
      "File: PATH', or '*** Update File: PATH' (optionally '*** Move to: PATH') with hunks, each "
      "a '@@' line followed by ' ' context, '-' removed and '+' added lines; then '*** End "
      "Patch'. Context must be found exactly once. If you hold a diff with exact line numbers use "
      "apply_unified_diff.",
      R"({"type":"object","properties":{"patch":{"type":"string","description":)"
      R"("The patch, from '*** Begin Patch' to '*** End Patch'"}},)"
      R"("required":["patch"],"additionalProperties":false})",
      Format{"patch", parse_envelope, apply_by_context}, std::move(hook));
}

std::unique_ptr<Tool> make_apply_unified_diff(CommitHook hook) {
  return std::make_unique<PatchTool>(
      "apply_unified_diff",
      "Apply a unified diff of one or more files, all or nothing. Use it when you hold a diff "
      "made by a program, whose line numbers and counts are exact; for changes you write yourself "
      "apply_patch or replace_in_file is safer, because they need no line numbers.",
      R"({"type":"object","properties":{"diff":{"type":"string","description":)"
      R"("Unified diff with '--- ', '+++ ' and '@@ -l,n +l,n @@' lines"}},)"
      R"("required":["diff"],"additionalProperties":false})",
      Format{"diff", parse_unified_diff, apply_by_number}, std::move(hook));
}

}  // namespace daybook::executor
