// The worked examples of docs/cache-examples.md: sessions that the tests' provider answered, one
// for each cause, explained by the command itself.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <sstream>

#include "journal/rocks_journal.h"
#include "journal/session_writer.h"
#include "replay/cache_money.h"
#include "tests/support/build_paths.h"
#include "tests/support/cache_session.h"
#include "tests/support/cli.h"
#include "tests/support/journal_events.h"
#include "tests/support/temp_dir.h"
#include "tools/cache_text.h"

namespace daybook::tests {
namespace {

using replay::CacheArea;
using replay::CacheCall;
using replay::CacheSegment;

struct Example {
  const char* code;
  const char* story;
};

/// Our own sessions cannot show these: they send at most four markers, all of one lifetime, and do
/// not know the workspace of a key.
bool is_foreign(const std::string& code) {
  return code == "P6.count" || code == "P6.ttl_order" || code == "P8.workspace";
}

/// In the order of the taxonomy.
const std::vector<Example>& examples() {
  static const std::vector<Example> kExamples = {
      {"E0", "The first call of a session."},
      {"E1", "The second call: the first one's prompt again, and a tool's result behind it."},
      {"E2", "Before the seventh call a summary takes the place of all but the last message."},
      {"E3", "The seventh call goes back to the fifth message and asks something else."},
      {"P1", "The seventh call goes to another model."},
      {"P2.added", "A tool `fetch` appears between the others."},
      {"P2.removed", "The tool `grep` is gone."},
      {"P2.reordered", "Two tools have changed places."},
      {"P2.schema", "A number in the schema of `list` is another one."},
      {"P2.keyorder", "The schema of `list` has its keys in another order."},
      {"P3.clock", "The time in the system prompt has moved on."},
      {"P3.uuid", "The id in the system prompt is a new one."},
      {"P3.path", "The folder in the system prompt is another one."},
      {"P3.other", "A word in the system prompt is another one."},
      {"P4.mutated", "The fourth message was rewritten."},
      {"P4.deleted", "Two messages in the middle were left out."},
      {"P4.inserted", "A message was put between two that were sent before."},
      {"P4.reordered", "Two messages have changed places."},
      {"P4.reserialized", "The fourth message has a space more in its JSON."},
      {"P5.tool_choice", "`tool_choice` is given."},
      {"P5.thinking", "`thinking` is given."},
      {"P5.verbosity", "`verbosity` is given."},
      {"P5.format", "An output format is asked for."},
      {"P5.betas", "A beta feature is switched on."},
      {"P5.context_management", "`context_management` is given."},
      {"P5.image", "The last message holds an image."},
      {"P5.speed", "`speed` is given."},
      {"P6.missing", "The request has no marker."},
      {"P6.lookback", "Sixty messages came at once, and the only marker is behind them."},
      {"P6.ttl_flip", "The markers live an hour instead of five minutes."},
      {"P6.count", "The request has five markers, and the provider takes four."},
      {"P6.ttl_order", "A marker of five minutes stands before the one of an hour."},
      {"P7", "A session that stays below the model's minimum."},
      {"P8.key", "Another `prompt_cache_key`."},
      {"P8.tier", "Another service tier served the call."},
      {"P8.workspace", "The key belongs to another workspace of the account."},
      {"P8.region", "Another region served the call."},
      {"P8.provider", "The call goes to another provider."},
      {"T1", "The call starts after the cache has expired."},
      {"T2", "The lifetime counts from the request before, whose answer took most of it."},
      {"C1", "The call starts a second after the one that writes the cache."},
      {"S1", "The model drops the thinking of a tool loop when a person writes again."},
      {"R1", "Reads come in blocks of 128 tokens."},
      {"U1", "Nothing differs, and nothing is read."},
      {"U2", "The provider reports no cached tokens."},
  };
  return kExamples;
}

std::string param_member(const replay::CacheParam& param) {
  const std::string name = param.name == "format" ? "response_format" : param.name;
  return fmt::format(",\"{}\":{}", name, param.value);
}

/// Writes a run as the engine would have.
class Recorder {
 public:
  Recorder(journal::Journal& journal, const std::string& name, const SessionRun& run)
      : journal_(journal), run_(run), pen_(pen_for(session_id(name))) {
    REQUIRE(append_and_wait(journal_, acquire(pen_)));
    for (const CacheCall& call : run.calls) record(call);
  }
  /// Version of the response of the call with this index.
  std::uint64_t version(std::size_t index) const { return versions_.at(index); }

 private:
  BlobRef blob(journal::Batch& batch, const CacheSegment& segment, bool with_image) {
    std::string text = run_.texts->at(segment.raw);
    if (with_image) {
      text.insert(text.rfind("]}"), R"(,{"type":"image","source":{"type":"url","url":"x"}})");
    }
    return batch.blob(text);
  }

  schema::ModelRequestedT request(journal::Batch& batch, const CacheCall& call) {
    schema::ModelRequestedT made;
    made.request = static_cast<std::uint32_t>(versions_.size() + 1);
    made.attempt = 1;
    made.provider = call.scope.provider;
    made.provider_kind = call.provider_kind;
    made.model = call.scope.model;
    std::string head = fmt::format("\"model\":\"{}\"", call.scope.model);
    bool image = false;
    for (const replay::CacheParam& param : call.params) {
      image = image || param.name == "image";
      if (param.name != "image") head += param_member(param);
    }
    if (call.provider_kind == "openai") {
      head += fmt::format(",\"prompt_cache_key\":\"{}\"", call.scope.key);
    }
    made.head = batch.content(head);
    std::size_t first = 0;
    for (std::size_t i = 0; i < call.segments.size(); ++i) {
      const CacheSegment& segment = call.segments[i];
      const bool last = i + 1 == call.segments.size();
      const auto part = blob(batch, segment, image && last).fb();
      if (segment.area == CacheArea::tools) made.tools.emplace_back(part);
      if (segment.area == CacheArea::system) made.system.emplace_back(part);
      if (segment.area == CacheArea::messages) made.appended.emplace_back(part);
      if (segment.area != CacheArea::messages) first = i + 1;
    }
    for (const replay::CacheMark& mark : call.marks) {
      made.marker_ttl = mark.ttl;
      if (mark.segment >= first) {
        made.markers.push_back(static_cast<std::uint32_t>(mark.segment - first));
      }
    }
    made.body_digest = std::make_unique<schema::Digest>(Digest::of("body").fb());
    made.evidence = schema::Evidence::exact;
    return made;
  }

  void record(const CacheCall& call) {
    journal::Batch batch;
    if (call.after_compaction) batch.add(draft(schema::CompactionCommittedT{}, 1));
    batch.add(draft(request(batch, call), 1));
    schema::ModelRespondedT responded;
    responded.usage = std::make_unique<schema::UsageT>();
    schema::UsageT& usage = *responded.usage;
    const auto set = [](auto& field, const std::optional<std::uint64_t>& value) {
      if (value) field = *value;
    };
    set(usage.input_uncached, call.usage.input_uncached);
    set(usage.input_total, call.usage.input_total);
    set(usage.cache_read, call.usage.cache_read);
    set(usage.cache_write, call.usage.cache_write);
    set(usage.cache_write_5m, call.usage.cache_write_5m);
    set(usage.cache_write_1h, call.usage.cache_write_1h);
    usage.output = 300;
    if (call.scope.tier != "standard") usage.service_tier = call.scope.tier;
    if (call.scope.region != "us") usage.region = call.scope.region;
    responded.started_at = call.start;
    responded.first_byte_at = call.first_byte;
    responded.ended_at = call.end;
    batch.add(draft(std::move(responded), 1));
    const auto done = append_and_wait(journal_, pen_.next(std::move(batch)));
    REQUIRE(done);
    versions_.push_back(done->head.version);
  }

  journal::Journal& journal_;
  const SessionRun& run_;
  journal::SessionWriter pen_;
  std::vector<std::uint64_t> versions_;
};

SessionRun run_of(const std::string& code) {
  if (code == "R1") {
    FaultPlan plan = plan_for_fault("none", 1);
    plan.provider = "openai";
    plan.model = "gpt-5.2";
    plan.table = ProviderTable::openai_before();
    SessionRun run = run_session(plan);
    run.fault_call = 1;
    return run;
  }
  const bool plain = code == "E0" || code == "E1";
  SessionRun run = run_session(plan_for_fault(plain ? "none" : code, 1));
  if (plain) run.fault_call = code == "E0" ? 0 : 1;
  return run;
}

std::string indented(const std::string& text) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += end == at ? "\n" : "    " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

/// What the command would print of a call that another recorder kept.
std::string explained(const std::string& code, const SessionRun& run) {
  const auto& book = replay::CacheRuleBook::shipped();
  const auto prices = replay::PriceBook::shipped();
  replay::CacheAttributor attributor(book, run.bytes());
  std::istringstream in;
  std::ostringstream out;
  tools::Context context{.in = in,
                         .out = out,
                         .err = out,
                         .environment = {},
                         .current_folder = {},
                         .stop = {},
                         .open_journal = {}};
  for (std::size_t i = 0; i <= run.fault_call; ++i) {
    CacheCall call = run.calls[i];
    call.session = code;
    call.version = i + 1;
    call.usage.output = 300;
    const auto verdict = attributor.take(std::move(call));
    if (i < run.fault_call) continue;
    const auto money = money_of(verdict, price_of(prices, *verdict.call));
    print_cache_call(context, verdict, money, book.rules(*verdict.call), run.bytes());
  }
  return out.str();
}

/// The section of one cause.
std::string section(const Example& example) {
  const std::string code = example.code;
  const SessionRun run = run_of(code);
  const std::string title = fmt::format(
      "## {}: {}\n\n{}", code, replay::info_of(*replay::leaf_of(code)).meaning, example.story);
  if (is_foreign(code)) {
    const std::string text = explained(code, run);
    CHECK(text.find(code + ": ") != std::string::npos);
    return fmt::format("{} As the analysis tells it:\n\n{}\n", title, indented(text));
  }
  Cli cli;
  MemoryJournal journal(cli.store);
  const Recorder recorder(journal, code, run);
  const std::string call = fmt::format("{}:{}", code, recorder.version(run.fault_call));
  const CliRun shown = cli.run({"cache", "--why", call});
  INFO(code << "\n" << shown.out << shown.err);
  CHECK(shown.code == 0);
  CHECK(shown.out.find(code) != std::string::npos);
  return fmt::format("{}\n\n    $ daybook cache --why {}\n{}\n", title, call, indented(shown.out));
}

std::string page() {
  std::string text =
      "# One call for each cause\n\n"
      "Sessions of nine calls in which one thing goes wrong, answered by a simulated provider\n"
      "that follows the documented rules. Each is in a journal of its own. The tests compare this\n"
      "page with what the command prints;\n"
      "`DAYBOOK_EXAMPLES=FOLDER build/release/test_tools \"write the cache examples\"` writes it,\n"
      "and the journals into the folder, where `daybook cache --journal FOLDER/CAUSE` reads "
      "them.\n\n"
      "Three causes cannot be shown with Daybook's own sessions, which send at most four markers\n"
      "of one lifetime and do not know a key's workspace: P6.count, P6.ttl_order and "
      "P8.workspace.\n"
      "There the calls are given to the analysis as another recorder would, numbered from one.\n\n";
  for (const Example& example : examples()) text += section(example);
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

TEST_CASE("the page of examples shows what the command prints") {
  CHECK(read_file(source_path("/docs/cache-examples.md")) == page());
}

TEST_CASE("write the cache examples", "[.generate]") {
  const char* folder = std::getenv("DAYBOOK_EXAMPLES");
  REQUIRE(folder != nullptr);
  for (const Example& example : examples()) {
    if (is_foreign(example.code)) continue;
    auto journal =
        journal::open_rocks_journal({.folder = fmt::format("{}/{}", folder, example.code),
                                     .mode = journal::OpenMode::create,
                                     .owner = "examples",
                                     .post = {},
                                     .file_system = {}});
    REQUIRE(journal.has_value());
    Recorder(**journal, example.code, run_of(example.code));
  }
  write_file(source_path("/docs/cache-examples.md"), page());
}

}  // namespace
}  // namespace daybook::tests
