#include "engine/span.h"

#include <fmt/format.h>

#include <array>

#include "engine/result_cap.h"
#include "engine/span_result.h"
#include "engine/work_record.h"

namespace daybook::engine {
namespace {

/// What results of tools are cut to, one after the other, until the span fits.
constexpr std::array<std::size_t, 4> kResultLimits = {SIZE_MAX, 4'000, 1'000, 300};

std::string label(const PastItem& item) {
  switch (item.kind) {
    case SpanKind::kUser:
      return "user";
    case SpanKind::kAssistant:
      return "assistant";
    case SpanKind::kToolCall:
      return "call of " + item.tool;
    case SpanKind::kToolResult:
      return fmt::format("result of {}{}", item.tool, item.ok ? "" : ", an error");
    case SpanKind::kPriorSummary:
      return "summary of what came before";
    case SpanKind::kInjected:
      return "notice";
  }
  return "";
}

std::string paragraph(const PastItem& item, std::size_t result_limit) {
  const bool cut = item.kind == SpanKind::kToolResult && item.text.size() > result_limit;
  return fmt::format(
      "[{}]\n{}\n\n", label(item),
      cut ? cap_result(item.text, result_limit, "shortened for this transcript") : item.text);
}

/// Keeps what stands at both ends: the task, and where the work is.
std::string without_middle(const std::vector<std::string>& paragraphs, std::size_t limit) {
  const std::string note = "[pieces from the middle are left out here]\n\n";
  const std::size_t half = limit > note.size() ? (limit - note.size()) / 2 : 0;
  std::size_t head = 0;
  std::size_t used = 0;
  while (head < paragraphs.size() && used + paragraphs[head].size() <= half) {
    used += paragraphs[head++].size();
  }
  std::size_t tail = paragraphs.size();
  std::size_t kept = 0;
  while (tail > head && used + kept + paragraphs[tail - 1].size() + note.size() <= limit) {
    kept += paragraphs[--tail].size();
  }
  std::string text;
  for (std::size_t i = 0; i < head; ++i) text += paragraphs[i];
  if (tail > head) text += note;
  for (std::size_t i = tail; i < paragraphs.size(); ++i) text += paragraphs[i];
  return text;
}

Result<void> add_pieces(journal::Journal& journal, const PastMessage& past,
                        std::vector<PastItem>& items) {
  auto message = neutral_message(journal, past, "");
  if (!message) return fail(std::move(message.error()));
  const std::uint64_t version = past.mark->first();
  if (message->role == Role::user) {
    items.push_back({SpanKind::kUser, std::move(message->text), "", true, version});
  }
  for (auto& block : message->blocks) {
    if (block.kind == schema::BlockKind::tool_call) {
      std::string text = call_in_one_form(block.tool, std::move(block.text));
      items.push_back({SpanKind::kToolCall, std::move(text), std::move(block.tool), true, version});
    } else if (block.kind == schema::BlockKind::text && !block.text.empty()) {
      items.push_back({SpanKind::kAssistant, std::move(block.text), "", true, version});
    }
  }
  for (auto& result : message->results) {
    std::string text = result_in_one_form(result.tool, std::move(result.text));
    items.push_back({SpanKind::kToolResult, std::move(text), std::move(result.tool),
                     !result.is_error, version});
  }
  return {};
}

}  // namespace

Result<std::vector<PastItem>> read_span(journal::Journal& journal, const SessionId& session,
                                        std::uint64_t first, std::uint64_t last) {
  std::vector<PastItem> items;
  Result<void> status;
  auto read = read_messages(journal, session, first, last, [&](const PastMessage& past) {
    status = add_pieces(journal, past, items);
    return status.has_value();
  });
  if (!read) return fail(std::move(read.error()));
  if (!status) return fail(std::move(status.error()));
  return items;
}

Result<std::vector<PastItem>> block_items(journal::Journal& journal, const SessionState& state) {
  const auto& c = *state.compaction;
  std::vector<PastItem> items;
  if (c.committed == 0) return items;
  const auto add = [&](SpanKind kind, const schema::ContentT* content) -> Result<void> {
    auto text = journal::content_bytes(journal, content);
    if (!text) return fail(std::move(text.error()));
    if (!text->empty()) items.push_back({kind, std::move(*text), "", true, 0});
    return {};
  };
  DAYBOOK_TRY(add(SpanKind::kUser, state.first_prompt.get()));
  for (const auto& user : c.users) DAYBOOK_TRY(add(SpanKind::kUser, user->text.get()));
  DAYBOOK_TRY(add(SpanKind::kPriorSummary, c.last_summary.get()));
  std::string work = render_work(c.files, c.commands, SIZE_MAX);
  if (!work.empty()) {
    items.push_back({SpanKind::kInjected, "Working state:\n" + std::move(work), "", true, 0});
  }
  return items;
}

Result<std::vector<PastItem>> summarised_items(journal::Journal& journal,
                                               const SessionState& state) {
  auto session = SessionId::parse(state.session);
  if (!session) return fail(std::move(session.error()));
  auto items = block_items(journal, state);
  if (!items) return items;
  auto span = read_span(journal, *session, state.compaction->first, state.compaction->last);
  if (!span) return span;
  items->insert(items->end(), std::make_move_iterator(span->begin()),
                std::make_move_iterator(span->end()));
  return items;
}

std::vector<SpanItem> gate_items(const std::vector<PastItem>& items) {
  std::vector<SpanItem> views;
  views.reserve(items.size());
  for (const PastItem& item : items) views.push_back({item.kind, item.text, item.tool, item.ok});
  return views;
}

std::string render_span(const std::vector<PastItem>& items, std::size_t limit) {
  std::vector<std::string> paragraphs(items.size());
  for (const std::size_t result_limit : kResultLimits) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
      paragraphs[i] = paragraph(items[i], result_limit);
      size += paragraphs[i].size();
    }
    if (size <= limit) break;
    if (result_limit == kResultLimits.back()) return without_middle(paragraphs, limit);
  }
  std::string text;
  for (const auto& each : paragraphs) text += each;
  return text;
}

}  // namespace daybook::engine
