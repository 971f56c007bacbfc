// Facts that are names and numbers: what people and model wrote, and what tools first brought up.
#include <algorithm>

#include "engine/summary_text.h"
#include "engine/word_table.h"
#include "replay/fact_extract.h"
#include "replay/fact_subject.h"

namespace daybook::replay {
namespace {

using engine::Chunk;
using engine::Entity;
using engine::EntityKind;
using engine::SpanKind;
using engine::Word;
using engine::WordSet;

bool is_identifier(EntityKind kind) {
  using enum EntityKind;
  return kind == url || kind == hash || kind == uuid || kind == ticket || kind == host_port ||
         kind == version || kind == symbol;
}

Fact entity_fact(const Entity& entity, std::size_t item, std::uint64_t subject) {
  Fact fact;
  fact.type = is_identifier(entity.kind) ? FactType::identifier : FactType::number;
  fact.matcher = Matcher::entity;
  fact.text = engine::excerpt(entity.text);
  fact.item = item;
  fact.kind = entity.kind;
  fact.dimension = entity.dimension;
  fact.value = entity.value;
  fact.key = entity.key;
  fact.subject = subject;
  return fact;
}

/// Entities of prose, with what they are said of.
class ProseSink {
 public:
  ProseSink(FactCollector& out, std::size_t item) : out_(out), item_(item) {}
  void word(const Word& word) { subjects_.word(word); }
  void stop(char c) { subjects_.stop(c); }
  void chunk(const Chunk& chunk) {
    const Entity entity = classify(chunk, true);
    const std::uint64_t subject = subjects_.of(entity, chunk);
    const bool keep = is_identifier(entity.kind) || entity.kind == EntityKind::quantity ||
                      (entity.kind == EntityKind::number && (entity.noun != 0 || subject != 0));
    if (keep) out_.add(entity_fact(entity, item_, subject));
    subjects_.chunk(chunk, entity);
  }

 private:
  FactCollector& out_;
  std::size_t item_;
  SubjectFinder subjects_;
};

constexpr WordSet<64> kDefines(
    "def class struct fn func function enum interface namespace trait type const "
    "constexpr void bool int auto");

/// Names that an edit defines: def f, class C, void f(.
class DefinitionSink {
 public:
  DefinitionSink(FactCollector& out, std::size_t item) : out_(out), item_(item) {}
  void word(const Word& word) {
    const bool name = after_ && word.text.size() > 2 && !kDefines.has(word.text);
    if (name && added_ < kMost) {
      ++added_;
      Entity entity;
      entity.kind = EntityKind::symbol;
      entity.text = word.text;
      entity.key = engine::scan::mix(engine::text_hash(word.text),
                                     static_cast<std::uint64_t>(EntityKind::symbol)) |
                   1;
      out_.add(entity_fact(entity, item_, 0));
    }
    after_ = kDefines.has(word.text);
  }
  void chunk(const Chunk&) {}
  void stop(char c) { after_ = after_ && c == ' '; }

 private:
  static constexpr std::size_t kMost = 32;  // of one edit
  FactCollector& out_;
  std::size_t item_;
  bool after_ = false;
  std::size_t added_ = 0;
};

}  // namespace

void extract_entity_facts(const engine::PreparedSpan& span, FactCollector& out) {
  const auto items = span.items();
  for (const auto& mention : span.mentions()) {
    if (is_identifier(mention.entity.kind) || mention.entity.kind == EntityKind::quantity) {
      out.add(entity_fact(mention.entity, mention.item, 0));
    }
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const SpanKind kind = items[i].kind;
    if (kind == SpanKind::kUser || kind == SpanKind::kAssistant ||
        kind == SpanKind::kPriorSummary) {
      ProseSink sink(out, i);
      engine::scan_text(items[i].text, sink);
    }
  }
  for (const auto& call : span.calls()) {
    if (call.call == engine::SpanCall::kNone || (call.classes & engine::kWrites) == 0 ||
        call.outcome != engine::CallOutcome::succeeded) {
      continue;
    }
    DefinitionSink sink(out, call.call);
    engine::scan_text(items[call.call].text, sink);
  }
}

}  // namespace daybook::replay
