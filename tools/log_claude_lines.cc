#include "tools/log_claude_lines.h"

#include <algorithm>
#include <array>

#include "tools/log_identity.h"

namespace daybook::tools {

ClaudeLine::ClaudeLine(JsonSpan record) {
  record.members([&](std::string_view key, JsonSpan value) {
    switch (key.size()) {
      case 3:
        if (is_key(key, "cwd")) cwd = value;
        break;
      case 4:
        if (is_key(key, "type")) type = value;
        if (is_key(key, "uuid")) uuid = value;
        break;
      case 6:
        if (is_key(key, "isMeta")) meta = value.is_true();
        break;
      case 7:
        if (is_key(key, "message")) message = value;
        if (is_key(key, "version")) version = value;
        if (is_key(key, "agentId")) agent = value;
        if (is_key(key, "subtype")) subtype = value;
        break;
      case 9:
        if (is_key(key, "sessionId")) session = value;
        if (is_key(key, "timestamp")) timestamp = value;
        if (is_key(key, "requestId")) request = value;
        break;
      case 10:
        if (is_key(key, "parentUuid")) parent = value;
        if (is_key(key, "forkedFrom")) forked = value;
        break;
      case 11:
        if (is_key(key, "isSidechain")) sidechain = value.is_true();
        break;
      case 13:
        if (is_key(key, "toolUseResult")) tool_data = value;
        break;
      case 15:
        if (is_key(key, "compactMetadata")) compact = value;
        break;
      case 16:
        if (is_key(key, "isCompactSummary")) summary = value.is_true();
        break;
      case 17:
        if (is_key(key, "isApiErrorMessage")) api_error = value.is_true();
        if (is_key(key, "logicalParentUuid")) logical_parent = value;
        break;
      default:
        break;
    }
  });
  const LogTime time = time_of(timestamp);
  at = time.at;
  time_wrong = time.wrong;
}

ClaudeMessage::ClaudeMessage(JsonSpan message) {
  message.members([&](std::string_view key, JsonSpan value) {
    if (is_key(key, "id")) id = value;
    if (is_key(key, "model")) model = value;
    if (is_key(key, "content")) content = value;
    if (is_key(key, "stop_reason")) stop_reason = value;
    if (is_key(key, "usage")) usage = value;
    if (is_key(key, "diagnostics")) diagnostics = value;
  });
}

replay::CallUsage claude_usage(JsonSpan usage, Figures& figures) {
  replay::CallUsage made;
  usage.members([&](std::string_view key, JsonSpan value) {
    if (value.is_null()) return;
    if (is_key(key, "input_tokens")) {
      made.input_uncached = figures.count(key, value);
    } else if (is_key(key, "output_tokens")) {
      made.output = figures.count(key, value);
    } else if (is_key(key, "cache_read_input_tokens")) {
      made.cache_read = figures.count(key, value);
    } else if (is_key(key, "cache_creation_input_tokens")) {
      made.cache_write = figures.count(key, value);
    } else if (is_key(key, "cache_creation")) {
      for (const auto& [name, part] :
           {std::pair{"ephemeral_5m_input_tokens", &made.cache_write_5m},
            std::pair{"ephemeral_1h_input_tokens", &made.cache_write_1h}}) {
        *part = figures.count(name, value[name]);
      }
    } else if (is_key(key, "output_tokens_details")) {
      made.reasoning = figures.count("thinking_tokens", value["thinking_tokens"]);
    } else if (is_key(key, "server_tool_use")) {
      made.web_searches = figures.count("web_search_requests", value["web_search_requests"]);
      made.searches_open = !made.web_searches;
    } else if (is_key(key, "service_tier")) {
      made.service_tier = value.text();
    } else if (is_key(key, "speed")) {
      made.speed = value.text();
    } else if (is_key(key, "inference_geo")) {
      made.region = value.text();
    }
  });
  if (!figures.wrong().empty()) return {};
  const std::uint64_t split = made.cache_write_5m.value_or(0) + made.cache_write_1h.value_or(0);
  if (!made.cache_write && (made.cache_write_5m || made.cache_write_1h)) made.cache_write = split;
  // Parts that are more than their sum: one of the figures is wrong, and nobody knows which.
  if (made.cache_write && *made.cache_write < split) {
    made.cache_write = split;
    made.authority = schema::Authority::estimate;
  }
  return made;
}

std::vector<JsonSpan> claude_extra_passes(JsonSpan usage) {
  std::vector<JsonSpan> passes;
  usage["iterations"].items([&](JsonSpan pass) {
    if (pass["type"].is("compaction")) passes.push_back(pass);
  });
  return passes;
}

std::unique_ptr<schema::UsageT> usage_event(const replay::CallUsage& usage, std::string_view raw) {
  if (!usage.any() && raw.empty()) return nullptr;
  auto made = std::make_unique<schema::UsageT>();
  const auto set = [](auto& field, const std::optional<std::uint64_t>& value) {
    if (value) field = *value;
  };
  set(made->input_uncached, usage.input_uncached);
  set(made->input_total, usage.input_total);
  set(made->cache_read, usage.cache_read);
  set(made->cache_write, usage.cache_write);
  set(made->cache_write_5m, usage.cache_write_5m);
  set(made->cache_write_1h, usage.cache_write_1h);
  set(made->output, usage.output);
  set(made->reasoning, usage.reasoning);
  set(made->web_searches, usage.web_searches);
  made->raw = raw;
  made->authority = usage.authority;
  made->service_tier = usage.service_tier;
  made->speed = usage.speed;
  made->region = usage.region;
  return made;
}

schema::StopReason claude_stop(std::string_view reason) {
  if (reason == "end_turn" || reason == "stop_sequence") return schema::StopReason::end;
  if (reason == "tool_use") return schema::StopReason::tool_calls;
  if (reason == "max_tokens") return schema::StopReason::output_limit;
  if (reason == "refusal") return schema::StopReason::refusal;
  return schema::StopReason::other;
}

std::string claude_text(JsonSpan content) {
  if (content.is_string()) return content.text();
  std::string out;
  content.items([&](JsonSpan block) {
    const JsonSpan text = block["text"];
    if (!text.is_string()) return;
    if (!out.empty()) out += '\n';
    out += text.text();
  });
  return out;
}

bool is_injected(std::string_view text) {
  constexpr std::array<std::string_view, 10> kStarts = {"<command-",
                                                        "<local-command-",
                                                        "<bash-",
                                                        "<system-reminder",
                                                        "<user-memory-",
                                                        "<task-notification",
                                                        "Caveat: The mess",
                                                        "[Request interru",
                                                        "<persisted-output",
                                                        "<ide_"};
  while (!text.empty() && (text[0] == ' ' || text[0] == '\n')) text.remove_prefix(1);
  return text.empty() ||
         std::ranges::any_of(kStarts, [&](auto start) { return text.starts_with(start); });
}

}  // namespace daybook::tools
