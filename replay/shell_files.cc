#include "replay/shell_files.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "replay/shell_script.h"

namespace daybook::replay {
namespace {

constexpr int kNested = 2;  // scripts inside of scripts

/// Words that stand before the command that counts.
constexpr std::array<std::string_view, 15> kBefore = {
    "sudo", "env",  "time", "nohup", "command", "exec", "builtin", "then",
    "do",   "else", "if",   "while", "until",   "!",    "{"};
constexpr std::array<std::string_view, 7> kReaders = {"cat",  "head", "tail", "nl",
                                                      "less", "more", "bat"};
constexpr std::array<std::string_view, 4> kShells = {"bash", "sh", "zsh", "dash"};

template <std::size_t kCount>
bool is_one_of(std::string_view name, const std::array<std::string_view, kCount>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_flag(const ShellWord& word) {
  return word.text.size() > 1 && word.text.front() == '-';
}

/// "NAME=value" before a command.
bool is_assignment(const ShellWord& word) {
  const std::size_t equals = word.text.find('=');
  return equals != std::string::npos && equals > 0 &&
         word.text.substr(0, equals).find_first_of("/.- ") == std::string::npos;
}

class FileReader {
 public:
  FileReader(std::string folder, int depth) : folder_(std::move(folder)), depth_(depth) {}
  void read(std::string_view script);
  std::vector<ShellFile> take() { return std::move(found_); }

 private:
  using Words = std::vector<ShellWord>;
  void tell(const Words& words);
  void tell_git(const Words& words);
  void tell_move(const Words& files, bool copies);
  void tell_sed(const Words& words);
  void tell_perl(const Words& words);
  void change_folder(const Words& words);
  void add_all(const Words& files, FileDeed deed, bool certain);
  void add(const ShellWord& file, FileDeed deed, bool certain);
  static Words files_of(const Words& words, std::size_t from);

  std::string folder_;
  int depth_;
  std::vector<ShellFile> found_;
};

/// What is no option, from the word `from` on.
FileReader::Words FileReader::files_of(const Words& words, std::size_t from) {
  Words files;
  for (std::size_t i = from; i < words.size(); ++i) {
    if (!is_flag(words[i]) && !words[i].text.empty()) files.push_back(words[i]);
  }
  return files;
}

/// `certain`: the command takes nothing but files; else only what looks like one is.
void FileReader::add(const ShellWord& file, FileDeed deed, bool certain) {
  const std::string& name = file.text;
  if (!file.known || name.empty() || name == "-" || name == "." || name == "..") return;
  if (name.starts_with("/dev/") || name.find('\n') != std::string::npos) return;
  const bool looks_so = name.find_first_of("./") != std::string::npos &&
                        name.find_first_of("=:;|") == std::string::npos;
  if (!certain && !looks_so) return;
  const bool inside = !folder_.empty() && name.front() != '/';
  const auto path = inside ? std::filesystem::path(folder_) / name : std::filesystem::path(name);
  std::string normal = path.lexically_normal().string();
  while (normal.size() > 1 && normal.ends_with('/')) normal.pop_back();
  found_.push_back({std::move(normal), deed});
}

void FileReader::add_all(const Words& files, FileDeed deed, bool certain) {
  for (const ShellWord& file : files) add(file, deed, certain);
}

void FileReader::change_folder(const Words& words) {
  const Words to = files_of(words, 1);
  if (to.size() != 1 || !to.front().known || to.front().text == "-") {
    folder_.clear();  // not known
    return;
  }
  const std::filesystem::path path = to.front().text;
  folder_ = (path.is_absolute() ? path : std::filesystem::path(folder_) / path)
                .lexically_normal()
                .string();
  if (folder_ == ".") folder_.clear();
}

void FileReader::tell_move(const Words& files, bool copies) {
  if (files.size() < 2) return;
  const ShellWord& to = files.back();
  const bool into = files.size() > 2 || to.text.ends_with('/');
  for (std::size_t i = 0; i + 1 < files.size(); ++i) {
    if (!copies) add(files[i], FileDeed::moved, true);
    ShellWord made = to;
    if (into) {
      if (!made.text.ends_with('/')) made.text += '/';
      made.text += base_name(files[i].text);
      made.known = to.known && files[i].known;
    }
    add(made, FileDeed::created, true);
  }
}

void FileReader::tell_git(const Words& words) {
  std::size_t at = 1;
  std::string outer = folder_;
  if (words.size() > 3 && words[1].text == "-C") {
    change_folder({words[0], words[2]});
    at = 3;
  }
  if (at < words.size()) {
    const std::string& action = words[at].text;
    const bool kept = std::any_of(words.begin(), words.end(),
                                  [](const auto& word) { return word.text == "--cached"; });
    if (action == "mv") tell_move(files_of(words, at + 1), false);
    if (action == "rm" && !kept) add_all(files_of(words, at + 1), FileDeed::deleted, true);
  }
  folder_ = std::move(outer);
}

/// Options, then a script unless -e or -f brought it, then files.
void FileReader::tell_sed(const Words& words) {
  bool in_place = false;
  bool has_script = false;
  Words files;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    in_place = in_place || text.starts_with("-i") || text.starts_with("--in-place");
    const bool script = text == "-e" || text == "-f" || text == "--expression";
    has_script = has_script || script || text.starts_with("--expression=");
    if (script) {
      ++i;
    } else if (!is_flag(words[i]) && !text.empty()) {
      files.push_back(words[i]);
    }
  }
  if (!has_script && !files.empty()) files.erase(files.begin());
  add_all(files, in_place ? FileDeed::edited : FileDeed::opened, in_place);
}

void FileReader::tell_perl(const Words& words) {
  bool in_place = false;
  Words files;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (!is_flag(words[i])) {
      if (!text.empty()) files.push_back(words[i]);
      continue;
    }
    in_place = in_place || (text.find('i') != std::string::npos && !text.starts_with("-M"));
    if (text.ends_with('e')) ++i;
  }
  if (in_place) add_all(files, FileDeed::edited, false);
}

void FileReader::tell(const Words& all) {
  auto from = all.begin();
  while (from != all.end() && (is_one_of(from->text, kBefore) || is_assignment(*from))) ++from;
  const Words words(from, all.end());
  if (words.size() < 2 || !words.front().known) return;
  const std::string_view name = base_name(words.front().text);
  if (name == "cd" || name == "pushd") return change_folder(words);
  if (name == "git") return tell_git(words);
  if (name == "sed") return tell_sed(words);
  if (name == "perl") return tell_perl(words);
  if (name == "mv" || name == "cp") return tell_move(files_of(words, 1), name == "cp");
  if (name == "rm") return add_all(files_of(words, 1), FileDeed::deleted, true);
  if (name == "touch") return add_all(files_of(words, 1), FileDeed::created, true);
  if (name == "tee") {
    const bool appends = words[1].text == "-a" || words[1].text == "--append";
    return add_all(files_of(words, 1), appends ? FileDeed::appended : FileDeed::created, true);
  }
  if (is_one_of(name, kReaders)) return add_all(files_of(words, 1), FileDeed::opened, false);
  const bool nested = is_one_of(name, kShells) && words.size() > 2 && is_flag(words[1]) &&
                      words[1].text.ends_with('c') && words[2].known && depth_ < kNested;
  if (!nested) return;
  FileReader inner(folder_, depth_ + 1);
  inner.read(words[2].text);
  for (auto& file : inner.take()) found_.push_back(std::move(file));
}

void FileReader::read(std::string_view script) {
  std::vector<std::string> outer;
  for (const ShellCommand& command : shell_commands(script)) {
    outer.insert(outer.end(), command.opens, folder_);
    tell(command.words);
    for (const auto& [to, appends] : command.redirections) {
      add(to, appends ? FileDeed::appended : FileDeed::created, true);
    }
    for (std::size_t i = 0; i < command.closes && !outer.empty(); ++i) {
      folder_ = std::move(outer.back());
      outer.pop_back();
    }
  }
}

}  // namespace

std::vector<ShellFile> shell_files(std::string_view script) {
  FileReader reader("", 0);
  reader.read(script);
  return reader.take();
}

}  // namespace daybook::replay
