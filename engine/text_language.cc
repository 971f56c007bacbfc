#include "engine/text_language.h"

#include <algorithm>
#include <array>
#include <span>

#include "engine/word_table.h"

namespace daybook::engine {
namespace {

constexpr std::size_t kLanguages = 15;
using Counts = std::array<std::size_t, kLanguages>;

constexpr std::uint8_t kEn = 1, kDe = 2, kFr = 4, kEs = 8, kPt = 16, kIt = 32, kNl = 64;

/// The commonest words; those of several languages count for each.
constexpr WordTable kCommon({
    WordRow<std::uint8_t>{"the", kEn},
    {"and", kEn},
    {"of", kEn},
    {"is", kEn | kNl},
    {"that", kEn},
    {"with", kEn},
    {"for", kEn},
    {"was", kEn | kDe | kNl},
    {"are", kEn},
    {"this", kEn},
    {"it", kEn},
    {"not", kEn},
    {"must", kEn},
    {"from", kEn},
    {"be", kEn},
    {"has", kEn},
    {"but", kEn},
    {"should", kEn},
    {"were", kEn},
    {"because", kEn},
    {"after", kEn},
    {"when", kEn},
    {"all", kEn},
    {"you", kEn},
    {"please", kEn},
    {"to", kEn},
    {"on", kEn},
    {"by", kEn},
    {"der", kDe},
    {"die", kDe},
    {"das", kDe},
    {"und", kDe},
    {"ist", kDe},
    {"nicht", kDe},
    {"mit", kDe},
    {"den", kDe},
    {"dem", kDe},
    {"ein", kDe},
    {"eine", kDe},
    {"einen", kDe},
    {"für", kDe},
    {"auf", kDe},
    {"zu", kDe},
    {"von", kDe},
    {"im", kDe},
    {"wird", kDe},
    {"auch", kDe},
    {"noch", kDe},
    {"muss", kDe},
    {"bitte", kDe},
    {"sich", kDe},
    {"werden", kDe},
    {"aus", kDe},
    {"bei", kDe},
    {"nach", kDe},
    {"oder", kDe},
    {"dass", kDe},
    {"wurde", kDe},
    {"le", kFr},
    {"la", kFr | kEs | kIt},
    {"les", kFr},
    {"des", kFr | kDe},
    {"et", kFr},
    {"est", kFr},
    {"un", kFr | kEs | kIt},
    {"une", kFr},
    {"dans", kFr},
    {"pour", kFr},
    {"que", kFr | kEs | kPt},
    {"qui", kFr},
    {"pas", kFr},
    {"ne", kFr},
    {"avec", kFr},
    {"sur", kFr},
    {"du", kFr | kDe},
    {"il", kFr | kIt},
    {"au", kFr},
    {"être", kFr},
    {"sont", kFr},
    {"doit", kFr},
    {"el", kEs},
    {"los", kEs},
    {"las", kEs},
    {"del", kEs | kIt},
    {"y", kEs},
    {"es", kEs | kDe},
    {"una", kEs | kIt},
    {"por", kEs | kPt},
    {"con", kEs | kIt},
    {"para", kEs | kPt},
    {"se", kEs},
    {"al", kEs},
    {"más", kEs},
    {"está", kEs | kPt},
    {"debe", kEs},
    {"como", kEs | kPt},
    {"o", kPt | kIt},
    {"os", kPt},
    {"do", kPt},
    {"da", kPt | kIt},
    {"dos", kPt},
    {"em", kPt},
    {"não", kPt},
    {"uma", kPt},
    {"um", kPt | kDe},
    {"com", kPt},
    {"ao", kPt},
    {"deve", kPt | kIt},
    {"di", kIt},
    {"che", kIt},
    {"è", kIt},
    {"non", kIt},
    {"per", kIt},
    {"gli", kIt},
    {"nel", kIt},
    {"sono", kIt},
    {"della", kIt},
    {"het", kNl},
    {"een", kNl},
    {"van", kNl},
    {"en", kNl | kFr},
    {"de", kNl | kFr | kEs | kPt},
    {"niet", kNl},
    {"dat", kNl},
    {"voor", kNl},
    {"met", kNl},
    {"zijn", kNl},
    {"op", kNl},
    {"te", kNl},
    {"moet", kNl},
    {"ook", kNl},
    {"bij", kNl},
});

constexpr std::array<Language, 7> kByBit = {
    Language::english,    Language::german,  Language::french, Language::spanish,
    Language::portuguese, Language::italian, Language::dutch};

/// The script of a word that starts with a byte of this value, for scripts of one language group.
Language script_of(unsigned char lead, unsigned char next) {
  if (lead == 0xe3 && (next == 0x81 || next == 0x82 || next == 0x83)) return Language::japanese;
  if (lead >= 0xe3 && lead <= 0xe9) return Language::chinese;
  if (lead >= 0xea && lead <= 0xed) return Language::korean;
  if (lead >= 0xd0 && lead <= 0xd3) return Language::cyrillic;
  if (lead == 0xce || lead == 0xcf) return Language::greek;
  if (lead >= 0xd8 && lead <= 0xdb) return Language::arabic;
  if (lead == 0xd6 || lead == 0xd7) return Language::hebrew;
  return Language::unknown;
}

class LanguageSink {
 public:
  void word(const Word& word) {
    if (in_code_ || heading_) return;
    at_line_start_ = false;
    const auto lead = static_cast<unsigned char>(word.text[0]);
    if (lead >= 0x80 && word.text.size() > 1) {
      const Language script = script_of(lead, static_cast<unsigned char>(word.text[1]));
      if (script != Language::unknown) {
        ++counts[static_cast<std::size_t>(script)];
        return;
      }
    }
    if (const auto* found = kCommon.find(word.text); found != nullptr) pending_ |= *found;
  }
  void chunk(const Chunk& chunk) {
    // A common word inside a path or a name is none.
    if (chunk.in_code) {
      in_code_ = true;
    } else if (chunk.joins <= 1) {
      add(pending_);
    }
    pending_ = 0;
    if (at_line_start_ || chunk.text.front() == '#') {
      heading_ = heading_ || (line_empty_ && chunk.text.front() == '#');
    }
    line_empty_ = false;
  }
  void stop(char c) {
    if (c == '`') in_code_ = !in_code_;
    if (c == '\n') {
      heading_ = false;
      line_empty_ = at_line_start_ = true;
    }
  }

  Counts counts{};

 private:
  void add(std::uint8_t languages) {
    for (std::size_t bit = 0; bit < kByBit.size(); ++bit) {
      if ((languages >> bit & 1) != 0) ++counts[static_cast<std::size_t>(kByBit[bit])];
    }
  }

  bool in_code_ = false;
  bool heading_ = false;
  bool at_line_start_ = true;
  bool line_empty_ = true;
  std::uint8_t pending_ = 0;
};

}  // namespace

std::string_view name_of(Language language) {
  static constexpr std::array<std::string_view, kLanguages> kNames = {
      "unknown", "English",  "German", "French",   "Spanish", "Portuguese", "Italian", "Dutch",
      "Chinese", "Japanese", "Korean", "Cyrillic", "Greek",   "Arabic",     "Hebrew"};
  return kNames.at(static_cast<std::size_t>(language));
}

LanguageGuess guess_language(std::string_view text) {
  LanguageSink sink;
  scan_text(text, sink);
  Counts counts = sink.counts;
  // Japanese is written with both.
  auto& japanese = counts[static_cast<std::size_t>(Language::japanese)];
  auto& chinese = counts[static_cast<std::size_t>(Language::chinese)];
  if (japanese * 5 > chinese) {
    japanese += chinese;
    chinese = 0;
  }
  // An ideograph is about half a word, and every second or third word of prose is a common one.
  for (auto* count : {&japanese, &chinese}) *count /= 4;
  for (const Language script : {Language::korean, Language::cyrillic, Language::greek,
                                Language::arabic, Language::hebrew}) {
    counts[static_cast<std::size_t>(script)] /= 2;
  }
  std::size_t best = 0;
  std::size_t second = 0;
  for (std::size_t i = 1; i < kLanguages; ++i) {
    if (counts[i] > counts[best] || best == 0) {
      second = best;
      best = i;
    } else if (second == 0 || counts[i] > counts[second]) {
      second = i;
    }
  }
  constexpr std::size_t kEnough = 5;
  LanguageGuess guess;
  if (counts[best] < kEnough) return guess;
  if (counts[second] * 2 >= counts[best]) guess.second = static_cast<Language>(second);
  guess.language = static_cast<Language>(best);
  return guess;
}

}  // namespace daybook::engine
