#include "engine/transcript_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "engine/spill.h"
#include "engine/transcript_guard.h"

namespace daybook::engine {
namespace {

struct Missing {
  std::uint32_t number = 0;
  std::uint64_t first = 0;  // events of what was replaced
  std::uint64_t last = 0;
  Digest digest;
  std::shared_ptr<const schema::ContentT> block;  // that was replaced with them; null: none
};

/// Whether the file holds what was written then: the block calls it word for word.
bool is_whole(const std::string& path, std::uint64_t size, const Digest& digest) {
  std::error_code error;
  if (std::filesystem::file_size(path, error) != size || error) return false;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return in && Digest::of(text.str()) == digest;
}

/// The compactions whose file is not there, or not as it was.
std::vector<Missing> missing_files(journal::Journal& journal, const SessionId& session,
                                   const std::string& spill_folder) {
  std::vector<Missing> missing;
  Missing open;
  std::shared_ptr<const schema::ContentT> block;
  // Damage is told by whoever reads the session to go on with it.
  static_cast<void>(journal.read(session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    if (const auto* started = entry.event->payload_as_CompactionStarted()) {
      open = {started->number(), started->first(), started->last(), {}, block};
    }
    const auto* committed = entry.event->payload_as_CompactionCommitted();
    if (committed == nullptr || committed->number() != open.number) return true;
    if (committed->block() != nullptr) block.reset(committed->block()->UnPack());
    if (text_of(committed->transcript_path()).empty() ||
        committed->transcript_digest() == nullptr) {
      return true;
    }
    open.digest = Digest::from(committed->transcript_digest());
    if (!is_whole(transcript_file(spill_folder, session.str(), open.number),
                  committed->transcript_size(), open.digest)) {
      missing.push_back(open);
    }
    return true;
  }));
  return missing;
}

}  // namespace

std::string transcript_file(const std::string& spill_folder, const std::string& session,
                            std::uint32_t number) {
  return (std::filesystem::path(spill_folder) / session / fmt::format("compaction-{}.txt", number))
      .string();
}

std::string transcript_text(std::string_view block, std::vector<PastItem> items) {
  if (!block.empty()) {
    items.insert(items.begin(), {SpanKind::kPriorSummary, std::string(block), "", true, 0});
  }
  return render_span(guarded(std::move(items)), SIZE_MAX);
}

std::size_t restore_transcripts(journal::Journal& journal, const SessionState& state,
                                const std::string& spill_folder) {
  const auto session = SessionId::parse(state.session);
  if (!session || spill_folder.empty() || state.compaction->committed == 0) return 0;
  std::size_t written = 0;
  for (const Missing& each : missing_files(journal, *session, spill_folder)) {
    const auto items = read_span(journal, *session, each.first, each.last);
    if (!items) continue;
    const auto block = journal::content_bytes(journal, each.block.get());
    if (!block) continue;
    std::string text = transcript_text(*block, *items);
    // Files were written without the block once, and before that without the guard.
    if (Digest::of(text) != each.digest) text = transcript_text("", *items);
    if (Digest::of(text) != each.digest) text = render_span(*items, SIZE_MAX);
    if (Digest::of(text) != each.digest) continue;
    written += write_spill(transcript_file(spill_folder, state.session, each.number), text) ? 1 : 0;
  }
  return written;
}

}  // namespace daybook::engine
