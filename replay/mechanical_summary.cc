#include "replay/mechanical_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "schema/json.h"
#include "schema/utf8.h"

namespace daybook::replay {
namespace {

using engine::PastItem;
using engine::SpanKind;

constexpr std::size_t kLineBytes = 300;
constexpr std::size_t kCommands = 10;
constexpr std::size_t kErrors = 5;
constexpr std::size_t kFiles = 60;

std::string cut(std::string_view text, std::size_t limit) {
  return std::string(text.substr(0, utf8_floor(text, limit)));
}

/// What the span's calls say, by their arguments alone.
struct Work {
  std::vector<std::string> files;     // newest last, each once
  std::vector<std::string> commands;  // with how they ended
  std::vector<std::string> errors;

  void file(std::string path) {
    std::erase(files, path);
    files.push_back(std::move(path));
  }
};

std::string member(const nlohmann::json& object, std::string_view name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Work work_of(const std::vector<PastItem>& span) {
  constexpr std::array<std::string_view, 3> kPathNames = {"path", "file_path", "notebook_path"};
  Work work;
  std::string command;  // of the call whose result comes next
  for (const PastItem& item : span) {
    if (item.kind == SpanKind::kToolCall) {
      const auto arguments = parse_json(item.text);
      if (!arguments || !arguments->is_object()) continue;
      for (const auto name : kPathNames) {
        if (auto path = member(*arguments, name); !path.empty()) work.file(std::move(path));
      }
      command = first_line(member(*arguments, "command"), kLineBytes);
    } else if (item.kind == SpanKind::kToolResult) {
      if (!command.empty()) {
        work.commands.push_back(fmt::format("{} ({})", command, item.ok ? "ok" : "error"));
        command.clear();
      }
      if (!item.ok) work.errors.push_back(first_line(item.text, kLineBytes));
    }
  }
  return work;
}

std::string list(const std::vector<std::string>& lines, std::size_t most) {
  std::string text;
  const std::size_t first = lines.size() > most ? lines.size() - most : 0;
  for (std::size_t i = first; i < lines.size(); ++i) text += fmt::format("- {}\n", lines[i]);
  return text.empty() ? "none\n" : text;
}

/// Newest first until the room is used; then in their order, quoted.
std::string users(const std::vector<PastItem>& span, std::size_t room) {
  std::vector<std::string> quotes;
  for (std::size_t i = span.size(); i-- > 0;) {
    if (span[i].kind != SpanKind::kUser) continue;
    const std::string text = cut(span[i].text, room);
    if (text.empty()) break;
    room -= std::min(room, text.size());
    quotes.push_back(fmt::format("- \"{}\"\n", text));
  }
  std::string text;
  for (std::size_t i = quotes.size(); i-- > 0;) text += quotes[i];
  return text.empty() ? "none\n" : text;
}

/// An older summary's headings are not headings here.
std::string without_headings(std::string text) {
  for (auto at = text.find("## "); at != std::string::npos; at = text.find("## ", at)) {
    text.erase(at, 3);
  }
  return text;
}

std::string last_said(const std::vector<PastItem>& span) {
  for (std::size_t i = span.size(); i-- > 0;) {
    if (span[i].kind == SpanKind::kAssistant) {
      return fmt::format("Last written before the cut: {}\n", first_line(span[i].text, kLineBytes));
    }
  }
  return "none\n";
}

}  // namespace

std::string mechanical_summary(const std::vector<PastItem>& items, std::size_t limit) {
  const Work work = work_of(items);
  std::string prior = "none\n";
  for (const PastItem& item : items) {
    if (item.kind != SpanKind::kPriorSummary) continue;
    prior = fmt::format("Of what came before:\n{}\n", without_headings(cut(item.text, limit / 4)));
  }
  const std::array<std::string, engine::kSummaryHeadings.size()> bodies = {
      users(items, limit / 3),
      "none\n",
      list(work.files, kFiles),
      "none\n",
      list(work.commands, kCommands),
      list(work.errors, kErrors),
      prior,
      last_said(items),
  };
  std::string text;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    text += fmt::format("{}\n{}\n", engine::kSummaryHeadings[i], bodies[i]);
  }
  return cut(text, limit);
}

}  // namespace daybook::replay
