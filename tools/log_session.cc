#include "tools/log_session.h"

#include <fmt/format.h>

#include <algorithm>

#include "schema/utf8.h"
#include "tools/log_identity.h"

namespace daybook::tools {
namespace {

constexpr std::size_t kMostDamageListed = 20;
constexpr std::size_t kMostNotes = 20;
constexpr std::size_t kTitleBytes = 120;
/// How long a header waits for the session's first prompt.
constexpr std::size_t kMostBeforeHeader = 256;

}  // namespace

void LogReading::begin_line(const LogLine& line) {
  // A byte-order mark is no line's.
  if (options_.depth == Depth::whole && digested_ == 0 && line.offset == 3) {
    digester_.update("\xef\xbb\xbf");
    digested_ = 3;
  }
  line_ = line.bytes;
  line_offset_ = line.offset;
  if (told_ > 0) {
    if (const auto part = bytes_.part_at(line.offset); part.number >= told_) {
      report_ = {};
      told_ = 0;
      told_bytes_ = part.start;
    }
  }
  ++report_.lines;
}

void LogReading::end(std::uint64_t read, std::uint64_t committed) {
  report_.bytes = read - told_bytes_;
  report_.committed = committed - std::min(told_bytes_, committed);
}

std::pair<const std::string&, std::uint64_t> LogReading::place(std::uint64_t offset) const {
  const auto part = bytes_.part_at(offset);
  const LogSource& file = part.number == 0 ? source_ : source_.rest[part.number - 1];
  return {file.path, offset - part.start};
}

void LogReading::end_line() {
  if (options_.depth == Depth::whole) prefix(line_offset_ + line_.size());
  line_offset_ += line_.size();
  line_ = {};
}

Digest LogReading::prefix(std::uint64_t end) {
  if (end > digested_ && end <= line_offset_ + line_.size()) {
    const std::uint64_t from = std::max(digested_, line_offset_);
    digester_.update(line_.substr(from - line_offset_, end - from));
    digested_ = end;
  }
  return digester_.digest();
}

void LogReading::damaged(std::uint64_t offset, std::string what) {
  if (!damaged_.insert(offset).second) return;
  ++report_.damaged;
  if (report_.damage.size() < kMostDamageListed) {
    const auto [path, at] = place(offset);
    report_.damage.push_back({path, at, std::move(what)});
  }
}

void LogReading::unmapped(const std::string& type, std::uint64_t offset) {
  ++report_.unmapped;
  const auto found = std::ranges::find(report_.types, type, &UnmappedType::type);
  if (found != report_.types.end()) {
    ++found->count;
  } else if (report_.types.size() < kMostDamageListed) {
    const auto [path, at] = place(offset);
    report_.types.push_back({type, 1, path, at});
  }
}

void LogReading::note(const std::string& what) {
  if (report_.notes.size() < kMostNotes &&
      std::ranges::find(report_.notes, what) == report_.notes.end()) {
    report_.notes.push_back(what);
  }
}

void LogReading::deliver(const std::string& session, EventDraft draft) {
  if (error_) return;
  ++report_.events;
  if (auto done = sink_.event(session, std::move(draft)); !done) error_ = done.error();
}

void LogReading::recall(const std::string& session, const Origin& first,
                        const std::function<void(const LogRecord&)>& take) {
  if (!whole() || error_) return;
  const LogReport report = report_;
  const auto damaged = damaged_;
  JsonTape tape;
  const auto visit = [&](const EarlierLine& line) { recall(line, tape, take); };
  const auto done = sink_.visit_earlier_lines(session, *first.place(), visit);
  report_ = report;
  damaged_ = damaged;
  if (!done && !error_) error_ = done.error();
}

void LogReading::recall(const EarlierLine& line, JsonTape& tape,
                        const std::function<void(const LogRecord&)>& take) {
  const auto value = JsonSpan::whole(line.text, &tape);
  if (!value) return;
  recalled_ = &line;
  take({*value, line.offset});
  recalled_ = nullptr;
}

void LogReading::recall_line(const EarlierLine& line,
                             const std::function<void(const LogRecord&)>& take) {
  const LogReport report = report_;
  const auto damaged = damaged_;
  JsonTape tape;
  recall(line, tape, take);
  report_ = report;
  damaged_ = damaged;
}

std::uint64_t LogReading::occurrence(std::string_view key) {
  return occurrences_[xxh3_64(as_bytes(key))]++;
}

Origin::Origin(LogReading& reading, const LogRecord& record, std::int64_t at) : at_(at) {
  fill(reading, record.offset, record.value.raw(), true);
}

Origin::Origin(LogReading& reading, const LogLine& line) {
  fill(reading, line.offset, line.text, false);
}

void Origin::fill(LogReading& reading, std::uint64_t offset, std::string_view raw, bool json) {
  if (reading.usage_only()) return;
  auto again = std::make_shared<schema::ProvenanceT>();
  const EarlierLine* earlier = reading.recalled();
  recalled_ = earlier != nullptr && earlier->held;
  again->kind = name_of(reading.kind());
  again->file = earlier != nullptr ? earlier->file : std::string_view(reading.source().file);
  again->offset = offset;
  again->length = raw.size();
  again->at = at_;
  if (reading.whole()) {
    again->line_sha256 = sha256(raw);
    again->payload_sha256 = json ? payload_sha256(raw) : again->line_sha256;
  }
  if (reading.whole() && !recalled_) {
    if (earlier == nullptr) {
      again->prefix = std::make_unique<schema::Digest>(reading.prefix(offset + raw.size()).fb());
    }
    auto first = std::make_shared<schema::ProvenanceT>(*again);
    first->raw = reading.sink().content(raw);
    first_ = std::move(first);
  } else {
    first_ = again;
  }
  again_ = std::move(again);
}

std::shared_ptr<const schema::ProvenanceT> Origin::take() {
  if (taken_) return again_;
  taken_ = true;
  return first_;
}

std::string title_of(std::string_view prompt) {
  std::size_t start = 0;
  while (start < prompt.size() && (prompt[start] == '\n' || prompt[start] == ' ')) ++start;
  return first_line(prompt.substr(start), kTitleBytes);
}

Uuid log_id(const LogReading& reading, std::string_view role, std::string_view stable_id,
            std::uint64_t occurrence) {
  return log_event_id(reading.kind(), role, stable_id, occurrence);
}

LogSession::LogSession(LogReading& reading, std::string id) : reading_(reading) {
  header_.kind = name_of(reading.kind());
  header_.log_session = std::move(id);
}

std::shared_ptr<const replay::CallSession> LogSession::call_session() {
  if (call_session_ == nullptr) {
    auto made = std::make_shared<replay::CallSession>();
    made->kind = header_.kind;
    made->id = header_.log_session;
    made->parent = header_.parent;
    made->relation = header_.relation;
    made->project = header_.workspace;
    made->agent = header_.agent;
    made->title = header_.title;
    call_session_ = std::move(made);
  }
  return call_session_;
}

void LogSession::add(EventDraft draft) {
  if (!header_out_ && header_.started_at == 0 && draft.provenance != nullptr) {
    header_.started_at = draft.provenance->at;
  }
  if (first_origin_ == nullptr && draft.provenance != nullptr) {
    auto header_origin = std::make_shared<schema::ProvenanceT>();
    header_origin->kind = draft.provenance->kind;
    header_origin->file = draft.provenance->file;
    header_origin->offset = draft.provenance->offset;
    header_origin->length = draft.provenance->length;
    first_origin_ = std::move(header_origin);
  }
  if (holding_) {
    waiting_.push_back(std::move(draft));
  } else {
    hand_over(std::move(draft));
  }
}

std::uint64_t LogSession::add_call(EventDraft request, EventDraft response,
                                   std::vector<EventDraft> followers) {
  put_header();
  hand_over(std::move(request));
  const std::uint64_t position = position_;
  hand_over(std::move(response));
  for (EventDraft& follower : followers) hand_over(std::move(follower));
  return position;
}

void LogSession::release() {
  holding_ = false;
  while (!waiting_.empty()) {
    hand_over(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

void LogSession::set_aside(std::string_view why) {
  for (EventDraft& draft : waiting_) {
    const bool line = draft.payload.AsImportedLine() != nullptr;
    // Of what has no line of its own there is nothing to keep.
    if (line || draft.provenance == nullptr || draft.provenance->raw == nullptr) continue;
    schema::ImportedLineT kept;
    kept.type = "waiting";
    kept.reason = schema::ImportReason::metadata;
    kept.detail = why;
    EventDraft made = daybook::draft(std::move(kept), turn_);
    made.id = log_id(reading_, "waiting", draft.id.value().str());
    made.provenance = std::move(draft.provenance);
    draft = std::move(made);
  }
  std::erase_if(waiting_,
                [](const EventDraft& draft) { return draft.payload.AsImportedLine() == nullptr; });
}

void LogSession::put_header() {
  if (header_out_) return;
  header_out_ = true;
  if (first_origin_ != nullptr) first_origin_->at = header_.started_at;
  EventDraft made = draft(header_);
  made.id = log_id(reading_, "session", header_.log_session);
  made.provenance = first_origin_;
  ++position_;
  reading_.deliver(id(), std::move(made));
  for (EventDraft& waiting : before_header_) hand_over(std::move(waiting));
  before_header_.clear();
  before_header_.shrink_to_fit();
}

void LogSession::hand_over(EventDraft draft) {
  if (!header_out_) {
    const bool settled = !header_.title.empty();
    if (!settled && before_header_.size() < kMostBeforeHeader) {
      before_header_.push_back(std::move(draft));
      return;
    }
    put_header();
  }
  ++position_;
  reading_.deliver(id(), std::move(draft));
}

void LogSession::name_by(std::string_view prompt) {
  if (header_.title.empty() && !header_out_) header_.title = title_of(prompt);
}

void LogSession::start_turn(std::string_view prompt, Origin& origin, std::string_view stable_id) {
  name_by(prompt);
  if (reading_.usage_only()) return;
  if (turn_open_) {
    end_turn(schema::TurnOutcome::interrupted, "", "the log does not say how this turn ended",
             origin);
  }
  ++turn_;
  turn_open_ = true;
  schema::TurnStartedT started;
  started.turn = turn_;
  started.prompt = reading_.sink().content(prompt);
  started.provider = header_.kind;
  started.provider_kind = header_.kind;
  add(std::move(started), origin, "turn", stable_id);
}

void LogSession::end_turn(schema::TurnOutcome outcome, std::string_view answer,
                          std::string_view message, Origin& origin) {
  if (reading_.usage_only() || !turn_open_) return;
  turn_open_ = false;
  schema::TurnEndedT ended;
  ended.turn = turn_;
  ended.outcome = outcome;
  if (outcome == schema::TurnOutcome::completed) ended.answer = reading_.sink().content(answer);
  ended.message = message;
  EventDraft made = draft(std::move(ended), turn_);
  made.id = log_id(reading_, "turn-end", id(), turn_);
  // The record itself belongs to what comes next: its raw text stays with that.
  auto provenance = std::make_shared<schema::ProvenanceT>();
  provenance->kind = header_.kind;
  provenance->file = reading_.source().file;
  provenance->offset = origin.offset();
  provenance->at = origin.at();
  made.provenance = std::move(provenance);
  add(std::move(made));
}

void LogSession::keep(std::string_view type, schema::ImportReason reason, std::string_view detail,
                      Origin& origin, std::span<const Uuid> repeats) {
  switch (reason) {
    case schema::ImportReason::metadata:
      ++reading_.report().metadata;
      break;
    case schema::ImportReason::duplicate:
      ++reading_.report().duplicates;
      break;
    case schema::ImportReason::unmapped:
      reading_.unmapped(std::string(type), origin.offset());
      break;
    case schema::ImportReason::damaged:
      break;
  }
  if (reading_.usage_only()) return;
  schema::ImportedLineT line;
  line.type = type;
  line.reason = reason;
  line.detail = detail;
  for (const Uuid& id : repeats) line.repeats.emplace_back(id.hi, id.lo);
  std::string stable(type);
  if (reading_.whole()) {
    const auto& hash = origin.payload_hash();
    stable.append(hash.begin(), hash.end());
    // Its like may have waited at the end of an earlier part.
    if (detail == kWaitingLine) stable += std::to_string(origin.at());
  } else {
    stable += std::to_string(origin.offset());
  }
  const std::uint64_t occurrence = reading_.occurrence(stable);
  if (origin.recalled()) return;
  EventDraft made = draft(std::move(line), turn_);
  made.id = log_id(reading_, "line", stable, occurrence);
  made.provenance = origin.take();
  add(std::move(made));
}

void LogSession::finish() {
  const auto is_line = [](const EventDraft& draft) {
    return draft.payload.AsImportedLine() != nullptr;
  };
  if (!header_out_ && !goes_on_ && std::ranges::all_of(before_header_, is_line) &&
      std::ranges::all_of(waiting_, is_line)) {
    if (!before_header_.empty() || !waiting_.empty()) {
      reading_.note("files without a prompt or an answer: no session is made of them");
    }
    before_header_.clear();
    waiting_.clear();
    return;
  }
  put_header();
  release();
}

std::string visit_records(LogReading& reading, const LogLine& line,
                          const std::function<bool(JsonSpan)>& is_record,
                          const std::function<void(const LogRecord&)>& visit) {
  const std::string_view text = line.text;
  if (log_json::skip_space(text, 0) == text.size()) return {};
  if (const auto whole = JsonSpan::whole(text, &reading.tape()); whole && !line.too_long) {
    const auto before = static_cast<std::size_t>(whole->raw().data() - text.data());
    visit({*whole, line.offset + before});
    return {};
  }
  // Torn, spliced, or holed: take the records that are still in it. Trying costs at most a few
  // times the line, whatever it holds.
  std::size_t budget = text.size() * 8 + 4096;
  std::size_t at = 0;
  std::size_t taken = 0;
  std::size_t covered = 0;
  while (budget > 0 && (at = text.find('{', at)) != std::string_view::npos) {
    const auto start = JsonSpan::start_of(text.substr(at));
    budget -= std::min(budget, start.end + 1);
    if (start.value) {
      if (is_record(start.value)) {
        visit({start.value, line.offset + at});
        ++taken;
        covered += start.end;
      }
      at += start.end;
      continue;
    }
    // A record that another one cuts into stops making sense where that one starts.
    const std::size_t wrong = std::min(at + start.end, text.size() - 1);
    const std::size_t next = text.rfind('{', wrong);
    at = next > at && at + start.end < text.size() ? next : at + 1;
  }
  const std::size_t spaces =
      static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return c == ' '; }));
  if (taken > 1 && covered + spaces >= text.size()) {
    reading.note("records without a line break between them");
    return {};
  }
  const bool holed = text.find('\0') != std::string_view::npos;
  return line.too_long ? fmt::format("longer than the limit of {} bytes", reading.most_line_bytes())
         : holed       ? "holds NUL bytes"
         : nests_too_deep(text)
             ? fmt::format("nests deeper than the limit of {} levels", kMostJsonNesting)
         : taken > 0      ? "spliced: part of it was read"
         : !line.complete ? "is cut off"
                          : "is not JSON";
}

namespace {

/// Lines looked at one by one for the session's header, before only candidates are.
constexpr std::uint64_t kMostHeadLines = 200;

/// A last line without its end: taken when all of it is records, left alone while it is being
/// written.
bool is_unfinished(const LogLine& line) {
  if (line.complete || line.too_long) return false;
  const std::string_view text = line.text;
  std::size_t at = log_json::skip_space(text, 0);
  bool any = false;
  while (at < text.size()) {
    const auto next = JsonSpan::start_of(text.substr(at));
    if (!next.value.is_object() || next.end == 0) return !nests_too_deep(text);
    any = true;
    at = log_json::skip_space(text, at + next.end);
  }
  return !any;
}

}  // namespace

Result<void> read_records(LogReading& reading, ByteSource& source, RecordReader& reader) {
  LineReader lines(source, reading.most_line_bytes());
  LogLine line;
  const Prefilter find = [&](std::string_view text) { return reader.find(text); };
  const auto is_record = [&](JsonSpan value) { return reader.is_record(value); };
  const auto take = [&](const LogRecord& record) { reader.take(record); };
  while (!reading.error()) {
    reading.end_line();
    const bool skim = reading.usage_only() && reader.skims() &&
                      (reader.head_done() || reading.report().lines >= kMostHeadLines);
    const auto got = skim ? lines.next_match(find, line) : lines.next(line);
    if (!got && got.error().code != ErrorCode::corrupt) return fail(got.error());
    if (!got) reading.damaged(lines.read_bytes(), got.error().message);
    if (!got || !*got) break;
    if (is_unfinished(line)) {
      if (!line.text.empty()) {
        reading.note(
            fmt::format("the last line, {} bytes at offset {}, is unfinished: left for "
                        "the next time",
                        line.text.size(), line.offset));
      }
      break;
    }
    reading.begin_line(line);
    const std::string what = visit_records(reading, line, is_record, take);
    if (!what.empty()) {
      reading.damaged(line.offset, what);
      if (!reading.usage_only()) reader.take_damaged(Origin(reading, line), what);
    }
    if (reading.options().progress) reading.options().progress(source.consumed());
  }
  if (reading.error()) return fail(*reading.error());
  reader.finish();
  reading.end(lines.read_bytes(), lines.committed());
  if (reading.error()) return fail(*reading.error());
  return {};
}

Result<void> read_document(LogReading& reading, ByteSource& source,
                           const std::function<void(JsonSpan)>& take) {
  // A document is one value: it is held whole, up to the longest line that any log may have.
  std::string text;
  while (text.size() <= reading.most_line_bytes()) {
    constexpr std::size_t kStep = std::size_t{256} << 10;
    const std::size_t have = text.size();
    text.resize(have + kStep);
    const auto got = source.read(text.data() + have, kStep);
    if (!got) return fail(got.error());
    text.resize(have + *got);
    if (*got == 0) break;
  }
  reading.report().bytes = text.size();
  if (text.size() > reading.most_line_bytes()) {
    reading.damaged(0, fmt::format("longer than the limit of {} bytes", reading.most_line_bytes()));
    return {};
  }
  const auto document = JsonSpan::whole(text);
  if (!document || !document->is_object()) {
    reading.damaged(0,
                    nests_too_deep(text)
                        ? fmt::format("nests deeper than the limit of {} levels", kMostJsonNesting)
                        : "is not a JSON document");
    return {};
  }
  LogLine all;
  all.text = text;
  all.bytes = text;
  all.complete = true;
  reading.begin_line(all);
  reading.report().lines = 0;
  take(*document);
  reading.report().committed = text.size();
  if (reading.error()) return fail(*reading.error());
  return {};
}

}  // namespace daybook::tools
