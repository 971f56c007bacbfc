// Reads log fixtures both ways, as figures and as events, and adds them up.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "replay/call.h"
#include "replay/copy_rule.h"
#include "tests/support/build_paths.h"
#include "tools/log_calls.h"

namespace daybook::tests {

inline std::string log_fixture(const std::string& name) {
  return source_path("/tests/data/logs/" + name);
}

/// Keeps events as bytes, by session, and blobs.
class EventSink : public tools::LogSink {
 public:
  void call(replay::Call&&) override { ++calls_seen; }
  Result<void> event(const std::string& session, EventDraft draft) override {
    auto& events = sessions[session];
    Envelope envelope;
    envelope.id = draft.id.value();
    envelope.session = "s";
    envelope.version = events.size() + 1;
    events.push_back(encode_event(draft, envelope));
    return {};
  }
  std::unique_ptr<schema::ContentT> content(std::string_view bytes) override {
    auto made = std::make_unique<schema::ContentT>();
    if (bytes.size() <= kInlineBytes) {
      made->bytes.assign(bytes.begin(), bytes.end());
    } else {
      made->blob = std::make_unique<schema::BlobRef>(blob(bytes).fb());
    }
    return made;
  }
  BlobRef blob(std::string_view bytes) override {
    const BlobRef ref = BlobRef::of(bytes);
    blobs[ref.digest] = bytes;
    return ref;
  }

  std::map<std::string, std::vector<std::string>> sessions;
  std::map<Digest, std::string> blobs;
  int calls_seen = 0;
};

struct Totals {
  std::uint64_t calls = 0;
  std::uint64_t uncached = 0;
  std::uint64_t read = 0;
  std::uint64_t write = 0;
  std::uint64_t output = 0;
  bool operator==(const Totals&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Totals& t) {
  return out << "{calls " << t.calls << ", uncached " << t.uncached << ", read " << t.read
             << ", write " << t.write << ", output " << t.output << "}";
}

inline Totals totals_of(const std::vector<replay::Call>& calls) {
  Totals sum;
  for (const replay::Call& call : calls) {
    ++sum.calls;
    sum.uncached += call.usage.input_uncached.value_or(0);
    sum.read += call.usage.cache_read.value_or(0);
    sum.write += call.usage.cache_write.value_or(0);
    sum.output += call.usage.output.value_or(0);
  }
  return sum;
}

inline tools::Discovery discovered(const std::vector<std::string>& paths) {
  auto found = tools::discover_logs(paths);
  if (!found) throw std::runtime_error(found.error().message);
  return *std::move(found);
}

struct Read {
  std::vector<replay::Call> calls;
  tools::LogReport report;
};

/// The figures of files, copies removed.
inline Read figures_of(const std::vector<std::string>& paths, unsigned threads = 2) {
  const auto found = discovered(paths);
  Read made;
  made.report = tools::visit_log_calls(found.sources, {threads, {}}, [&](replay::Call call) {
    made.calls.push_back(std::move(call));
  });
  return made;
}

/// The events of files, one sink for all of them.
inline tools::LogReport read_events(const std::vector<std::string>& paths, EventSink& sink,
                                    tools::Depth depth = tools::Depth::whole) {
  const auto found = discovered(paths);
  tools::LogReport total;
  for (const auto& source : found.sources) {
    EventSink one;
    tools::LogReadOptions options;
    options.depth = depth;
    options.finder = tools::finder_over(found.sources);
    auto report = tools::read_log(source, options, one);
    if (!report) throw std::runtime_error(report.error().message);
    total.add(*report);
    // Positions count within (file, session): another file's events are kept beside them.
    for (auto& [session, events] : one.sessions) {
      const bool fresh = !sink.sessions.contains(session);
      sink.sessions[fresh ? session : session + " in " + source.path] = std::move(events);
    }
    sink.blobs.merge(one.blobs);
  }
  return total;
}

/// The calls that the events fold into, copies removed, in the order of visit_log_calls.
inline std::vector<replay::Call> calls_of_events(const EventSink& sink) {
  std::vector<replay::Call> all;
  replay::Originals originals;
  for (const auto& [session, events] : sink.sessions) {
    replay::CallFold fold(session, [&](replay::Call call) {
      // Files of one session are one.
      auto whose = *call.session;
      whose.stored.clear();
      call.session = std::make_shared<const replay::CallSession>(whose);
      originals.note(whose, {call.started_at, call.started_at});
      all.push_back(std::move(call));
    });
    for (const std::string& bytes : events) fold.take(*view_event(as_bytes(bytes)).value());
  }
  std::map<Uuid, replay::Call> best;
  for (replay::Call& call : all) {
    const auto [found, fresh] = best.try_emplace(call.id);
    replay::Call& kept = found->second;
    const std::int64_t first = fresh ? call.started_at : std::min(call.started_at, kept.started_at);
    const auto ranks = std::pair(copy_rank(call), copy_rank(fresh ? call : kept));
    if (fresh || ranks.first.is_over(ranks.second) ||
        (ranks.first == ranks.second && originals.is_before(*call.session, *kept.session))) {
      kept = std::move(call);
    }
    kept.started_at = first;
  }
  std::vector<replay::Call> calls;
  for (auto& [id, call] : best) calls.push_back(std::move(call));
  std::ranges::sort(calls, {}, [](const replay::Call& call) {
    return std::tie(call.session->kind, call.session->id, call.started_at, call.version, call.id);
  });
  return calls;
}

/// Events of one payload type in one session.
template <class PayloadT>
std::vector<PayloadT> payloads(const EventSink& sink, const std::string& session) {
  std::vector<PayloadT> made;
  const auto found = sink.sessions.find(session);
  if (found == sink.sessions.end()) return made;
  for (const std::string& bytes : found->second) {
    const schema::Event* event = view_event(as_bytes(bytes)).value();
    using Table = typename PayloadT::TableType;
    if (event->payload_type() != schema::PayloadTraits<Table>::enum_value) continue;
    PayloadT one;
    event->payload_as<Table>()->UnPackTo(&one);
    made.push_back(std::move(one));
  }
  return made;
}

}  // namespace daybook::tests
