// What the wire formats share: writing members, judging tool arguments, reading counts.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/model.h"
#include "schema/json.h"

namespace daybook::engine {

/// Stands for a message that would otherwise have no content: endpoints refuse those, and leaving
/// the message out would break the alternation of roles.
inline constexpr std::string_view kNoContent = "(no content)";

/// Appends `"name":"value"` after a comma when the text already holds a member.
void add_member(std::string& out, std::string_view name, std::string_view value);
/// The same with a value that is JSON already.
void add_json_member(std::string& out, std::string_view name, std::string_view json);

void append_joined(std::string& out, std::span<const std::string_view> values);
/// Segments with commas between them.
void add_joined(BodySink& out, std::span<const std::string_view> segments);

/// Text as a JSON string.
std::string json_string(std::string_view text);
/// Such strings as one, with an empty line between them. Without any: an empty string.
void add_joined_strings(BodySink& out, std::span<const std::string_view> segments);

/// Nothing but white space: endpoints refuse such text blocks as empty.
bool is_blank(std::string_view text);

/// Sets text, state and error of a tool call from its arguments as received. No text at all means
/// no arguments. `may_be_cut`: the output ended before the model was done.
void judge_arguments(Block& call, std::string text, bool may_be_cut);

/// The arguments to send back: the received bytes, or an empty object when they are not valid.
std::string_view arguments_or_empty(const Block& call);

/// A tool name as endpoints take it back. Models invent names, and a history holding one that the
/// endpoint refuses could never be sent again: other characters become '_'.
std::string wire_name(std::string_view tool);

/// A call's id as every endpoint takes it back: they refuse other characters and long ids, which
/// ids of other providers may have. Equal ids stay equal, so that results keep finding their calls.
std::string wire_id(const std::string& id);

/// Events of a kind unknown here that a decoder keeps, at most.
inline constexpr std::size_t kMaxUnknownEvents = 256;

/// Lays `from` over `onto`; members that are null say nothing new.
void lay_over(Json& onto, const Json& from);

/// Adds the object `name`: the members of `own`, and after them those that `extra` has for it. Then
/// the rest of `extra`, which is as in ModelParams. No object without members.
void add_merged(std::string& out, std::string_view name, Json own, std::string_view extra);

/// A count; absent when missing, null, negative or not an integer.
std::optional<std::uint64_t> count_at(const Json& object, std::string_view key);

/// The member, or null when there is none or `object` is not an object.
const Json* member(const Json& object, std::string_view key);

/// Parses what a stream sends. Half a surrogate pair, which servers write that cut a reply between
/// the two, is read as U+FFFD: a character is lost, not the reply.
Result<Json> parse_event(std::string_view data);

Failure stream_cut(std::string message);
Failure not_json(std::string_view data, const std::string& why);

}  // namespace daybook::engine
