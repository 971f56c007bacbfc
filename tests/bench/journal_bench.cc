// Durable appends of 1 KiB events by many sessions at once, against two baselines that make the
// same bytes durable in the same way, one writer thread and one sync for whatever is queued:
//   rocksdb   a bare RocksDB with the journal's options and one key per event
//   raw       a preallocated, zero-filled file
// The three run in turns, and medians are compared, so that the machine's moods hit all alike.
#include <fcntl.h>
#include <fmt/format.h>
#include <rocksdb/write_batch.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "journal/keys.h"
#include "journal/rocks_journal.h"
#include "journal/store.h"
#include "tests/bench/bench.h"
#include "tests/support/journal_events.h"
#include "tests/support/temp_dir.h"

namespace daybook::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRounds = 5;
constexpr double kRoundSeconds = 0.7;

/// Makes the next event of a session durable and then calls back, as a coroutine session would
/// be resumed.
class Target {
 public:
  virtual ~Target() = default;
  virtual void append(std::size_t session, std::function<void()> done) = 0;
};

/// Texts to write, made beforehand: making one takes longer than appending it.
class Payloads {
 public:
  Payloads() {
    std::size_t salt = 0;
    for (std::string& text : texts_) {
      while (text.size() < 850) text += fmt::format("word{} ", (salt += 7919) % 5000);
    }
  }
  const std::string& next() { return texts_[next_++ % texts_.size()]; }

 private:
  std::array<std::string, 1021> texts_;
  std::atomic<std::size_t> next_ = 0;
};

class JournalTarget : public Target {
 public:
  JournalTarget(const std::string& folder, std::size_t sessions) {
    auto opened = journal::open_rocks_journal(
        {.folder = folder, .owner = "bench", .post = {}, .file_system = {}});
    DAYBOOK_CHECK(opened.has_value());
    journal_ = std::move(*opened);
    for (std::size_t i = 0; i < sessions; ++i) {
      pens_.push_back(tests::pen_for(tests::session_id(fmt::format("session-{}", i))));
      const auto acquired = append_and_wait(*journal_, tests::acquire(pens_.back()));
      DAYBOOK_CHECK(acquired.has_value());
    }
  }
  void append(std::size_t session, std::function<void()> done) override {
    journal_->append(tests::notice(pens_[session], payloads_.next()),
                     [done = std::move(done)](const auto& result) {
                       DAYBOOK_CHECK(result.has_value());
                       done();
                     });
  }

 private:
  std::unique_ptr<journal::Journal> journal_;
  std::vector<journal::SessionWriter> pens_;
  Payloads payloads_;
};

/// What both baselines share: a queue and one thread that empties it.
class BatchTarget : public Target {
 public:
  explicit BatchTarget(std::size_t sessions) {
    for (std::size_t i = 0; i < sessions; ++i) {
      pens_.push_back(tests::pen_for(tests::session_id(fmt::format("session-{}", i))));
    }
  }
  void append(std::size_t session, std::function<void()> done) override {
    // Encoding is part of either side: only what happens to the bytes differs.
    auto append = tests::notice(pens_[session], payloads_.next());
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back({session, std::move(append.events[0]), std::move(done)});
      if (queue_.size() > 1) return;
    }
    work_.notify_one();
  }

 protected:
  struct Item {
    std::size_t session;
    std::string event;
    std::function<void()> done;
  };
  virtual void write(const std::vector<Item>& items) = 0;
  void start() {
    thread_ = std::thread([this] { run(); });
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    work_.notify_one();
    thread_.join();
  }

 private:
  void run() {
    while (true) {
      std::vector<Item> items;
      {
        std::unique_lock lock(mutex_);
        work_.wait(lock, [this] { return ending_ || !queue_.empty(); });
        if (queue_.empty()) return;
        items.swap(queue_);
      }
      write(items);
      for (const Item& item : items) item.done();
    }
  }

  std::vector<journal::SessionWriter> pens_;
  Payloads payloads_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::vector<Item> queue_;
  bool ending_ = false;
  std::thread thread_;
};

class RocksTarget : public BatchTarget {
 public:
  RocksTarget(const std::string& folder, std::size_t sessions)
      : BatchTarget(sessions), versions_(sessions, 0) {
    std::filesystem::create_directory(folder);
    auto store =
        journal::open_store(folder, rocksdb::Env::Default(), journal::StoreMode::writer, true);
    DAYBOOK_CHECK(store.has_value());
    store_ = std::move(*store);
    for (std::size_t i = 0; i < sessions; ++i) {
      ids_.push_back(tests::session_id(fmt::format("session-{}", i)));
    }
    start();
  }
  ~RocksTarget() override { stop(); }

 protected:
  void write(const std::vector<Item>& items) override {
    rocksdb::WriteBatch batch;
    for (const Item& item : items) {
      const auto put =
          batch.Put(store_->main(),
                    journal::event_key(ids_[item.session], ++versions_[item.session]), item.event);
      DAYBOOK_CHECK(put.ok());
    }
    rocksdb::WriteOptions options;
    options.sync = true;
    DAYBOOK_CHECK(store_->db().Write(options, &batch).ok());
  }

 private:
  std::unique_ptr<journal::Store> store_;
  std::vector<std::uint64_t> versions_;
  std::vector<SessionId> ids_;
};

class RawTarget : public BatchTarget {
 public:
  RawTarget(const std::string& path, std::size_t sessions) : BatchTarget(sessions) {
    fd_ = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    DAYBOOK_CHECK(fd_ >= 0);
    const std::string zeros(1 << 20, '\0');
    for (std::size_t i = 0; i < kSize / zeros.size(); ++i) {
      DAYBOOK_CHECK(::write(fd_, zeros.data(), zeros.size()) == static_cast<ssize_t>(zeros.size()));
    }
    DAYBOOK_CHECK(fsync(fd_) == 0);
    start();
  }
  ~RawTarget() override {
    stop();
    close(fd_);
  }

 protected:
  void write(const std::vector<Item>& items) override {
    buffer_.clear();
    for (const Item& item : items) buffer_ += item.event;
    if (offset_ + buffer_.size() > kSize) offset_ = 0;
    DAYBOOK_CHECK(pwrite(fd_, buffer_.data(), buffer_.size(), static_cast<off_t>(offset_)) ==
                  static_cast<ssize_t>(buffer_.size()));
    DAYBOOK_CHECK(fdatasync(fd_) == 0);
    offset_ += buffer_.size();
  }

 private:
  static constexpr std::size_t kSize = 128 << 20;
  int fd_ = -1;
  std::size_t offset_ = 0;
  std::string buffer_;
};

struct Measured {
  double events_per_second = 0;
  double p50_ms = 0;
};

/// Every session appends its next event when the one before is durable.
Measured run_round(Target& target, std::size_t sessions) {
  struct Session {
    Clock::time_point started;
    std::vector<float> waits_ms;
  };
  std::vector<Session> all(sessions);
  std::mutex mutex;
  std::condition_variable finished;
  std::size_t active = sessions;
  const auto start = Clock::now();
  const auto end = start + std::chrono::duration<double>(kRoundSeconds);
  std::function<void(std::size_t)> next = [&](std::size_t i) {
    const auto now = Clock::now();
    if (now >= end) {
      const std::lock_guard lock(mutex);
      if (--active == 0) finished.notify_one();
      return;
    }
    all[i].started = now;
    target.append(i, [&, i] {
      const std::chrono::duration<float, std::milli> wait = Clock::now() - all[i].started;
      all[i].waits_ms.push_back(wait.count());
      next(i);
    });
  };
  for (std::size_t i = 0; i < sessions; ++i) next(i);
  std::unique_lock lock(mutex);
  finished.wait(lock, [&] { return active == 0; });
  const std::chrono::duration<double> took = Clock::now() - start;
  std::vector<float> waits;
  for (const Session& session : all) {
    waits.insert(waits.end(), session.waits_ms.begin(), session.waits_ms.end());
  }
  std::nth_element(waits.begin(), waits.begin() + static_cast<std::ptrdiff_t>(waits.size() / 2),
                   waits.end());
  return {static_cast<double>(waits.size()) / took.count(), waits[waits.size() / 2]};
}

Measured median(std::vector<Measured> rounds) {
  const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2);
  std::nth_element(rounds.begin(), middle, rounds.end(), [](const auto& a, const auto& b) {
    return a.events_per_second < b.events_per_second;
  });
  return *middle;
}

}  // namespace

int journal_bench() {
  fmt::print("durable append of 1 KiB events, median of {} rounds in turns\n", kRounds);
  fmt::print("{:>8}  {:>10} {:>8}  {:>10} {:>8} {:>6}  {:>10} {:>8} {:>6}\n", "sessions", "journal",
             "p50 ms", "rocksdb", "p50 ms", "ratio", "raw", "p50 ms", "ratio");
  for (const std::size_t sessions : {std::size_t{1}, std::size_t{8}, std::size_t{64}}) {
    tests::TempDir dir;
    std::vector<std::unique_ptr<Target>> targets;
    targets.push_back(std::make_unique<JournalTarget>(dir.str("journal"), sessions));
    targets.push_back(std::make_unique<RocksTarget>(dir.str("rocksdb"), sessions));
    targets.push_back(std::make_unique<RawTarget>(dir.str("raw"), sessions));
    std::vector<std::vector<Measured>> measured(targets.size());
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < targets.size(); ++i) {
        measured[i].push_back(run_round(*targets[i], sessions));
      }
    }
    const Measured ours = median(measured[0]);
    const Measured rocks = median(measured[1]);
    const Measured raw = median(measured[2]);
    fmt::print(
        "{:>8}  {:>10.0f} {:>8.3f}  {:>10.0f} {:>8.3f} {:>6.2f}  {:>10.0f} {:>8.3f} {:>6.2f}\n",
        sessions, ours.events_per_second, ours.p50_ms, rocks.events_per_second, rocks.p50_ms,
        ours.events_per_second / rocks.events_per_second, raw.events_per_second, raw.p50_ms,
        ours.events_per_second / raw.events_per_second);
  }
  return 0;
}

}  // namespace daybook::bench
