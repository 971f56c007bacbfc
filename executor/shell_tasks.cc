#include "executor/shell_tasks.h"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <thread>
#include <utility>

#include "executor/process.h"
#include "executor/process_env.h"
#include "schema/utf8.h"

namespace daybook::executor {
namespace {

using schema::ExitKind;

constexpr std::size_t kUnreadBytes = 1U << 20;
constexpr std::size_t kMaxRunning = 32;

/// Bytes at the end that may be the beginning of a code point.
std::size_t open_suffix(std::string_view bytes) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, bytes.size()); ++back) {
    const auto c = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if (c < 0x80) return 0;
    if (c < 0xc0) continue;
    const std::size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    return length > back ? back : 0;
  }
  return 0;
}

tl::unexpected<Error> unknown_task(std::string_view id) {
  return fail(ErrorCode::not_found,
              "there is no background task '" + std::string(id) +
                  "'; tasks end with the process that started them, start it again if needed");
}

}  // namespace

struct ShellTasks::Task {
  std::mutex mutex;
  std::condition_variable ended_signal;
  std::string unread;
  bool dropped = false;
  bool ended = false;
  ProcessResult result;
  std::string last_reader;
  TaskView last_view;
  std::jthread thread;  // last: joined before what it uses is gone

  void add(std::string_view bytes) {
    const std::lock_guard lock(mutex);
    unread.append(bytes);
    if (unread.size() <= 2 * kUnreadBytes) return;
    unread.erase(0, utf8_ceil(unread, unread.size() - kUnreadBytes));
    dropped = true;
  }

  TaskView view_locked() const {
    TaskView view;
    if (!ended) {
      view.status = "running";
      return view;
    }
    if (result.exit == ExitKind::user_stop) {
      view.status = "killed";
    } else if (result.exit == ExitKind::exited || result.exit == ExitKind::signalled) {
      view.status = "exited";
      view.exit_code = result.exit == ExitKind::exited ? result.code : 128 + result.code;
    } else {
      view.status = "failed";
    }
    return view;
  }

  void run(const ProcessSpec& spec, const SecretMask& mask, std::stop_token stop) {
    ProcessSpec own = spec;
    own.mask = &mask;
    ProcessResult done = run_process(
        own, [this](std::string_view bytes) { add(bytes); }, std::move(stop));
    const std::lock_guard lock(mutex);
    unread.append(done.error);
    result = std::move(done);
    ended = true;
    ended_signal.notify_all();
  }
};

ShellTasks::ShellTasks(std::vector<std::string> env, SecretMask mask, KillLadder ladder)
    : env_(std::move(env)), mask_(std::move(mask)), ladder_(ladder) {}

ShellTasks::~ShellTasks() {
  close();
}

Result<std::string> ShellTasks::start(const std::string& command, const std::string& cwd) {
  const std::lock_guard lock(mutex_);
  if (closed_) return fail(ErrorCode::cancelled, "the session is being closed");
  const auto running = std::count_if(tasks_.begin(), tasks_.end(), [](const auto& entry) {
    const std::lock_guard task_lock(entry.second->mutex);
    return !entry.second->ended;
  });
  if (static_cast<std::size_t>(running) >= kMaxRunning) {
    return fail(ErrorCode::busy, "too many background tasks run; end one with shell_task_kill");
  }
  const std::string id = "task-" + std::to_string(tasks_.size() + 1);
  DAYBOOK_TRY(dir_.ensure(variable(env_, "TMPDIR")));
  DAYBOOK_TRY(dir_.write(id, command + "\n"));
  ProcessSpec spec;
  spec.argv = {"bash", "--noprofile", "--norc", dir_.path(id)};
  spec.env = env_;
  spec.cwd = cwd;
  spec.merge_stderr = true;
  spec.ladder = ladder_;
  spec.limits = {0, 0, std::numeric_limits<std::size_t>::max()};
  SecretMask mask = mask_;
  mask.add(dir_.path(id), "bash");
  auto task = std::make_shared<Task>();
  Task* raw = task.get();
  task->thread = std::jthread([raw, spec = std::move(spec), mask = std::move(mask)](
                                  std::stop_token stop) { raw->run(spec, mask, std::move(stop)); });
  tasks_.emplace(id, std::move(task));
  return id;
}

std::shared_ptr<ShellTasks::Task> ShellTasks::find(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto found = tasks_.find(id);
  return found == tasks_.end() ? nullptr : found->second;
}

Result<TaskView> ShellTasks::read(std::string_view id, const std::string& reader) {
  const auto task = find(id);
  if (task == nullptr) return unknown_task(id);
  const std::lock_guard lock(task->mutex);
  if (!reader.empty() && reader == task->last_reader) return task->last_view;
  TaskView view = task->view_locked();
  std::string& unread = task->unread;
  if (unread.size() > kUnreadBytes) {
    unread.erase(0, utf8_ceil(unread, unread.size() - kUnreadBytes));
    task->dropped = true;
  }
  const std::size_t whole = unread.size() - (task->ended ? 0 : open_suffix(unread));
  view.output = repair_utf8(std::string_view(unread).substr(0, whole));
  view.truncated = std::exchange(task->dropped, false);
  unread.erase(0, whole);
  task->last_reader = reader;
  task->last_view = view;
  return view;
}

Result<TaskView> ShellTasks::kill(std::string_view id) {
  const auto task = find(id);
  if (task == nullptr) return unknown_task(id);
  task->thread.request_stop();
  std::unique_lock lock(task->mutex);
  task->ended_signal.wait(lock, [&] { return task->ended; });
  return task->view_locked();
}

void ShellTasks::close() {
  std::vector<std::shared_ptr<Task>> all;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (auto& [id, task] : tasks_) all.push_back(task);
  }
  for (const auto& task : all) task->thread.request_stop();
  for (const auto& task : all) {
    std::unique_lock lock(task->mutex);
    task->ended_signal.wait(lock, [&] { return task->ended; });
  }
}

}  // namespace daybook::executor
