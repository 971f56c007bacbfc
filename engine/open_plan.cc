#include "engine/open_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/summary_text.h"
#include "engine/word_table.h"
#include "schema/json.h"

namespace daybook::engine {
namespace {

constexpr WordSet<16> kPlanTools("todowrite update_plan todo_write");

constexpr WordSet<128> kCommon(
    "the and for with from into that this then not all are was were has have been will must "
    "should its now new again once und der die das mit für von ein eine ist sind");

constexpr WordSet<32> kAllOf("tasks todos items steps everything plan alles aufgaben schritte");

/// The beginnings of the telling words: "edited" and "edit" are one.
std::vector<std::string> stems_of(std::string_view text) {
  constexpr std::size_t kStem = 4;
  struct Sink {
    std::vector<std::string> words;
    void word(const Word& word) {
      if (word.text.size() < 3 || kCommon.has(word.text)) return;
      words.push_back(folded(word.text, kStem));
    }
    void chunk(const Chunk&) {}
    void stop(char) {}
  } sink;
  scan_text(text, sink);
  std::sort(sink.words.begin(), sink.words.end());
  sink.words.erase(std::unique(sink.words.begin(), sink.words.end()), sink.words.end());
  return std::move(sink.words);
}

/// Items of a plan that are not begun.
std::vector<std::string> pending_in(std::string_view arguments) {
  std::vector<std::string> pending;
  const auto parsed = parse_json(arguments);
  if (!parsed || !parsed->is_object()) return pending;
  for (const auto& [list, text] : {std::pair{"todos", "content"}, std::pair{"plan", "step"}}) {
    const auto found = parsed->find(list);
    if (found == parsed->end() || !found->is_array()) continue;
    for (const auto& item : *found) {
      if (item.is_object() && json_text(item, "status") == "pending") {
        pending.push_back(json_text(item, text));
      }
    }
  }
  return pending;
}

}  // namespace

OpenPlan::OpenPlan(const PreparedSpan& span) {
  const auto items = span.items();
  std::size_t written = 0;
  std::string_view newest;
  bool worked_since = false;
  for (const SpanCall& call : span.calls()) {
    if (call.call == SpanCall::kNone || call.outcome == CallOutcome::failed) continue;
    if (kPlanTools.has(items[call.call].tool)) {
      ++written;
      newest = items[call.call].raw;
      worked_since = false;
    } else if ((call.classes & (kWrites | kCommand)) != 0) {
      worked_since = true;
    }
  }
  if (written == 0 || (written == 1 && worked_since)) return;
  for (std::string& text : pending_in(newest)) {
    auto words = stems_of(text);
    if (words.size() >= 2) items_.push_back({std::move(text), std::move(words)});
  }
}

std::string_view OpenPlan::claimed_by(std::string_view clause) const {
  constexpr double kShare = 0.75;
  if (items_.empty()) return {};
  struct Sink {
    bool all = false;
    bool of = false;
    void word(const Word& word) {
      const std::uint64_t hash = word_hash(word.text);
      const bool every = hash == word_hash("everything") || hash == word_hash("alles");
      all = all || every || hash == word_hash("all") || hash == word_hash("every") ||
            hash == word_hash("alle");
      of = of || kAllOf.has(hash);
    }
    void chunk(const Chunk&) {}
    void stop(char) {}
  } sink;
  scan_text(clause, sink);
  if (sink.all && sink.of) return items_.front().text;
  const auto said = stems_of(clause);
  for (const Item& item : items_) {
    const auto shared = std::count_if(item.words.begin(), item.words.end(), [&](const auto& word) {
      return std::any_of(said.begin(), said.end(), [&](const auto& other) {
        return other.starts_with(word) || word.starts_with(other);
      });
    });
    if (static_cast<double>(shared) >= kShare * static_cast<double>(item.words.size())) {
      return item.text;
    }
  }
  return {};
}

}  // namespace daybook::engine
