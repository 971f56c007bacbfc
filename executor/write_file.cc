#include <nlohmann/json.hpp>

#include "executor/file_tools.h"
#include "executor/writer_tool.h"

namespace daybook::executor {
namespace {

class WriteFile : public WriterTool {
 public:
  explicit WriteFile(CommitHook hook)
      : WriterTool("write_file",
                   "Write a whole file, creating its folders. Use it for new files and for files "
                   "whose content changes almost everywhere; to change a part of a file use "
                   "replace_in_file (one text) or apply_patch (several places or files).",
                   R"({"type":"object","properties":{)"
                   R"("path":{"type":"string","description":"File to write"},)"
                   R"("content":{"type":"string","description":"The whole new content"},)"
                   R"("overwrite":{"type":"boolean","description":)"
                   R"("Replace a file that exists; true unless given"}},)"
                   R"("required":["path","content"],"additionalProperties":false})",
                   std::move(hook)) {}

 protected:
  Result<Draft> draft(const Policy& policy, const Json& arguments) const override {
    Result<Location> where = locate(policy, json_text(arguments, "path"), Access::write);
    if (!where) return fail(std::move(where.error()));
    FileEdit edit;
    edit.kind = arguments.value("overwrite", true) ? FileEdit::Kind::write : FileEdit::Kind::create;
    edit.where = *where;
    edit.transform = [content = json_text(arguments, "content")](std::string_view) {
      return Result<std::string>(content);
    };
    Draft drafted;
    drafted.edits.push_back(std::move(edit));
    drafted.result = [shown = where->shown] { return dump_json(shown); };
    return drafted;
  }
};

}  // namespace

std::unique_ptr<Tool> make_write_file(CommitHook hook) {
  return std::make_unique<WriteFile>(std::move(hook));
}

}  // namespace daybook::executor
