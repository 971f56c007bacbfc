// Which files a span's calls wrote, asked by the names that a summary gives them.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/prepared_span.h"
#include "engine/span_commands.h"

namespace daybook::engine {

class WrittenFiles {
 public:
  WrittenFiles(const PreparedSpan& span, const SpanCommands& commands);

  enum class Answer : std::uint8_t {
    written,  // a call that succeeded names it and may have written it
    refused,  // calls that were to write it failed, or have no result
    untold    // no call that writes names it
  };
  /// Linear in the span's calls and the results of its commands.
  Answer ask(const Entity& path) const;

  /// Some command that succeeded may have written this file without naming it: a program that may
  /// write anything, or a build, of what lies where builds put their files.
  bool is_possible(const Entity& path) const;
  /// Some command that succeeded may have written some file.
  bool any_possible() const { return most_ != CommandRun::Writes::named; }

 private:
  bool command_names(std::size_t item, std::string_view path) const;

  const PreparedSpan& span_;
  const SpanCommands& commands_;
  CommandRun::Writes most_ = CommandRun::Writes::named;  // that a command may have written
};

}  // namespace daybook::engine
