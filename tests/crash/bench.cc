#include "tests/crash/bench.h"

#include <stdlib.h>
#include <unistd.h>

#include <stdexcept>

#include "tests/support/build_paths.h"
#include "tests/support/cli.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace fs = std::filesystem;

namespace {

/// SIGKILL loses nothing that the kernel has, so memory serves as a disk here, and is faster.
std::string parent() {
  return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : fs::temp_directory_path().string();
}

}  // namespace

Bench::Bench() {
  std::string name = parent() + "/daybook-crash-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
  place_ = fs::canonical(name);
  reset();
}

Bench::~Bench() {
  std::error_code ignored;
  fs::remove_all(place_, ignored);
}

void Bench::reset() {
  fs::remove_all(journal());
  fs::remove_all(workspace());
  fs::create_directory(workspace());
}

void Bench::save() const {
  fs::remove_all(beside("saved"));
  fs::create_directory(beside("saved"));
  for (const auto* each : {"journal", "workspace"}) {
    fs::copy(beside(each), beside("saved") + "/" + each, fs::copy_options::recursive);
  }
}

void Bench::restore() const {
  for (const auto* each : {"journal", "workspace"}) {
    fs::remove_all(beside(each));
    fs::copy(beside("saved") + "/" + each, beside(each), fs::copy_options::recursive);
  }
}

void Bench::put(const std::string& name, const std::string& bytes) const {
  write_file(fs::path(workspace()) / name, bytes);
}

void Bench::put_scenario(const std::string& toml) const {
  write_file(place_ / "scenario.toml", toml);
}

std::string Bench::beside(const std::string& name) const {
  return (place_ / name).string();
}

std::string Bench::file(const std::string& name) const {
  const auto path = fs::path(workspace()) / name;
  return fs::exists(path) ? read_file(path) : "";
}

std::map<std::string, std::string> Bench::tree() const {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(workspace())) {
    if (!entry.is_regular_file()) continue;
    found[entry.path().lexically_relative(workspace()).string()] = read_file(entry.path());
  }
  return found;
}

std::unique_ptr<Child> Bench::start(const std::vector<std::string>& arguments,
                                    const std::string& kill_point, bool terminal) const {
  ChildSpec spec;
  spec.argv = {"/bin/sh", "-c", "CRASH_PID=$$ exec \"$@\"", "sh",
               kill_point.empty() ? build_path("/daybook") : build_path("/daybook_crash")};
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  spec.environment = {"PATH=/usr/bin:/bin", "HOME=" + place_.string(), "USER=tester",
                      "DAYBOOK_HOME=" + journal(), "DAYBOOK_TEST_KILL=" + kill_point};
  spec.environment.insert(spec.environment.end(), more_environment.begin(), more_environment.end());
  spec.folder = workspace();
  spec.terminal = terminal;
  return std::make_unique<Child>(spec);
}

ChildExit Bench::run(const std::vector<std::string>& arguments) const {
  return start(arguments)->wait();
}

std::vector<std::string> Bench::run_arguments(const std::vector<std::string>& more) const {
  std::vector<std::string> made = {"run", "--session", "s", "--model",
                                   "script:" + beside("scenario.toml")};
  made.insert(made.end(), more.begin(), more.end());
  made.emplace_back("Do the work.");
  return made;
}

SessionView Bench::view(const std::string& session) const {
  return view_session(journal(), session);
}

int Bench::check(const std::vector<std::string>& arguments) const {
  Cli cli;
  cli.on_disk = true;
  cli.environment["DAYBOOK_HOME"] = journal();
  return cli.run(arguments).code;
}

}  // namespace daybook::tests
