// In which language a text is written, from its scripts and its commonest words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace daybook::engine {

enum class Language : std::uint8_t {
  unknown,
  english,
  german,
  french,
  spanish,
  portuguese,
  italian,
  dutch,
  chinese,  // ideographs without kana
  japanese,
  korean,
  cyrillic,  // the languages written so are not told apart
  greek,
  arabic,
  hebrew,
};

std::string_view name_of(Language language);

struct LanguageGuess {
  Language language = Language::unknown;  // unknown: too little prose to tell
  Language second = Language::unknown;    // also written a good deal, or unknown
};

/// Code between backticks does not count, nor do lines that start with '#'.
LanguageGuess guess_language(std::string_view text);

}  // namespace daybook::engine
