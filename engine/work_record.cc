#include "engine/work_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "schema/json.h"
#include "schema/utf8.h"

namespace daybook::engine {
namespace {

using schema::ExitKind;
using schema::WorkAction;

constexpr std::size_t kCommandBytes = 200;

/// What of a call matters here: its arguments come with the answer, its end with the receipt.
struct Arguments {
  std::string tool;
  std::string path;
  std::string command;
};

std::string member(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

class Recorder {
 public:
  Recorder(journal::Journal& journal, const std::string& workspace, WorkRecord& record)
      : journal_(journal), workspace_(workspace), record_(record) {}

  Result<void> take(const schema::Event& event) {
    if (const auto* e = event.payload_as_ModelResponded()) return propose(*e);
    if (const auto* e = event.payload_as_ToolCompleted()) complete(event.version(), *e);
    return {};
  }

 private:
  Result<void> propose(const schema::ModelResponded& e);
  void complete(std::uint64_t version, const schema::ToolCompleted& e);
  void touch(std::string path, WorkAction action, std::uint64_t version);

  journal::Journal& journal_;
  const std::string& workspace_;
  WorkRecord& record_;
  std::map<std::string, Arguments, std::less<>> calls_;  // of the last answer
};

Result<void> Recorder::propose(const schema::ModelResponded& e) {
  calls_.clear();
  if (e.blocks() == nullptr) return {};
  for (const auto* block : *e.blocks()) {
    if (block->kind() != schema::BlockKind::tool_call) continue;
    Arguments call;
    call.tool = std::string(text_of(block->tool()));
    auto text = journal::content_bytes(journal_, block->text());
    if (!text) return fail(std::move(text.error()));
    if (const auto parsed = parse_json(*text); parsed && parsed->is_object()) {
      call.path = member(*parsed, "path");
      call.command = member(*parsed, "command");
    }
    calls_[std::string(text_of(block->call_id()))] = std::move(call);
  }
  return {};
}

void Recorder::touch(std::string path, WorkAction action, std::uint64_t version) {
  auto& files = record_.files;
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const auto& file) { return file->path == path; });
  auto file = std::make_unique<schema::WorkFileT>();
  file->path = std::move(path);
  file->action = action;
  file->version = version;
  if (found != files.end()) {
    // A file that was removed and then written is there; one that was read after an edit is edited.
    if (action == WorkAction::read) file->action = (*found)->action;
    if (action == WorkAction::edited && (*found)->action == WorkAction::written) {
      file->action = WorkAction::written;
    }
    files.erase(found);
  }
  files.push_back(std::move(file));
  if (files.size() <= kWorkFiles) return;
  // What was only read goes before what was changed.
  const auto read = std::find_if(files.begin(), files.end(),
                                 [](const auto& each) { return each->action == WorkAction::read; });
  files.erase(read == files.end() ? files.begin() : read);
}

void Recorder::complete(std::uint64_t version, const schema::ToolCompleted& e) {
  const auto found = calls_.find(text_of(e.call_id()));
  if (found == calls_.end() || e.receipt() == nullptr) return;
  const Arguments& call = found->second;
  if (e.receipt()->files() != nullptr) {
    for (const auto* op : *e.receipt()->files()) {
      const auto action = op->kind() == schema::FileOpKind::remove   ? WorkAction::removed
                          : op->kind() == schema::FileOpKind::create ? WorkAction::written
                                                                     : WorkAction::edited;
      touch(std::string(text_of(op->path())), action, version);
    }
  }
  if (call.tool == "read_file" && !call.path.empty() && !e.is_error()) {
    touch((std::filesystem::path(workspace_) / call.path).lexically_normal().string(),
          WorkAction::read, version);
  }
  if (call.command.empty()) return;
  auto command = std::make_unique<schema::WorkCommandT>();
  command->command = first_line(call.command, kCommandBytes);
  command->exit = e.receipt()->exit();
  command->code = e.receipt()->code();
  command->version = version;
  record_.commands.push_back(std::move(command));
  if (record_.commands.size() > kWorkCommands) record_.commands.erase(record_.commands.begin());
}

std::string_view name_of(WorkAction action) {
  switch (action) {
    case WorkAction::read:
      return "read";
    case WorkAction::edited:
      return "edited";
    case WorkAction::written:
      return "written";
    case WorkAction::removed:
      return "removed";
  }
  return "";
}

/// A path is any bytes; a line of the list stays one.
std::string on_one_line(std::string_view path) {
  std::string line(path);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, '?');
  return line;
}

std::string outcome(const schema::WorkCommandT& command) {
  switch (command.exit) {
    case ExitKind::ok:
      return "ok";
    case ExitKind::exited:
      return fmt::format("exit {}", command.code);
    case ExitKind::signalled:
      return fmt::format("killed by signal {}", command.code);
    case ExitKind::timed_out:
      return "timed out";
    default:
      return "did not finish";
  }
}

}  // namespace

Result<void> extend_work(journal::Journal& journal, const SessionId& session,
                         const std::string& workspace, std::uint64_t first, std::uint64_t last,
                         WorkRecord& record) {
  Recorder recorder(journal, workspace, record);
  Result<void> status;
  auto read = journal.read(session, first, journal::ReadMode::strict, [&](const auto& entry) {
    if (entry.version > last) return false;
    status = recorder.take(*entry.event);
    return status.has_value();
  });
  if (!read) return fail(std::move(read.error()));
  return status;
}

std::string render_work(const std::vector<std::unique_ptr<schema::WorkFileT>>& files,
                        const std::vector<std::unique_ptr<schema::WorkCommandT>>& commands,
                        std::size_t limit) {
  constexpr std::size_t kTitles = 100;  // bytes that headings and the note of older files may take
  std::string ran;
  for (const auto& command : commands) {
    ran += fmt::format("- {} ({})\n", command->command, outcome(*command));
  }
  if (!ran.empty()) ran = "Last commands, oldest first:\n" + ran;
  if (ran.size() > limit) ran.clear();
  const std::size_t room = limit - ran.size();
  std::string touched;
  std::size_t left_out = files.size();
  for (std::size_t i = files.size(); i-- > 0;) {
    auto line = fmt::format("- {} ({})\n", on_one_line(files[i]->path), name_of(files[i]->action));
    if (touched.size() + line.size() + kTitles > room) break;
    touched += line;
    --left_out;
  }
  if (touched.empty()) return ran;
  const std::string more =
      left_out > 0 ? fmt::format("- and {} older ones\n", left_out) : std::string();
  return "Files, last touched first:\n" + touched + more + ran;
}

}  // namespace daybook::engine
