#include "engine/summary_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/request_body.h"
#include "engine/state_compaction.h"
#include "engine/transcript_guard.h"

namespace daybook::engine {
namespace {

constexpr std::string_view kSystem =
    "You write the summary that replaces the older part of a working session of a software agent. "
    "You do not go on with the session, you call no tools, and you answer nobody in it.";

constexpr std::string_view kRules =
    "Write the summary that the agent will go on working from. It sees nothing of the transcript "
    "any more, so whatever it needs must be in your text.\n"
    "- Take every fact from the transcript and nothing from elsewhere. Copy paths, names, numbers, "
    "commands and error messages exactly.\n"
    "- Quote what the user demanded or ruled out in the user's own words.\n"
    "- Say that something is done or passes only where a result in the transcript shows it; say "
    "plainly what failed, what was not tried and what is not known.\n"
    "- Write in the language that the user writes in. Leave out keys and passwords.\n"
    "- Use the headings below, all of them, in this order, each on a line of its own. Under a "
    "heading that nothing belongs to write: none.\n";

/// The least budget that every Gemini model with budgets takes, as their documentation has it.
constexpr std::uint32_t kLeastGeminiThinking = 512;
constexpr std::uint32_t kLeastThinking = 1'024;  // Anthropic takes no smaller budget,
constexpr std::uint32_t kLeastWriting = 512;     // and none that leaves no reply

/// The part of the reply that thinking may take; 0 when there is too little for both.
std::uint32_t thinking_within(std::uint32_t reply_tokens, std::uint32_t budget) {
  if (budget + kLeastWriting <= reply_tokens) return budget;
  return reply_tokens >= kLeastThinking + kLeastWriting ? reply_tokens - kLeastWriting : 0;
}

std::string instruction(const SummaryAsk& ask, bool has_prior) {
  std::string text(kRules);
  if (has_prior) {
    text +=
        "- The transcript begins with what an earlier summary kept. Carry over what still holds; "
        "where the two differ, the newer is right.\n";
  }
  for (const auto heading : kSummaryHeadings) text += fmt::format("{}\n", heading);
  if (!ask.repair.empty()) {
    text +=
        fmt::format("\nAn earlier attempt was not accepted. Avoid its faults:\n{}\n", ask.repair);
  }
  return text;
}

}  // namespace

SummaryAsk ask_of(const SessionState& state) {
  const auto& c = *state.compaction;
  SummaryAsk ask;
  ask.max_tokens = c.summary_tokens;
  ask.transcript_bytes = c.transcript_bytes;
  if (c.replies == 0) return ask;
  for (const auto& finding : c.findings) {
    ask.repair += fmt::format("- {}: {}\n", finding->code, finding->evidence);
  }
  return ask;
}

std::string summary_prompt(const std::vector<PastItem>& items, const SummaryAsk& ask) {
  const std::string span =
      render_span(guarded(items), ask.transcript_bytes == 0 ? SIZE_MAX : ask.transcript_bytes);
  const bool has_prior = std::any_of(items.begin(), items.end(), [](const PastItem& item) {
    return item.kind == SpanKind::kPriorSummary;
  });
  // Nothing in a transcript can close a delimiter that holds the transcript's own digest.
  const std::string mark = Digest::of(span).hex().substr(0, 12);
  const std::string rules = instruction(ask, has_prior);
  const std::string transcript =
      fmt::format("<transcript {0}>\n{1}</transcript {0}>\n", mark, span);
  if (ask.shape == schema::PromptShape::instruction_first)
    return fmt::format("{}\n{}", rules, transcript);
  return fmt::format(
      "{}\nThe session up to here is in the transcript above. {}\nYour reply begins with the first "
      "heading:\n\n{}",
      transcript, rules, kSummaryHeadings.front());
}

ModelChoice summariser(ModelChoice choice, const SummaryAsk& ask) {
  auto& params = choice.params;
  params.max_output_tokens = static_cast<std::uint32_t>(ask.max_tokens);
  params.thinking_budget_tokens =
      thinking_within(params.max_output_tokens, params.thinking_budget_tokens);
  if (ask.reasoning == "off") {
    // Without a budget Gemini thinks as long as it likes, and some of its models take no 0.
    const std::uint32_t least = choice.codec->kind() == "gemini" ? kLeastGeminiThinking : 0;
    params.thinking_budget_tokens = std::min(params.thinking_budget_tokens, least);
    if (!choice.params.reasoning_effort.empty()) choice.params.reasoning_effort = "low";
  } else if (ask.reasoning != "default") {
    choice.params.reasoning_effort = ask.reasoning;
  }
  if (!ask.temperature.empty()) {
    if (!choice.params.extra.empty()) choice.params.extra += ',';
    choice.params.extra += fmt::format("\"temperature\":{}", ask.temperature);
  }
  choice.marker_ttl = schema::CacheTtl::none;
  return choice;
}

PreparedRequest prepare_prompt(const ModelChoice& choice, std::string_view system_text,
                               const std::string& prompt) {
  const Codec& codec = *choice.codec;
  Message message;
  message.text = prompt;
  const std::string head = codec.head(choice.params);
  std::string system = codec.render_system(system_text);
  std::string rendered = codec.render_message(message);

  PreparedRequest request;
  const std::string_view system_view = system;
  const std::string_view message_view = rendered;
  auto body = whole_body(
      codec, {head, {&system_view, 1}, {}, {&message_view, 1}, {}, schema::CacheTtl::none});
  auto& event = request.event;
  event.provider = choice.provider;
  event.provider_kind = codec.kind();
  event.model = choice.model;
  event.endpoint_digest = std::make_unique<schema::Digest>(Digest::of(choice.url).fb());
  event.head = std::make_unique<schema::ContentT>();
  event.head->bytes.assign(head.begin(), head.end());
  event.body_digest = std::make_unique<schema::Digest>(Digest::of(body).fb());
  event.body_size = body.size();
  const auto keep = [&](std::vector<schema::Segment>& to, std::string bytes) {
    const BlobRef ref = BlobRef::of(bytes);
    to.emplace_back(ref.fb());
    request.blobs.push_back({ref, std::move(bytes)});
  };
  keep(event.system, std::move(system));
  keep(event.appended, std::move(rendered));
  request.body = std::make_shared<const std::string>(std::move(body));
  return request;
}

PreparedRequest prepare_summary(const ModelChoice& choice, const std::string& prompt,
                                const SummaryAsk& ask) {
  PreparedRequest request = prepare_prompt(summariser(choice, ask), kSystem, prompt);
  request.event.lineage = kSummaryLineage;
  return request;
}

SummaryStop summary_stop(schema::StopReason stop) {
  if (stop == schema::StopReason::end) return SummaryStop::kNatural;
  return stop == schema::StopReason::output_limit ? SummaryStop::kOutputLimit : SummaryStop::kOther;
}

SummaryReply gate_reply(const Reply& reply, std::string& text) {
  text.clear();
  for (const Block& block : reply.blocks) {
    if (block.kind == schema::BlockKind::text) text += block.text;
  }
  return {text, summary_stop(reply.stop)};
}

}  // namespace daybook::engine
