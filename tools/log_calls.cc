#include "tools/log_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>
#include <tuple>
#include <unordered_map>

#include "replay/copy_rule.h"
#include "replay/huge_pages.h"
#include "tools/log_parts.h"

namespace daybook::tools {
namespace {

using Text = const std::string*;  // held by a Texts, compared by address

/// What a text says of a call: most calls say the same as the one before.
enum class Says { model, served, provider, provider_kind, lineage, tier, speed, region, tools };

class Texts {
 public:
  Text of(Says what, const std::string& text) {
    Text& last = last_[static_cast<std::size_t>(what)];
    if (last == nullptr || *last != text) last = &*known_.insert(text).first;
    return last;
  }

 private:
  std::set<std::string> known_;
  std::array<Text, 9> last_{};
};

/// A call in little memory: there may be millions.
struct Kept {
  std::shared_ptr<const replay::CallSession> session;
  Uuid id;
  std::int64_t started_at = 0;
  std::int64_t ended_at = 0;
  std::int64_t not_before = 0;
  std::int64_t not_after = 0;  // as told: no copy can have started later
  std::uint64_t version = 0;
  std::array<std::uint64_t, 9> figures{};
  std::uint64_t compacted_from = 0;
  std::uint64_t compacted_to = 0;
  Text model = nullptr;
  Text served = nullptr;
  Text provider = nullptr;
  Text provider_kind = nullptr;
  Text lineage = nullptr;
  Text tier = nullptr;
  Text speed = nullptr;
  Text region = nullptr;
  Text tools = nullptr;  // names, each behind a '\n'
  replay::CopyRank rank;
  std::string response_id;
  std::uint16_t present = 0;  // bit i: figures[i] was reported; then the compaction's
  schema::Authority authority = schema::Authority::exact;
  schema::StopReason stop = schema::StopReason::end;
  bool after_compaction = false;
  std::unique_ptr<schema::ContentT> diagnostics;
};

constexpr std::array<std::optional<std::uint64_t> replay::CallUsage::*, 9> kFigures = {
    &replay::CallUsage::input_uncached, &replay::CallUsage::input_total,
    &replay::CallUsage::cache_read,     &replay::CallUsage::cache_write,
    &replay::CallUsage::cache_write_5m, &replay::CallUsage::cache_write_1h,
    &replay::CallUsage::output,         &replay::CallUsage::reasoning,
    &replay::CallUsage::web_searches};
constexpr std::uint16_t kFromBit = 1u << 9;
constexpr std::uint16_t kToBit = 1u << 10;
constexpr std::uint16_t kSearchesOpenBit = 1u << 11;

/// Distinct calls; the scan visits one at a time.
class Collector {
 public:
  void add(replay::Call call) {
    note_start(call);
    if (!call.goes_on_from.empty()) {
      forks_.push_back({std::move(call.goes_on_from), call.session, call.version,
                        texts_.of(Says::lineage, call.lineage)});
    }
    Kept made = pack(std::move(call));
    const auto [found, fresh] = by_id_.try_emplace(made.id.lo ^ made.id.hi, kept_.size());
    if (fresh) {
      kept_.push_back(std::move(made));
      return;
    }
    merge(found->second, std::move(made));
  }

  /// Every session that told a call, also where all of its calls count for others.
  void visit_sessions(const std::function<void(const replay::CallSession&)>& visit) const {
    for (const auto& [session, starts] : starts_) visit(*session);
  }

  void visit(const LogCallsOptions& options, const std::function<void(replay::Call&&)>& visit) {
    settle();
    find_origins();
    const std::vector<Moment> moments = order_in_time();
    const Sessions sessions = merge_sessions();
    std::vector<Place> order;
    order.reserve(kept_.size());
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      const Kept& call = kept_[i];
      order.push_back(
          {sessions.at(key_of(*call.session)).rank, moments[i], call.version, call.id, i});
    }
    std::ranges::sort(order);
    // Numbered by the session, not by the file: one may be cut into several.
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (i > 0 && order[i].session != order[i - 1].session) number = 0;
      kept_[order[i].call].version = ++number;
    }
    if (options.copy) {
      // What numbers the calls of a session orders them in it.
      std::ranges::sort(order, {}, [&](const Place& place) {
        return std::tuple(place.moment, place.session, kept_[place.call].version);
      });
    }
    const auto copies = options.copy ? copies_by_call(sessions) : Copies{};
    for (const Place& place : order) {
      visit(unpack(kept_[place.call]));
      for (auto at = copies.lower_bound({place.call, 0});
           at != copies.end() && at->first.first == place.call; ++at) {
        replay::Call copy = figures_of(kept_[place.call]);
        copy.session = at->second.session;
        copy.version = 0;
        copy.lineage = *at->second.lineage;
        const Kept& call = kept_[place.call];
        options.copy(std::move(copy), {call.session, *call.lineage, call.version});
      }
    }
  }

 private:
  struct Merged {
    std::size_t rank = 0;  // in order of kind and id
    std::shared_ptr<const replay::CallSession> session;
  };
  using SessionKey = std::pair<std::string, std::string>;  // kind, id
  using Sessions = std::map<SessionKey, Merged>;

  /// That a session holds a call that some other holds as well.
  struct Holder {
    std::size_t call = 0;
    std::shared_ptr<const replay::CallSession> session;
    std::uint64_t version = 0;  // in its file
    Text lineage = nullptr;
  };

  /// A session that begins with another's history.
  struct Fork {
    std::vector<Uuid> from;  // as in Call::goes_on_from
    std::shared_ptr<const replay::CallSession> session;
    std::uint64_t version = 0;
    Text lineage = nullptr;
  };

  /// When a call started; of one that has no time, when the one before it in its file did, and how
  /// many stand between (or, negative, the one behind it).
  struct Moment {
    std::int64_t at = 0;
    std::int64_t behind = 0;
    auto operator<=>(const Moment&) const = default;
  };
  struct Place {
    std::size_t session = 0;
    Moment moment;
    std::uint64_t version = 0;  // in its file: of calls of one moment
    Uuid id;
    std::size_t call = 0;
    auto operator<=>(const Place&) const = default;
  };
  /// By the call and the rank of the session that holds it as well.
  struct CopyIn {
    std::shared_ptr<const replay::CallSession> session;
    Text lineage = nullptr;
  };
  using Copies = std::map<std::pair<std::size_t, std::size_t>, CopyIn>;

  static SessionKey key_of(const replay::CallSession& session) {
    return {session.kind, session.id};
  }

  void find_origins() {
    for (const Fork& fork : forks_) {
      for (const Uuid& id : fork.from) {
        const auto found = by_id_.find(id.lo ^ id.hi);
        if (found == by_id_.end()) continue;
        holders_.push_back({found->second, fork.session, fork.version - 1, fork.lineage});
      }
    }
  }

  /// In each session that has calls of its own, those that count for another.
  Copies copies_by_call(const Sessions& sessions) const {
    Copies copies;
    for (const Holder& holder : holders_) {
      const auto found = sessions.find(key_of(*holder.session));
      if (found == sessions.end()) continue;
      const std::size_t rank = found->second.rank;
      if (rank == sessions.at(key_of(*kept_[holder.call].session)).rank) continue;
      copies.try_emplace({holder.call, rank}, CopyIn{found->second.session, holder.lineage});
    }
    return copies;
  }

  void note_start(const replay::Call& call) {
    if (call.session != last_session_) {
      last_session_ = call.session;
      last_starts_ = &starts_[call.session];
    }
    last_starts_->add(call.started_at);
  }

  static bool same_session(const Kept& a, const Kept& b) {
    return replay::Originals::same(*a.session, *b.session);
  }

  /// Of copies in one session that are equal by rank, one that does not depend on their order.
  static bool is_before(const Kept& a, const Kept& b) {
    return std::tie(*a.tools, a.figures, a.present) < std::tie(*b.tools, b.figures, b.present);
  }

  /// Keeps the one that counts, dated by the earliest.
  void merge(std::size_t into, Kept made) {
    Kept& kept = kept_[into];
    const std::int64_t a = kept.started_at, b = made.started_at;
    const std::int64_t first = a == 0 ? b : b == 0 ? a : std::min(a, b);
    const auto sent = std::min(sent_of(made), sent_of(kept));
    const bool equal = made.rank == kept.rank;
    if (!same_session(made, kept)) {
      for (const Kept* each : {&kept, &made}) {
        holders_.push_back({into, each->session, each->version, each->lineage});
      }
    }
    if (equal && !same_session(made, kept)) {
      ties_.emplace_back(into, std::move(made));
    } else if (equal ? is_before(made, kept) : made.rank.is_over(kept.rank)) {
      kept = std::move(made);
    }
    kept.started_at = first;
    kept.not_after = sent.first == kNever ? 0 : sent.first;
    kept.not_before = -sent.second;
  }

  /// Gives copies of equal rank to their original session.
  void settle() {
    replay::Originals originals;
    for (const auto& [session, starts] : starts_) originals.note(*session, starts);
    for (auto& [into, copy] : ties_) {
      Kept& kept = kept_[into];
      if (copy.rank != kept.rank) continue;
      const bool better = same_session(copy, kept)
                              ? is_before(copy, kept)
                              : originals.is_before(*copy.session, *kept.session);
      if (!better) continue;
      copy.started_at = kept.started_at;
      copy.not_before = kept.not_before;
      copy.not_after = kept.not_after;
      kept = std::move(copy);
    }
    ties_.clear();
  }

  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  /// Of copies the one that was written first tells best when the call was sent; of equals the one
  /// that tells more. The smallest counts.
  static std::pair<std::int64_t, std::int64_t> sent_of(const Kept& call) {
    return {call.not_after == 0 ? kNever : call.not_after, -call.not_before};
  }

  Kept pack(replay::Call call) {
    Kept made;
    made.rank = replay::copy_rank(call);
    made.session = std::move(call.session);
    made.id = call.id;
    made.started_at = call.started_at;
    made.ended_at = call.ended_at;
    made.not_before = call.not_before;
    made.not_after = call.not_after != 0 ? call.not_after : call.started_at;
    made.version = call.version;
    for (std::size_t i = 0; i < kFigures.size(); ++i) {
      const auto& figure = call.usage.*kFigures[i];
      if (!figure) continue;
      made.figures[i] = *figure;
      made.present = static_cast<std::uint16_t>(made.present | (1u << i));
    }
    if (call.compacted_from) made.present |= kFromBit;
    if (call.compacted_to) made.present |= kToBit;
    if (call.usage.searches_open) made.present |= kSearchesOpenBit;
    made.compacted_from = call.compacted_from.value_or(0);
    made.compacted_to = call.compacted_to.value_or(0);
    made.after_compaction = call.after_compaction;
    made.model = texts_.of(Says::model, call.requested_model);
    made.served = texts_.of(Says::served, call.served_model);
    made.provider = texts_.of(Says::provider, call.provider);
    made.provider_kind = texts_.of(Says::provider_kind, call.provider_kind);
    made.lineage = texts_.of(Says::lineage, call.lineage);
    made.tier = texts_.of(Says::tier, call.usage.service_tier);
    made.speed = texts_.of(Says::speed, call.usage.speed);
    made.region = texts_.of(Says::region, call.usage.region);
    std::string tools;
    for (const std::string& tool : call.tools_called) tools += '\n' + tool;
    made.tools = texts_.of(Says::tools, tools);
    made.response_id = std::move(call.response_id);
    made.authority = call.usage.authority;
    made.stop = call.stop;
    made.diagnostics = std::move(call.diagnostics);
    return made;
  }

  static replay::Call unpack(Kept& kept) {
    replay::Call call = figures_of(kept);
    call.response_id = std::move(kept.response_id);
    call.diagnostics = std::move(kept.diagnostics);
    return call;
  }

  static replay::Call figures_of(const Kept& kept) {
    replay::Call call;
    call.session = kept.session;
    call.id = kept.id;
    call.version = kept.version;
    call.lineage = *kept.lineage;
    call.provider = *kept.provider;
    call.provider_kind = *kept.provider_kind;
    call.requested_model = *kept.model;
    call.served_model = *kept.served;
    call.started_at = kept.started_at;
    call.ended_at = kept.ended_at;
    call.start_exact = false;
    call.not_before = kept.not_before;
    call.not_after = kept.not_after;
    for (std::size_t i = 0; i < kFigures.size(); ++i) {
      if ((kept.present & (1u << i)) != 0) call.usage.*kFigures[i] = kept.figures[i];
    }
    call.usage.searches_open = (kept.present & kSearchesOpenBit) != 0;
    call.usage.authority = kept.authority;
    call.usage.service_tier = *kept.tier;
    call.usage.speed = *kept.speed;
    call.usage.region = *kept.region;
    call.stop = kept.stop;
    call.after_compaction = kept.after_compaction;
    if ((kept.present & kFromBit) != 0) call.compacted_from = kept.compacted_from;
    if ((kept.present & kToBit) != 0) call.compacted_to = kept.compacted_to;
    std::string_view tools = *kept.tools;
    while (!tools.empty()) {
      const std::size_t end = std::min(tools.find('\n', 1), tools.size());
      call.tools_called.emplace_back(tools.substr(1, end - 1));
      tools.remove_prefix(end);
    }
    return call;
  }

  std::vector<Moment> order_in_time() const {
    std::vector<Moment> moments;
    moments.reserve(kept_.size());
    for (const Kept& call : kept_) moments.push_back({call.started_at, 0});
    const auto undated = [](const Kept& call) { return call.started_at == 0; };
    if (std::ranges::none_of(kept_, undated)) return moments;
    // A session is one object in each file; what it copied stands in it, too.
    struct Line {
      const replay::CallSession* session = nullptr;
      std::uint64_t version = 0;
      std::size_t call = 0;
      bool own = true;
      auto operator<=>(const Line&) const = default;
    };
    std::vector<Line> lines;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      lines.push_back({kept_[i].session.get(), kept_[i].version, i, true});
    }
    for (const Holder& holder : holders_) {
      if (holder.session == kept_[holder.call].session) continue;
      lines.push_back({holder.session.get(), holder.version, holder.call, false});
    }
    std::ranges::sort(lines);
    const auto fill = [&](auto from, auto to, std::int64_t step) {
      for (auto before = from, at = from; at != to; before = at++) {
        Moment& moment = moments[at->call];
        const Moment& other = moments[before->call];
        if (moment.at != 0 || !at->own || before->session != at->session || other.at == 0) continue;
        moment = {other.at, other.behind + step};
      }
    };
    // A history is in order before what goes on from it: chains of forks are not long.
    constexpr int kMostForks = 8;
    for (int i = 0; i < kMostForks; ++i) fill(lines.begin(), lines.end(), 1);
    fill(lines.rbegin(), lines.rend(), -1);
    return moments;
  }

  /// A session that several files hold is described by the earliest of them, and by the others
  /// where that one says nothing.
  Sessions merge_sessions() {
    struct Seen {
      std::int64_t started_at;
      replay::CallSession session;
    };
    std::unordered_map<const replay::CallSession*, std::int64_t> starts;
    for (const Kept& call : kept_) {
      const auto [found, fresh] = starts.try_emplace(call.session.get(), call.started_at);
      if (!fresh) found->second = std::min(found->second, call.started_at);
    }
    std::map<SessionKey, std::map<const replay::CallSession*, Seen>> all;
    for (const auto& [session, start] : starts) {
      all[key_of(*session)].try_emplace(session, Seen{start, *session});
    }
    std::unordered_map<const replay::CallSession*, std::shared_ptr<const replay::CallSession>> by;
    Sessions sessions;
    for (const auto& [key, copies] : all) {
      std::vector<const Seen*> order;
      for (const auto& [address, seen] : copies) order.push_back(&seen);
      std::ranges::sort(order, {}, [](const Seen* seen) {
        return std::tie(seen->started_at, seen->session.title, seen->session.project,
                        seen->session.agent, seen->session.parent);
      });
      auto merged = std::make_shared<replay::CallSession>(order.front()->session);
      for (const Seen* seen : order) {
        const replay::CallSession& other = seen->session;
        if (merged->parent.empty()) merged->parent = other.parent;
        if (merged->relation == schema::Relation::none) merged->relation = other.relation;
        if (merged->project.empty()) merged->project = other.project;
        if (merged->agent.empty()) merged->agent = other.agent;
        if (merged->title.empty()) merged->title = other.title;
      }
      sessions.emplace(key, Merged{sessions.size(), merged});
      for (const auto& [address, seen] : copies) by[address] = merged;
    }
    for (Kept& call : kept_) call.session = by.at(call.session.get());
    return sessions;
  }

  Texts texts_;
  std::vector<Kept, replay::HugePages<Kept>> kept_;
  std::unordered_map<std::uint64_t, std::size_t> by_id_;
  /// Copies of equal rank in other sessions than the one that is kept, and whose they are.
  std::vector<std::pair<std::size_t, Kept>> ties_;
  std::vector<Fork> forks_;
  std::vector<Holder> holders_;  // of calls that several sessions hold; some more than once
  /// Held, so that no other session gets their places.
  std::unordered_map<std::shared_ptr<const replay::CallSession>, replay::StartRange> starts_;
  std::shared_ptr<const replay::CallSession> last_session_;
  replay::StartRange* last_starts_ = nullptr;
};

/// Gathers some calls before it takes the lock that all threads share.
class ThreadCalls : public LogSink {
 public:
  ThreadCalls(std::mutex& mutex, const std::function<void(replay::Call&&)>& visit)
      : mutex_(mutex), visit_(visit) {
    calls_.reserve(kWorthALock);
  }

  void call(replay::Call&& call) override {
    calls_.push_back(std::move(call));
    if (calls_.size() < kWorthALock) return;
    if (calls_.size() >= kMost) return flush();
    // Gathering on costs less than waiting.
    if (const std::unique_lock lock(mutex_, std::try_to_lock); lock.owns_lock()) hand_over();
  }
  void flush() {
    const std::lock_guard lock(mutex_);
    hand_over();
  }
  Result<void> event(const std::string&, EventDraft) override { return {}; }
  std::unique_ptr<schema::ContentT> content(std::string_view) override { return nullptr; }
  BlobRef blob(std::string_view) override { return {}; }

 private:
  static constexpr std::size_t kWorthALock = 64;
  static constexpr std::size_t kMost = 512;

  void hand_over() {
    for (replay::Call& call : calls_) visit_(std::move(call));
    calls_.clear();
  }

  std::mutex& mutex_;
  const std::function<void(replay::Call&&)>& visit_;
  std::vector<replay::Call> calls_;
};

}  // namespace

LogReport scan_log_calls(std::span<const LogSource> files, const LogCallsOptions& options,
                         const std::function<void(replay::Call&&)>& visit) {
  const std::vector<LogSource> sources = join_parts(files);
  // The largest first, each to whoever is free: the threads end together.
  std::vector<std::size_t> order(sources.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t i) { return own_size(sources[i]); });
  std::vector<std::optional<Result<LogReport>>> reports(sources.size());
  std::atomic<std::size_t> next = 0;
  std::atomic<std::uint64_t> bytes = 0;
  std::mutex mutex;
  const LogFinder finder = finder_over(sources);

  const auto work = [&] {
    ThreadCalls sink(mutex, visit);
    for (std::size_t i = next++; i < order.size(); i = next++) {
      const LogSource& source = sources[order[i]];
      LogReadOptions reading;
      reading.depth = Depth::usage;
      reading.finder = finder;
      reading.starts = options.starts;
      reading.final = !source.continued;
      std::uint64_t told = 0;
      if (options.progress) {
        reading.progress = [&](std::uint64_t read) {
          constexpr std::uint64_t kStep = std::uint64_t{4} << 20;
          if (read < told + kStep) return;
          options.progress(bytes += read - told);
          told = read;
        };
      }
      reports[order[i]] = read_log(source, reading, sink);
      sink.flush();
      const std::uint64_t size = own_size(source);
      if (options.progress) options.progress(bytes += size - std::min(told, size));
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 1; i < options.threads && i < sources.size(); ++i) threads.emplace_back(work);
  work();
  threads.clear();

  LogReport total;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Result<LogReport>& report = *reports[i];
    if (report) {
      total.add(*report);
    } else {
      total.unread.push_back(unread_file(sources[i].path, report.error()));
    }
  }
  return total;
}

LogReport visit_log_calls(std::span<const LogSource> sources, const LogCallsOptions& options,
                          const std::function<void(replay::Call&&)>& visit) {
  Collector collector;
  LogReport report = scan_log_calls(sources, options,
                                    [&](replay::Call&& call) { collector.add(std::move(call)); });
  if (options.session) collector.visit_sessions(options.session);
  collector.visit(options, visit);
  return report;
}

}  // namespace daybook::tools
