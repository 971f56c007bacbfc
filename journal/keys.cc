#include "journal/keys.h"

namespace daybook::journal {
namespace {

template <class Number>
void put(std::string& out, Number number) {
  for (std::size_t i = sizeof(Number); i-- > 0;) {
    out.push_back(static_cast<char>(static_cast<unsigned char>(number >> (8 * i))));
  }
}

/// Takes values off the front; `good` turns false when there is not enough.
struct Input {
  std::string_view rest;
  bool good = true;

  template <class Number>
  Number take() {
    if (rest.size() < sizeof(Number)) {
      good = false;
      return 0;
    }
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      number = (number << 8) | static_cast<unsigned char>(rest[i]);
    }
    rest.remove_prefix(sizeof(Number));
    return static_cast<Number>(number);
  }

  std::string_view take_bytes(std::size_t size) {
    if (rest.size() < size) {
      good = false;
      return {};
    }
    const std::string_view bytes = rest.substr(0, size);
    rest.remove_prefix(size);
    return bytes;
  }

  Digest take_digest() {
    const auto hi = take<std::uint64_t>();
    return {hi, take<std::uint64_t>()};
  }
};

std::string key_of(KeyKind kind, std::string_view rest) {
  std::string key;
  key.reserve(rest.size() + 10);
  key.push_back(static_cast<char>(kind));
  key.append(rest);
  return key;
}

void put_digest(std::string& out, const Digest& digest) {
  put(out, digest.hi);
  put(out, digest.lo);
}

}  // namespace

std::string event_prefix(const SessionId& session) {
  std::string key = key_of(KeyKind::event, session.str());
  key.push_back('\0');
  return key;
}

std::string event_key(const SessionId& session, std::uint64_t version) {
  std::string key = event_prefix(session);
  put(key, version);
  return key;
}

std::string order_key(std::uint64_t position) {
  std::string key = key_of(KeyKind::order, {});
  put(key, position);
  return key;
}

std::string projection_key(const SessionId& session, std::string_view projection) {
  std::string key = key_of(KeyKind::projection, session.str());
  key.push_back('\0');
  key.append(projection);
  return key;
}

std::string request_key(std::string_view scope, std::string_view id) {
  std::string key = key_of(KeyKind::request, {});
  put(key, static_cast<std::uint16_t>(scope.size()));
  key.append(scope);
  key.append(id);
  return key;
}

std::string blob_key(const Digest& digest) {
  std::string key;
  put_digest(key, digest);
  return key;
}

std::string checkpoint_prefix(const SessionId& session, std::string_view projection) {
  std::string key = key_of(KeyKind::checkpoint, session.str());
  key.push_back('\0');
  key.append(projection);
  key.push_back('\0');
  return key;
}

std::string checkpoint_key(const SessionId& session, std::string_view projection,
                           std::uint32_t part) {
  std::string key = checkpoint_prefix(session, projection);
  put(key, part);
  return key;
}

std::string after_prefix(std::string prefix) {
  // No prefix ends in 0xff: they end in a kind, a 0x00 or a character of a session name.
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

std::optional<EventKey> parse_event_key(std::string_view key) {
  if (key.size() < 11 || key[0] != static_cast<char>(KeyKind::event)) return {};
  const std::size_t name_size = key.size() - 10;
  Input number{key.substr(name_size + 2)};
  if (key[name_size + 1] != '\0') return {};
  return EventKey{key.substr(1, name_size), number.take<std::uint64_t>()};
}

std::optional<std::uint64_t> parse_order_key(std::string_view key) {
  if (key.size() != 9 || key[0] != static_cast<char>(KeyKind::order)) return {};
  return Input{key.substr(1)}.take<std::uint64_t>();
}

std::optional<Digest> parse_blob_key(std::string_view key) {
  if (key.size() != 16) return {};
  return Input{key}.take_digest();
}

std::optional<CheckpointKey> parse_checkpoint_key(std::string_view key) {
  const std::size_t session_end = key.find('\0');
  if (session_end == std::string_view::npos || key.size() < session_end + 6) return {};
  const std::size_t end = key.size() - 5;
  if (key[end] != '\0') return {};
  Input part{key.substr(end + 1)};
  return CheckpointKey{key.substr(1, session_end - 1),
                       key.substr(session_end + 1, end - session_end - 1),
                       part.take<std::uint32_t>()};
}

std::optional<std::pair<std::string_view, std::string_view>> parse_projection_key(
    std::string_view key) {
  const std::size_t end = key.find('\0');
  if (end == std::string_view::npos || end < 2) return {};
  return std::pair{key.substr(1, end - 1), key.substr(end + 1)};
}

void seal(std::string& value) {
  put(value, xxh3_64(as_bytes(value)));
}

std::optional<std::string_view> unseal(std::string_view value) {
  if (value.size() < 8) return {};
  const std::string_view body = value.substr(0, value.size() - 8);
  Input checksum{value.substr(body.size())};
  if (checksum.take<std::uint64_t>() != xxh3_64(as_bytes(body))) return {};
  return body;
}

std::string encode_request(const RequestRecord& record) {
  std::string value;
  put_digest(value, record.content);
  put(value, record.version);
  value.append(record.session.str());
  seal(value);
  return value;
}

std::optional<RequestRecord> decode_request(std::string_view value) {
  const auto body = unseal(value);
  if (!body) return {};
  Input in{*body};
  const Digest content = in.take_digest();
  const auto version = in.take<std::uint64_t>();
  auto session = SessionId::parse(in.rest);
  if (!in.good || !session) return {};
  return RequestRecord{content, std::move(*session), version};
}

std::optional<Checkpoint> decode_checkpoint(std::string_view value) {
  const auto body = unseal(value);
  if (!body) return {};
  Input in{*body};
  Checkpoint checkpoint;
  checkpoint.version = in.take<std::uint64_t>();
  checkpoint.fingerprint = in.take_bytes(in.take<std::uint32_t>());
  checkpoint.state = in.rest;
  if (!in.good) return {};
  return checkpoint;
}

std::string encode_checkpoint_start(const Checkpoint& checkpoint) {
  std::string start;
  put(start, checkpoint.version);
  put(start, static_cast<std::uint32_t>(checkpoint.fingerprint.size()));
  start.append(checkpoint.fingerprint);
  put(start, static_cast<std::uint64_t>(checkpoint.state.size()));
  return start;
}

std::optional<Checkpoint> take_checkpoint_start(std::string_view& part, std::uint64_t& size) {
  Input in{part};
  Checkpoint checkpoint;
  checkpoint.version = in.take<std::uint64_t>();
  checkpoint.fingerprint = in.take_bytes(in.take<std::uint32_t>());
  size = in.take<std::uint64_t>();
  part = in.rest;
  if (!in.good) return {};
  return checkpoint;
}

void append_order_run(std::string& value, std::string_view session, std::uint64_t first_version,
                      std::uint32_t count) {
  put(value, static_cast<std::uint8_t>(session.size()));
  value.append(session);
  put(value, first_version);
  put(value, count);
}

std::optional<std::vector<OrderRun>> decode_order(std::string_view value) {
  const auto body = unseal(value);
  if (!body || body->empty()) return {};
  Input in{*body};
  std::vector<OrderRun> runs;
  while (in.good && !in.rest.empty()) {
    OrderRun run;
    run.session = in.take_bytes(in.take<std::uint8_t>());
    run.first_version = in.take<std::uint64_t>();
    run.count = in.take<std::uint32_t>();
    if (run.count == 0) return {};
    runs.push_back(std::move(run));
  }
  if (!in.good) return {};
  return runs;
}

}  // namespace daybook::journal
