#include "tools/log_parts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "schema/ids.h"
#include "tools/log_claude_lines.h"
#include "tools/log_codex_lines.h"

namespace daybook::tools {
namespace {

// ------------------------------------------------------------------------------ bytes

/// Opens each file when the one before it is at its end.
class JoinedFiles : public ByteSource {
 public:
  explicit JoinedFiles(const LogSource& source) : source_(source) {}

  Result<void> open_next() {
    const std::size_t number = starts_.size();
    const LogSource& file = number == 0 ? source_ : source_.rest[number - 1];
    auto opened = file.plain ? open_plain(file.path, file.size) : open_bytes(file.path);
    if (!opened) return fail(opened.error());
    if (number > source_.told) consumed_ += file_->consumed();
    file_ = std::move(*opened);
    starts_.push_back(read_);
    left_ = file.until == 0 ? ~std::uint64_t{0} : file.until;
    return {};
  }

  Result<std::size_t> read(char* into, std::size_t size) override {
    while (size > 0) {
      const auto got = left_ == 0 ? Result<std::size_t>(0)
                                  : file_->read(into, std::min<std::uint64_t>(size, left_));
      if (!got) return got;
      if (*got > 0) {
        read_ += *got;
        left_ -= *got;
        in_line_ = into[*got - 1] != '\n';
        return got;
      }
      if (starts_.size() > source_.rest.size()) break;
      if (in_line_) {
        in_line_ = false;
        *into = '\n';
        ++read_;
        return std::size_t{1};
      }
      DAYBOOK_TRY(open_next());
    }
    return std::size_t{0};
  }

  std::uint64_t consumed() const override {
    return consumed_ + (starts_.size() > source_.told ? file_->consumed() : 0);
  }

  Part part_at(std::uint64_t offset) const override {
    const auto behind = std::ranges::upper_bound(starts_, offset);
    const auto number = static_cast<std::size_t>(behind - starts_.begin()) - 1;
    return {number, starts_[number]};
  }

 private:
  const LogSource& source_;
  std::unique_ptr<ByteSource> file_;
  std::vector<std::uint64_t> starts_;
  std::uint64_t read_ = 0;
  std::uint64_t left_ = 0;      // of the file that is read
  std::uint64_t consumed_ = 0;  // of files before, but for those that another source tells
  bool in_line_ = false;
};

// ------------------------------------------------------------------------------ looking into files

/// What a file's lines say of its place among others; texts by their hashes.
struct Extent {
  struct Line {
    std::uint64_t hash = 0;
    std::uint64_t offset = 0;
    auto operator<=>(const Line&) const = default;
  };
  std::int64_t last_at = 0;
  std::uint64_t first_line = 0;
  std::uint64_t last_line = 0;
  std::uint64_t first_parent = 0;    // of Claude Code: of the conversation's first line
  std::vector<Line> lines;           // sorted
  std::vector<std::uint64_t> uuids;  // sorted; of Claude Code
  bool cut = false;                  // it ends within a line: none goes on from its end

  /// Offset of the first line that is equal.
  std::optional<std::uint64_t> place_of(std::uint64_t hash) const {
    const auto found = std::ranges::lower_bound(lines, hash, {}, &Line::hash);
    if (found == lines.end() || found->hash != hash) return {};
    return found->offset;
  }
  bool holds_uuid(std::uint64_t hash) const { return std::ranges::binary_search(uuids, hash); }
  bool holds(const Extent& other) const {
    return std::ranges::includes(lines, other.lines, {}, &Line::hash, &Line::hash);
  }
};

std::uint64_t hash_of(std::string_view text) {
  return xxh3_64(as_bytes(text));
}

void take_claude(const ClaudeLine& line, Extent& extent) {
  extent.last_at = std::max(extent.last_at, line.at);
  if (!line.uuid.is_string()) return;
  const JsonSpan parent = line.parent.is_string() ? line.parent : line.logical_parent;
  if (extent.uuids.empty() && parent.is_string()) extent.first_parent = hash_of(parent.raw());
  extent.uuids.push_back(hash_of(line.uuid.raw()));
}

/// Nothing of a file that cannot be read to its end.
std::optional<Extent> extent_of(const LogSource& source) {
  const auto bytes = open_bytes(source.path);
  if (!bytes) return {};
  LineReader lines(**bytes);
  LogLine line;
  JsonTape tape;
  Extent extent;
  while (true) {
    const auto got = lines.next(line);
    if (!got) return {};
    if (!*got) break;
    const std::uint64_t hash = hash_of(line.text);
    if (extent.lines.empty()) extent.first_line = hash;
    extent.last_line = hash;
    extent.lines.push_back({hash, line.offset});
    const auto record = JsonSpan::whole(line.text, &tape);
    extent.cut = !record && !line.complete;
    if (!record) continue;
    if (source.kind == LogKind::claude_code) {
      take_claude(ClaudeLine(*record), extent);
    } else {
      extent.last_at = std::max(extent.last_at, CodexLine(*record).at);
    }
  }
  std::ranges::sort(extent.lines);
  std::ranges::sort(extent.uuids);
  return extent;
}

// ------------------------------------------------------------------------------ joining

constexpr std::size_t kNone = ~std::size_t{0};

class Joiner {
 public:
  explicit Joiner(std::span<const LogSource> sources)
      : sources_(sources),
        before_(sources.size()),
        followed_(sources.size(), false),
        continued_(sources.size(), false) {}

  std::vector<LogSource> join() {
    std::map<std::pair<LogKind, std::string>, std::vector<std::size_t>> threads;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      std::string thread = thread_of(sources_[i]);
      if (!thread.empty()) threads[{sources_[i].kind, std::move(thread)}].push_back(i);
    }
    for (const auto& [thread, files] : threads) {
      const auto may = [&](std::size_t i) { return may_go_on(i, thread.second, files); };
      if (files.size() > 1 && std::ranges::any_of(files, may)) link(thread.second, files);
    }
    return made();
  }

 private:
  /// The file that another one goes on from.
  struct Before {
    std::size_t file = kNone;
    std::uint64_t until = 0;  // as LogSource has it
  };

  std::string thread_of(const LogSource& source) {
    const bool codex = source.kind == LogKind::codex && !source.document;
    if (!codex) return source.kind == LogKind::claude_code ? source.thread : "";
    std::string named = codex_thread_named(source.file);
    // A part may begin with the header of another thread, whose history was copied.
    return source.thread.empty() || is_header(named) ? named : source.thread;
  }

  bool is_header(const std::string& thread) {
    if (headers_.empty()) {
      for (const LogSource& source : sources_) {
        if (source.kind == LogKind::codex) headers_.push_back(source.thread);
      }
      std::ranges::sort(headers_);
    }
    return std::ranges::binary_search(headers_, thread);
  }

  /// Whether a file of the thread may go on from another: where none can, none is looked into.
  bool may_go_on(std::size_t i, const std::string& thread, std::span<const std::size_t> files) {
    const LogSource& source = sources_[i];
    if (source.kind == LogKind::codex) return source.thread != thread;
    // A file of the same beginning and size is a copy: most are, and cost nothing more.
    return source.goes_on || std::ranges::any_of(files, [&](std::size_t file) {
             const LogSource& other = sources_[file];
             return other.begun_at < source.begun_at ||
                    (other.begun_at == source.begun_at && other.size != source.size);
           });
  }

  const Extent* extent(std::size_t i) const {
    const auto& found = extents_.at(i);
    return found ? &*found : nullptr;
  }

  /// In which order the files of a thread come. Claude Code may repeat old lines, Codex dates what
  /// it copies. Of one moment, part 9 comes before part 10.
  auto order(std::size_t i) const {
    const LogSource& source = sources_[i];
    const bool claude = source.kind == LogKind::claude_code;
    const std::int64_t last_at = extent(i)->last_at;
    return std::tuple(claude ? last_at : source.begun_at, source.thread.empty(),
                      claude ? source.begun_at : last_at, source.file.size(),
                      std::string_view(source.file), std::string_view(source.path), i);
  }

  std::optional<Before> as_before(std::size_t i, std::size_t earlier) const {
    const Extent* other = extent(earlier);
    if (i == earlier || other == nullptr || leads_to(i, earlier)) return {};
    const bool claude = sources_[i].kind == LogKind::claude_code;
    return claude ? claude_before(i, earlier, *other) : codex_before(i, earlier, *other);
  }

  bool leads_to(std::size_t from, std::size_t to) const {
    for (std::size_t at = to; at != kNone; at = before_[at].file) {
      if (at == from) return true;
    }
    return false;
  }

  std::optional<Before> codex_before(std::size_t i, std::size_t earlier,
                                     const Extent& other) const {
    const LogSource& source = sources_[i];
    // Headers that were copied follow the own one at once.
    const bool part =
        source.thread.empty() || source.begun_at - sources_[earlier].begun_at < kCodexBurstNs;
    if (!part || order(earlier) >= order(i)) return {};
    const auto overlap = other.place_of(extent(i)->first_line);
    if (overlap == 0 || (!overlap && other.cut)) return {};
    return Before{earlier, overlap.value_or(0)};
  }

  std::optional<Before> claude_before(std::size_t i, std::size_t earlier,
                                      const Extent& other) const {
    const LogSource& source = sources_[i];
    const Extent& mine = *extent(i);
    const auto overlap = other.place_of(mine.first_line);
    if (other.holds(mine)) {
      const bool within = overlap > 0 && sources_[earlier].begun_at <= source.begun_at;
      return within ? std::optional(Before{earlier, *overlap}) : std::nullopt;
    }
    if (other.cut || order(earlier) >= order(i)) return {};
    // A copy that is longer holds all of this.
    if (mine.first_line == other.first_line && mine.holds(other)) return {};
    // Lines that are repeated are told by their ids, so parts may overlap.
    const bool behind = other.last_at != 0 && other.last_at <= source.begun_at;
    const bool linked = source.goes_on && other.holds_uuid(mine.first_parent);
    return behind || linked || overlap ? std::optional(Before{earlier, 0}) : std::nullopt;
  }

  /// Of two files that one goes on from, whether `a` ends nearer to it.
  bool is_nearer(const Before& a, const Before& b) const {
    if (b.file == kNone || (a.until != 0) != (b.until != 0)) return b.file == kNone || a.until != 0;
    const Extent& first = *extent(a.file);
    const Extent& second = *extent(b.file);
    // Of a file and a copy of a part of it, the one that goes on behind the other's end.
    if (first.last_line != second.last_line) {
      if (first.place_of(second.last_line)) return true;
      if (second.place_of(first.last_line)) return false;
    }
    return order(b.file) < order(a.file);
  }

  void link(const std::string& thread, std::span<const std::size_t> files) {
    extents_.clear();
    for (const std::size_t i : files) extents_.emplace(i, extent_of(sources_[i]));
    for (const std::size_t i : files) {
      if (!may_go_on(i, thread, files) || extent(i) == nullptr) continue;
      for (const std::size_t other : files) {
        const auto found = as_before(i, other);
        if (found && is_nearer(*found, before_[i])) before_[i] = *found;
      }
      const Before& before = before_[i];
      if (before.file != kNone && before.until == 0) followed_[before.file] = true;
    }
    for (const std::size_t i : files) {
      continued_[i] =
          extent(i) != nullptr && std::ranges::any_of(files, [&](std::size_t other) {
            const Extent* its = extent(other);
            if (its == nullptr) return false;
            const std::uint64_t last = extent(i)->last_line;
            return its->last_line == last ? followed_[other] : its->place_of(last).has_value();
          });
    }
  }

  /// One for each file that none goes on from at its end.
  std::vector<LogSource> made() const {
    std::vector<bool> told(sources_.size(), false);
    std::vector<LogSource> made;
    made.reserve(sources_.size());
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      if (!followed_[i]) made.push_back(with_what_is_before(i, told));
    }
    return made;
  }

  LogSource with_what_is_before(std::size_t i, std::vector<bool>& told) const {
    std::vector<Before> path;
    for (Before at{i, 0}; at.file != kNone; at = before_[at.file]) path.push_back(at);
    std::ranges::reverse(path);
    LogSource source = sources_[path.front().file];
    source.continued = continued_[i];
    for (std::size_t k = 0; k < path.size(); ++k) {
      const Before& at = path[k];
      if (k > 0) source.rest.push_back(sources_[at.file]);
      (k > 0 ? source.rest.back() : source).until = at.until;
      // What is read in part here is told where it is read to its end.
      if (at.until != 0 || told[at.file]) source.told = k + 1;
      if (at.until == 0) told[at.file] = true;
    }
    return source;
  }

  std::span<const LogSource> sources_;
  std::vector<std::string> headers_;  // threads of Codex's headers, sorted
  std::vector<Before> before_;
  std::vector<bool> followed_;  // at its end
  std::vector<bool> continued_;
  std::map<std::size_t, std::optional<Extent>> extents_;  // of the thread that is looked at
};

}  // namespace

std::vector<LogSource> join_parts(std::span<const LogSource> sources) {
  return Joiner(sources).join();
}

Result<std::unique_ptr<ByteSource>> open_log(const LogSource& source) {
  if (source.rest.empty()) {
    return source.plain ? open_plain(source.path, source.size) : open_bytes(source.path);
  }
  auto joined = std::make_unique<JoinedFiles>(source);
  DAYBOOK_TRY(joined->open_next());
  return joined;
}

std::uint64_t whole_size(const LogSource& source) {
  std::uint64_t size = source.size;
  for (const LogSource& file : source.rest) size += file.size;
  return size;
}

std::uint64_t own_size(const LogSource& source) {
  std::uint64_t size = source.told == 0 ? source.size : 0;
  for (std::size_t i = 0; i < source.rest.size(); ++i) {
    if (i + 1 >= source.told) size += source.rest[i].size;
  }
  return size;
}

std::string codex_thread_named(std::string_view file) {
  std::string_view name = file.substr(0, file.find(".json"));
  constexpr std::size_t kBefore = std::string_view("rollout-2026-01-01T00-00-00-").size();
  if (name.starts_with("rollout-") && name.size() > kBefore) name = name.substr(kBefore);
  return std::string(name.substr(0, name.find('_')));
}

}  // namespace daybook::tools
