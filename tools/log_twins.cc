#include "tools/log_twins.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "tools/log_file.h"

namespace daybook::tools {
namespace {

constexpr std::string_view kActive = "/sessions/";
constexpr std::string_view kArchive = "/archived_sessions/";

bool is_archived(const LogSource& source) {
  return ('/' + source.path).rfind(kArchive) != std::string::npos;
}

/// The folder of a program's logs: a log moves within it, not out of it.
std::string home_of(const LogSource& source) {
  const std::string path = '/' + source.path;
  const std::size_t active = path.rfind(kActive);
  const std::size_t archive = path.rfind(kArchive);
  // npos is none, and one more than it is 0.
  const std::size_t last = std::max(active + 1, archive + 1);
  return path.substr(0, last == 0 ? path.rfind('/') + 1 : last);
}

/// Takes a file piece by piece.
class Pieces {
 public:
  static std::optional<Pieces> open(const std::string& path) {
    auto source = open_bytes(path);
    if (!source) return std::nullopt;
    return Pieces(std::move(*source));
  }

  /// What is there of the next piece; nothing at the end. `broken` when it cannot be read.
  std::string_view next() {
    if (at_ == have_) {
      at_ = 0;
      const auto got = source_->read(buffer_->data(), buffer_->size());
      broken_ = !got;
      have_ = got ? *got : 0;
    }
    return std::string_view(buffer_->data(), have_).substr(at_);
  }
  void take(std::size_t size) { at_ += size; }
  bool broken() const { return broken_; }

 private:
  explicit Pieces(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  static constexpr std::size_t kPiece = std::size_t{1} << 16;
  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<std::array<char, kPiece>> buffer_ = std::make_unique<std::array<char, kPiece>>();
  std::size_t at_ = 0;
  std::size_t have_ = 0;
  bool broken_ = false;
};

/// Which of two files begins with the other, or is the same.
enum class Overlap { none, same, first_longer, second_longer };

Overlap overlap(const LogSource& a, const LogSource& b) {
  auto first = Pieces::open(a.path);
  auto second = Pieces::open(b.path);
  if (!first || !second) return Overlap::none;
  while (true) {
    const std::string_view left = first->next();
    const std::string_view right = second->next();
    const std::size_t both = std::min(left.size(), right.size());
    if (left.substr(0, both) != right.substr(0, both)) return Overlap::none;
    if (both == 0) {
      if (first->broken() || second->broken()) return Overlap::none;
      return left.empty() == right.empty() ? Overlap::same
             : right.empty()               ? Overlap::first_longer
                                           : Overlap::second_longer;
    }
    first->take(both);
    second->take(both);
  }
}

/// The least goes before its equals.
int rank(const LogSource& source) {
  return (is_archived(source) ? 2 : 0) + (source.compressed ? 1 : 0);
}

/// Whether `source` is a twin of `kept`, which then is the one that counts of the two. A copy of
/// the same length is read like any other file; one that was cut off may end in the middle of an
/// answer.
bool joined(LogSource& kept, LogSource& source) {
  const bool moved = home_of(source) == home_of(kept) && (source.compressed != kept.compressed ||
                                                          is_archived(source) != is_archived(kept));
  const Overlap found = overlap(kept, source);
  if (found == Overlap::none || (found == Overlap::same && !moved)) return false;
  const bool better = found == Overlap::same && rank(source) < rank(kept);
  if (better || found == Overlap::second_longer) std::swap(source, kept);
  kept.twins.push_back(source.path);
  kept.twins.insert(kept.twins.end(), source.twins.begin(), source.twins.end());
  return true;
}

}  // namespace

std::vector<LogSource> without_twins(std::vector<LogSource> sources) {
  std::map<std::pair<std::string, LogKind>, std::vector<std::size_t>> named;
  std::vector<LogSource> kept;
  for (LogSource& source : sources) {
    auto& others = named[{source.file, source.kind}];
    const bool twin =
        std::ranges::any_of(others, [&](std::size_t i) { return joined(kept[i], source); });
    if (twin) continue;
    others.push_back(kept.size());
    kept.push_back(std::move(source));
  }
  return kept;
}

}  // namespace daybook::tools
