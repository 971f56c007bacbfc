#include "engine/span_commands.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/span_result.h"
#include "engine/summary_text.h"
#include "engine/word_table.h"

namespace daybook::engine {
namespace {

constexpr std::size_t kScriptBytes = 2'000;  // a here-document behind it is not the command

/// Programs that are hardly words of a sentence when they stand between backticks.
constexpr WordSet<256> kPrograms(
    "pytest make gmake ctest cmake ninja meson npm yarn pnpm npx cargo go tox nox ruff mypy flake8 "
    "pylint eslint prettier tsc jest vitest mocha gradle gradlew mvn bazel docker kubectl helm "
    "terraform git pip pip3 rspec phpunit composer dotnet clang-tidy clang-format shellcheck "
    "python python3 node deno bun bash sh gcc g++ clang rustc javac java rake bundle ruby perl php "
    "swift xcodebuild ansible ansible-playbook curl wget ssh scp rsync psql mysql sqlite3 "
    "redis-cli rm cp mv touch chmod chown mkdir ln black isort "
    "systemctl nginx alembic django-admin manage.py uv poetry hatch rubocop clippy golangci-lint");

/// What stands before a program and runs it.
constexpr WordSet<64> kRunners(
    "sudo env time nice nohup exec command timeout stdbuf xvfb-run python python3 bash sh zsh uv "
    "poetry pipenv hatch pdm npx bunx run pnpm-exec");

constexpr WordSet<128> kChangesNothing(
    "cat head tail less more grep egrep rg ag ls find fd wc stat file diff cmp tree pwd cd echo "
    "printf which type true false sleep date sort uniq cut tr jq test awk nl od xxd du df ps env "
    "export set source pytest ctest tox unittest jest vitest mocha rspec phpunit mypy flake8 "
    "pylint shellcheck read whoami uname id history man help basename dirname realpath");

/// Programs of which the word behind them tells whether they change files.
constexpr WordSet<32> kByTheirVerb(
    "git cargo npm yarn pnpm go make ninja cmake rails dotnet mvn gradle mix swift bundle");
constexpr WordSet<64> kHarmlessVerbs(
    "status diff log show blame branch grep ls-files rev-parse test tests check build clippy vet "
    "ls list view config remote lint typecheck");

/// Programs that change files which they are not given by name.
constexpr WordSet<128> kWritesAnything(
    "black prettier gofmt rustfmt clang-format autopep8 isort yapf patch cp rsync tar unzip mv "
    "find "
    "xargs alembic django-admin manage.py rails protoc openapi-generator sqlc pre-commit rubocop "
    "ruff eslint terraform poetry uv pip-compile bundle composer");
constexpr WordSet<32> kBuildPrograms(
    "make gmake ninja cmake meson cargo go npm yarn pnpm tsc gcc g++ clang javac mvn gradle "
    "gradlew "
    "dotnet bazel webpack vite build");
/// Words behind a program that then changes more than what it builds.
constexpr WordSet<64> kRewritingVerbs(
    "fmt format fix generate gen add install update upgrade mod init checkout switch merge pull "
    "stash apply revert cherry-pick rebase reset restore clone am");

/// Behind a command that has ended, these tell nothing of its end.
constexpr WordSet<32> kTrivial(
    "echo true tail head cat grep tee wc sort sed cd printf rm ls awk uniq");

bool is_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789.smh") == std::string_view::npos;
}

std::string_view base_name(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

/// "src/", "./src" as "src".
std::string_view plain_path(std::string_view word) {
  while (word.size() > 1 && word.ends_with('/')) word.remove_suffix(1);
  while (word.starts_with("./")) word.remove_prefix(2);
  return word;
}

bool same_word(std::string_view a, std::string_view b) {
  a = plain_path(a);
  b = plain_path(b);
  if (a == b) return true;
  if (a.size() < b.size()) std::swap(a, b);
  // One may be named from a folder above.
  return b.find('/') != std::string_view::npos && a.ends_with(b) &&
         a[a.size() - b.size() - 1] == '/';
}

/// Names that are left out of a command that is told: "<file>", "...".
bool is_gap(std::string_view word) {
  return word.starts_with('<') || word == "..." || word == "…" || word.starts_with('{');
}

/// Programs whose arguments are another command.
constexpr WordSet<32> kCarriers(
    "ssh docker podman kubectl xargs watch tmux vagrant su chroot parallel");

/// Whether `name` is a command of which `run` is a run from this word on.
bool is_run_from(const std::vector<std::string>& name, const std::vector<std::string>& run,
                 std::size_t at) {
  if (base_name(name.front()) != base_name(run[at])) return false;
  ++at;
  for (std::size_t i = 1; i < name.size(); ++i) {
    if (is_gap(name[i])) continue;
    while (at < run.size() && !same_word(name[i], run[at])) ++at;
    if (at == run.size()) return false;
    ++at;
  }
  return true;
}

bool is_run_of(const std::vector<std::string>& name, const std::vector<std::string>& run) {
  if (is_run_from(name, run, 0)) return true;
  if (!kCarriers.has(base_name(run.front()))) return false;
  for (std::size_t at = 1; at < run.size(); ++at) {
    if (is_run_from(name, run, at)) return true;
  }
  return false;
}

/// The script in the arguments of a call whose escapes are resolved.
std::string_view script_of(std::string_view call) {
  for (const std::string_view key : {"\"command\":", "\"cmd\":", "\"script\":"}) {
    const std::size_t at = call.find(key);
    if (at == std::string_view::npos) continue;
    std::string_view script = call.substr(at + key.size(), kScriptBytes);
    while (script.starts_with(' ') || script.starts_with('"')) script.remove_prefix(1);
    // The members behind it, as far as they can be told.
    for (const std::string_view next : {"\",\"", "\", \"", "\"}"}) {
      script = script.substr(0, script.find(next));
    }
    return script;
  }
  return {};
}

std::optional<long> exit_code_of(std::string_view result) {
  const ResultHead head = read_result_head(result);
  if (head.end == ResultHead::End::code) return head.code;
  constexpr std::string_view kKey = "\"exit_code\":";
  if (!result.starts_with('{')) return std::nullopt;
  const std::size_t at = result.substr(0, result.find("\"output\":")).find(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = result.substr(at + kKey.size());
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  long code = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), code);
  return error == std::errc() ? std::optional(code) : std::nullopt;
}

/// What joins a part of a script to the next one.
enum class Joint : std::uint8_t { end, both, either, pipe, next };

Joint joint_behind(std::string_view script, std::string_view part) {
  const auto at = static_cast<std::size_t>(part.data() + part.size() - script.data());
  const std::string_view rest = script.substr(at);
  if (rest.starts_with("&&")) return Joint::both;
  if (rest.starts_with("||")) return Joint::either;
  if (rest.starts_with('|')) return Joint::pipe;
  return rest.empty() ? Joint::end : Joint::next;
}

CommandRun::End end_of(CallOutcome outcome) {
  switch (outcome) {
    case CallOutcome::succeeded:
      return CommandRun::End::ok;
    case CallOutcome::failed:
      return CommandRun::End::failed;
    case CallOutcome::unknown:
      break;
  }
  return CommandRun::End::open;
}

/// How a part ended, by how the part behind it did.
CommandRun::End end_before(Joint joint, CommandRun::End behind,
                           const std::vector<std::string>& behind_words) {
  using End = CommandRun::End;
  if (behind == End::open || joint == Joint::pipe) return behind;
  if (behind == End::ok) return joint == Joint::both ? End::ok : End::maybe;
  const bool trivial = !behind_words.empty() && kTrivial.has(behind_words.front());
  return behind == End::failed && trivial && joint != Joint::either ? End::failed : End::maybe;
}

CommandRun::Writes reach_of(const std::vector<std::string>& words) {
  using Writes = CommandRun::Writes;
  if (words.empty() || changes_nothing(words)) return Writes::named;
  const std::string_view program = base_name(words.front());
  const bool rewrites = std::any_of(words.begin() + 1, words.end(), [](const auto& word) {
    return kRewritingVerbs.has(word) || word == "--fix" || word == "--write" || word == "-i";
  });
  if (program == "git") return rewrites ? Writes::anything : Writes::named;
  if (kBuildPrograms.has(program)) return rewrites ? Writes::anything : Writes::builds;
  // A script does what stands in it.
  static constexpr std::array<std::string_view, 6> kScripts = {".sh", ".py", ".js",
                                                               ".ts", ".rb", ".pl"};
  const bool script = std::any_of(kScripts.begin(), kScripts.end(),
                                  [&](std::string_view end) { return program.ends_with(end); });
  const bool inline_script = kRunners.has(program);  // "python3 -c ..."
  return script || inline_script || rewrites || kWritesAnything.has(program) ? Writes::anything
                                                                             : Writes::named;
}

/// Names in a line by which one run can be told from another.
std::vector<std::string_view> telling_names(std::string_view line) {
  struct Sink {
    std::vector<std::string_view> names;
    void word(const Word&) {}
    void chunk(const Chunk& chunk) {
      std::string_view text = chunk.text;
      while (!text.empty() && (text.back() == '.' || text.back() == ':')) text.remove_suffix(1);
      const bool telling = (chunk.mask & (scan::kDigit | scan::kUnderscore | scan::kSlash)) != 0 ||
                           text.find('.') != std::string_view::npos;
      if (!chunk.in_code && telling && text.size() > 3) names.push_back(text);
    }
    void stop(char) {}
  } sink;
  scan_text(line, sink);
  return std::move(sink.names);
}

}  // namespace

std::vector<std::string_view> command_parts(std::string_view script) {
  std::vector<std::string_view> parts;
  std::size_t from = 0;
  const auto cut = [&](std::size_t at) {
    if (at > from) parts.push_back(script.substr(from, at - from));
    from = at + 1;
  };
  for (std::size_t i = 0; i < script.size(); ++i) {
    const char c = script[i];
    const bool redirects = c == '&' && ((i > 0 && (script[i - 1] == '>' || script[i - 1] == '<')) ||
                                        (i + 1 < script.size() && script[i + 1] == '>'));
    if (redirects) continue;
    if (c == '\n' || c == ';' || c == '|' || c == '&' || c == '(' || c == ')') cut(i);
  }
  cut(script.size());
  return parts;
}

std::vector<std::string> command_words(std::string_view command) {
  constexpr std::size_t kMostWords = 64;
  std::vector<std::string> words;
  std::string word;
  const auto end = [&] {
    if (!word.empty() && words.size() < kMostWords) words.push_back(std::move(word));
    word.clear();
  };
  for (const char c : command) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      end();
    } else if (c != '"' && c != '\'' && c != '`' && c != '\\') {
      word += c;
    }
  }
  end();
  // Of "A=b sudo timeout 60 python3 -m pytest" only the last is what runs.
  std::size_t first = 0;
  bool runs = false;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& one = words[i];
    const bool assigns = one.find('=') != std::string::npos && one.front() != '-';
    const bool option = runs && (one.front() == '-' || is_number(one));
    if (!assigns && !option && !kRunners.has(base_name(one))) break;
    // What follows is a script of another language, no program: "python3 -c ...".
    const bool script = one == "-c" && i > 0 && !base_name(words[i - 1]).ends_with("sh");
    if (script) return words;
    runs = runs || !assigns;
    first = i + 1;
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(first));
  return words;
}

bool changes_nothing(const std::vector<std::string>& words) {
  if (words.empty()) return true;
  const auto writes = [](const std::string& word) {
    const std::size_t at = word.find('>');
    return at != std::string::npos && word.find("/dev/null") == std::string::npos &&
           !word.ends_with(">&1") && !word.ends_with(">&2");
  };
  if (std::any_of(words.begin() + 1, words.end(), writes)) {
    // "2> /dev/null", with the target behind a blank.
    const bool dropped = std::any_of(words.begin() + 1, words.end(),
                                     [](const auto& word) { return word == "/dev/null"; });
    if (!dropped) return false;
  }
  const std::string_view program = base_name(words.front());
  const bool test =
      program.starts_with("test_") || program.find("_test.") != std::string_view::npos;
  if (test || kChangesNothing.has(program)) return true;
  if (program == "sed") {
    return std::none_of(words.begin(), words.end(),
                        [](const auto& word) { return word.starts_with("-i"); });
  }
  const std::size_t verb = words.size() > 2 && words[1] == "run" ? 2 : 1;
  return kByTheirVerb.has(program) && words.size() > verb && kHarmlessVerbs.has(words[verb]);
}

SpanCommands::SpanCommands(const PreparedSpan& span) : scripts_(span.items().size()) {
  for (const auto& item : span.items()) {
    if (item.kind == SpanKind::kInjected && item.text.starts_with("Working state:")) {
      add_working_state(item.text);
    }
  }
  for (const SpanCall& call : span.calls()) {
    if (call.call != SpanCall::kNone) add_call(span, call);
  }
}

void SpanCommands::add_call(const PreparedSpan& span, const SpanCall& call) {
  const bool asked_again = call.begun != SpanCall::kNone;
  const std::size_t at = asked_again ? call.begun : call.call;
  const auto& item = span.items()[at];
  std::string_view script = script_of(item.text);
  // ["bash", "-lc", "make"]
  const std::string of_array = script.starts_with('[') ? shell_command(item.raw) : std::string();
  if (!of_array.empty()) script = of_array;
  if (script.empty()) return;
  const auto parts = command_parts(script);
  const std::size_t first = runs_.size();
  for (const std::string_view part : parts) {
    CommandRun run;
    run.words = command_words(part);
    run.item = at;
    run.call = item.text;
    run.changes_nothing = changes_nothing(run.words);
    run.writes = reach_of(run.words);
    const int code = 1 + static_cast<int>(run.writes);
    scripts_[at] = std::max(scripts_[at], static_cast<std::uint8_t>(code));
    runs_.push_back(std::move(run));
  }
  const std::optional<long> code =
      call.result == SpanCall::kNone ? std::nullopt : exit_code_of(span.items()[call.result].text);
  for (std::size_t i = parts.size(); i-- > 0;) {
    CommandRun& run = runs_[first + i];
    run.end = i + 1 == parts.size()
                  ? end_of(call.outcome)
                  : end_before(joint_behind(script, parts[i]), runs_[first + i + 1].end,
                               runs_[first + i + 1].words);
    const bool ended = run.end == CommandRun::End::ok || run.end == CommandRun::End::failed;
    if (ended) run.code = code;
  }
  const auto from = runs_.begin() + static_cast<std::ptrdiff_t>(first);
  runs_.erase(
      std::remove_if(from, runs_.end(), [](const CommandRun& run) { return run.words.empty(); }),
      runs_.end());
}

/// Lines as a block has them: "- make test (exit 2)".
void SpanCommands::add_working_state(std::string_view text) {
  bool commands = false;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (!line.starts_with("- ")) commands = line.starts_with("Last commands");
    const std::size_t open = line.rfind(" (");
    if (!commands || !line.starts_with("- ") || open == std::string_view::npos) continue;
    const std::string_view how = line.substr(open + 2);
    using End = CommandRun::End;
    const End end = how.starts_with("ok") || how.starts_with("exit 0") ? End::ok
                    : how.starts_with("did not finish")                ? End::open
                                                                       : End::failed;
    long code = -1;
    if (how.starts_with("exit ")) std::from_chars(how.data() + 5, how.data() + how.size(), code);
    const auto parts = command_parts(line.substr(2, open - 2));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      CommandRun run;
      run.words = command_words(parts[i]);
      run.end = i + 1 == parts.size() ? end : End::maybe;
      if (i + 1 == parts.size() && code >= 0) run.code = code;
      run.changes_nothing = changes_nothing(run.words);
      if (!run.words.empty()) runs_.push_back(std::move(run));
    }
  }
}

std::vector<const CommandRun*> SpanCommands::runs_of(std::string_view name,
                                                     std::string_view line) const {
  std::vector<const CommandRun*> found;
  const auto words = command_words(name);
  if (words.empty()) return found;
  const auto find = [&](const std::vector<std::string>& wanted) {
    for (const CommandRun& run : runs_) {
      if (is_run_of(wanted, run.words)) found.push_back(&run);
    }
  };
  find(words);
  if (found.empty()) {
    // Options are told less exactly: "git commit -m x" for "git commit -am x".
    auto plain = words;
    std::erase_if(plain, [](const std::string& word) { return word.starts_with('-'); });
    if (!plain.empty()) find(plain);
  }
  // The command itself, where it ran, else those that have more words.
  const auto is_exact = [&](const CommandRun* run) {
    return std::equal(words.begin(), words.end(), run->words.begin(), run->words.end(), same_word);
  };
  if (std::any_of(found.begin(), found.end(), is_exact)) {
    std::erase_if(found, [&](const CommandRun* run) { return !is_exact(run); });
  }
  if (found.size() < 2) return found;
  const auto names = telling_names(line);
  const auto shared = [&](const CommandRun* run) {
    return std::count_if(names.begin(), names.end(), [&](std::string_view one) {
      return run->call.find(one) != std::string_view::npos;
    });
  };
  const auto most = shared(*std::max_element(
      found.begin(), found.end(), [&](auto* a, auto* b) { return shared(a) < shared(b); }));
  std::erase_if(found, [&](const CommandRun* run) { return shared(run) < most; });
  return found;
}

bool SpanCommands::runs_program(std::string_view program) const {
  return std::any_of(runs_.begin(), runs_.end(), [&](const CommandRun& run) {
    return base_name(run.words.front()) == program;
  });
}

bool SpanCommands::is_bare_command(std::string_view name) const {
  const std::string_view first = name.substr(0, name.find(' '));
  if (kPrograms.has(base_name(first))) return true;
  return first.find_first_of("./") != std::string_view::npos && runs_program(base_name(first));
}

bool SpanCommands::may_begin(std::string_view word) const {
  const std::string_view program = base_name(word);
  return kPrograms.has(program) || kRunners.has(program) ||
         word.find_first_of("./=") != std::string_view::npos || runs_program(program);
}

bool SpanCommands::is_command(std::string_view name) const {
  const auto words = command_words(name);
  if (words.empty()) return false;
  const std::string_view program = base_name(words.front());
  return kPrograms.has(base_name(name.substr(0, name.find(' ')))) || kPrograms.has(program) ||
         (words.size() > 1 && runs_program(program));
}

}  // namespace daybook::engine
