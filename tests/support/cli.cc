#include "tests/support/cli.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "journal/session_writer.h"

namespace daybook::tests {
namespace {

using journal::Batch;

constexpr std::int64_t kStart = 1'767'225'600'000'000'000;  // 2026-01-01T00:00:00Z
constexpr std::int64_t kSecond = 1'000'000'000;

/// One second a stamp.
journal::Stamper stamper() {
  auto now = std::make_shared<std::int64_t>(kStart);
  return [now] {
    *now += kSecond;
    return journal::Stamp{*now, 7, static_cast<std::uint64_t>(*now)};
  };
}

void must(journal::Journal& journal, journal::Append append) {
  const auto appended = append_and_wait(journal, std::move(append));
  DAYBOOK_CHECK(appended.has_value());
}

void add_start(Batch& batch) {
  schema::OwnerAcquiredT owner;
  owner.owner = "pid 1 on tester (daybook run)";
  batch.add(draft(std::move(owner)));
  schema::SessionStartedT started;
  started.daybook_version = "0.1.0";
  started.agent = "cowork";
  started.workspace = "/work space";
  started.title = "List the files";
  batch.add(draft(std::move(started)));
  schema::PolicyChangedT policy;
  policy.generation = 1;
  auto root = std::make_unique<schema::RootT>();
  root->path = "/work space";
  root->writable = true;
  policy.roots.push_back(std::move(root));
  policy.reason = "start";
  batch.add(draft(std::move(policy)));
  schema::TurnStartedT turn;
  turn.turn = 1;
  turn.prompt = batch.content("List the files");
  turn.provider = "script";
  turn.provider_kind = "script";
  turn.model = "demo.toml";
  turn.max_iterations = 50;
  batch.add(draft(std::move(turn), 1));
}

std::unique_ptr<schema::BlockT> text_block(Batch& batch, std::string_view text) {
  auto block = std::make_unique<schema::BlockT>();
  block->text = batch.content(text);
  return block;
}

void add_request(Batch& batch, std::uint32_t number) {
  schema::ModelRequestedT request;
  request.request = number;
  request.attempt = 1;
  request.provider = "script";
  request.model = "demo.toml";
  request.head = batch.content("{}");
  request.appended.emplace_back(schema::Segment(batch.blob("segment of the request").fb()));
  batch.add(draft(std::move(request), 1));
}

void add_call(Batch& batch) {
  schema::ModelRespondedT response;
  response.blocks.push_back(text_block(batch, "I will look."));
  auto call = std::make_unique<schema::BlockT>();
  call->kind = schema::BlockKind::tool_call;
  call->text = batch.content(R"({"command":"ls"})");
  call->call_id = "c1";
  call->tool = "run_shell";
  response.blocks.push_back(std::move(call));
  response.stop = schema::StopReason::tool_calls;
  response.usage = std::make_unique<schema::UsageT>();
  response.usage->input_total = 12;
  response.started_at = kStart + 5;
  batch.add(draft(std::move(response), 1, 5));
  schema::ApprovalRequestedT asked;
  asked.call_id = "c1";
  asked.tool = "run_shell";
  asked.arguments_digest = std::make_unique<schema::Digest>(Digest::of(R"({"command":"ls"})").fb());
  asked.summary = "run `ls`";
  asked.policy_generation = 1;
  batch.add(draft(std::move(asked), 1, 6));
}

void add_decision(Batch& batch) {
  const auto digest = Digest::of(R"({"command":"ls"})").fb();
  schema::ApprovalDecidedT approval;
  approval.call_id = "c1";
  approval.arguments_digest = std::make_unique<schema::Digest>(digest);
  approval.actor = "tester";
  batch.add(draft(std::move(approval), 1, 7));
  schema::ToolDecidedT decided;
  decided.call_id = "c1";
  decided.tool = "run_shell";
  decided.arguments_digest = std::make_unique<schema::Digest>(digest);
  decided.decided_by = "person:tester";
  decided.policy_generation = 1;
  batch.add(draft(std::move(decided), 1, 8));
  schema::ToolDispatchedT dispatched;
  dispatched.call_id = "c1";
  dispatched.tool = "run_shell";
  dispatched.attempt = 1;
  dispatched.arguments_digest = std::make_unique<schema::Digest>(digest);
  dispatched.effect = schema::Effect::uncheckable;
  dispatched.cwd = "/work space";
  dispatched.policy_generation = 1;
  dispatched.provider = "direct";
  dispatched.enforcement = "none";
  batch.add(draft(std::move(dispatched), 1, 9));
}

void add_receipt(Batch& batch) {
  schema::ToolCompletedT completed;
  completed.call_id = "c1";
  completed.receipt = std::make_unique<schema::ReceiptT>();
  schema::ReceiptT& receipt = *completed.receipt;
  receipt.exit = schema::ExitKind::exited;
  receipt.code = 3;
  receipt.cwd_before = "/work space";
  receipt.cwd_after = "/work space";
  receipt.started_at = kStart + 10 * kSecond;
  receipt.ended_at = kStart + 11 * kSecond;
  receipt.duration_ns = 1'250'000'000;
  const std::string result = demo_result();
  receipt.output =
      std::make_unique<schema::Stream>(result.size(), result.size(), Digest::of(result).fb());
  auto file = std::make_unique<schema::FileOpT>();
  file->kind = schema::FileOpKind::create;
  file->path = "/work space/new.txt";
  file->after = std::make_unique<schema::Digest>(Digest::of("new").fb());
  file->after_size = 3;
  receipt.files.push_back(std::move(file));
  completed.result = batch.content(result);
  batch.add(draft(std::move(completed), 1, 10));
}

void add_end(Batch& batch) {
  schema::ModelRespondedT response;
  response.blocks.push_back(text_block(batch, "There is one file: größe.txt"));
  batch.add(draft(std::move(response), 1, 12));
  schema::TurnEndedT ended;
  ended.turn = 1;
  ended.answer = batch.content("There is one file: größe.txt");
  batch.add(draft(std::move(ended), 1, 13));
  schema::OwnerReleasedT released;
  released.reason = "end";
  batch.add(draft(std::move(released)));
}

}  // namespace

std::string demo_result() {
  std::string result = "größe.txt\n\x1b[31mred\n";
  while (result.size() < 3'000) result += "line\n";
  return result;
}

void write_demo(journal::Journal& journal, const std::string& name) {
  const SessionId session = SessionId::parse(name).value();
  journal::SessionWriter pen(session, {}, stamper());
  Batch first;
  add_start(first);
  must(journal, pen.acquire(std::move(first)));
  for (const auto add : {+[](Batch& batch) { add_request(batch, 1); }, &add_call, &add_decision,
                         &add_receipt, +[](Batch& batch) { add_request(batch, 2); }, &add_end}) {
    Batch batch;
    add(batch);
    must(journal, pen.next(std::move(batch)));
  }
}

CliRun Cli::run(const std::vector<std::string>& arguments) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  tools::Context context{in, out, err, environment, "/current", false, terminal, columns, stop, {}};
  context.open_journal = [&](const std::string& folder,
                             journal::OpenMode mode) -> Result<std::unique_ptr<journal::Journal>> {
    if (!on_disk) return std::make_unique<MemoryJournal>(store);
    journal::RocksOptions options;
    options.folder = folder;
    options.mode = mode;
    return journal::open_rocks_journal(std::move(options));
  };
  const int code = tools::run_cli(arguments, context);
  return {code, out.str(), err.str()};
}

Cli with_demo() {
  Cli cli;
  MemoryJournal journal(cli.store);
  write_demo(journal);
  return cli;
}

std::vector<Json> json_lines(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(parse_json(line).value());
  return lines;
}

}  // namespace daybook::tests
