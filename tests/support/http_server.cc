#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <optional>
#include <stdexcept>

namespace daybook::tests {
namespace {

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool receive(int socket, std::string& buffer) {
  std::array<char, 65536> block;
  const ssize_t got = ::recv(socket, block.data(), block.size(), 0);
  if (got <= 0) return false;
  buffer.append(block.data(), static_cast<std::size_t>(got));
  return true;
}

void read_head(std::string_view head, SeenRequest& request) {
  std::size_t at = head.find("\r\n");
  request.line = head.substr(0, at);
  while (at != std::string_view::npos) {
    const std::size_t start = at + 2;
    at = head.find("\r\n", start);
    const std::string_view line = head.substr(start, at - start);
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    request.headers.emplace_back(std::move(name), line.substr(colon + 2));
  }
}

/// The next request; `buffer` keeps what came after it.
std::optional<SeenRequest> read_request(int socket, std::string& buffer) {
  std::size_t end = 0;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!receive(socket, buffer)) return std::nullopt;
  }
  SeenRequest request;
  read_head(std::string_view(buffer).substr(0, end), request);
  buffer.erase(0, end + 4);
  const std::string length = request.header("content-length");
  const std::size_t size = length.empty() ? 0 : std::stoul(length);
  while (buffer.size() < size) {
    if (!receive(socket, buffer)) return std::nullopt;
  }
  request.body = buffer.substr(0, size);
  buffer.erase(0, size);
  return request;
}

void close_with_reset(int socket) {
  const linger now{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

}  // namespace

void Latch::open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
  changed_.notify_all();
}

void Latch::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return open_; });
}

bool Latch::wait_for_ms(int ms) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::milliseconds(ms), [this] { return open_; });
}

std::string SeenRequest::header(const std::string& name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

ServerStep send(std::string bytes) {
  return {ServerStep::Kind::send, std::move(bytes), nullptr};
}
ServerStep run(std::function<void()> action) {
  return {ServerStep::Kind::run, "", std::move(action)};
}
ServerStep wait_for(std::shared_ptr<Latch> latch) {
  return run([latch = std::move(latch)] { latch->wait(); });
}
ServerStep cut() {
  return {ServerStep::Kind::cut, "", nullptr};
}
ServerStep reset() {
  return {ServerStep::Kind::reset, "", nullptr};
}
ServerStep wait_for_close() {
  return {ServerStep::Kind::wait_for_close, "", nullptr};
}

std::string response(int status, std::string_view content_type, std::string_view body,
                     std::string_view more_headers) {
  return "HTTP/1.1 " + std::to_string(status) +
         " Status\r\nContent-Type: " + std::string(content_type) +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + std::string(more_headers) +
         "\r\n" + std::string(body);
}

std::string event_stream_head(std::string_view more_headers) {
  return "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
         "Transfer-Encoding: chunked\r\n" +
         std::string(more_headers) + "\r\n";
}

std::string chunk(std::string_view bytes) {
  std::array<char, 20> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
  return size.data() + std::string(bytes) + "\r\n";
}

std::string last_chunk() {
  return "0\r\n\r\n";
}

std::string event_stream(std::string_view body, std::string_view more_headers) {
  return event_stream_head(more_headers) + chunk(body) + last_chunk();
}

HttpServer::HttpServer() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("the test server cannot listen on 127.0.0.1");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_loop(); });
}

HttpServer::~HttpServer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
  }
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (std::thread& worker : workers_) worker.join();
  ::close(listener_);
}

void HttpServer::accept_loop() {
  while (true) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (socket < 0 || stopping_) {
      if (socket >= 0) ::close(socket);
      return;
    }
    sockets_.push_back(socket);
    workers_.emplace_back([this, socket, number = connections_++] { serve(socket, number); });
  }
}

void HttpServer::serve(int socket, int connection) {
  std::string buffer;
  while (auto request = read_request(socket, buffer)) {
    request->connection = connection;
    if (!play(socket, take_script(std::move(*request)))) break;
  }
  const std::lock_guard lock(mutex_);
  std::erase(sockets_, socket);
  ::close(socket);
}

void HttpServer::answer_with(std::function<ServerScript(const SeenRequest&)> handler) {
  const std::lock_guard lock(mutex_);
  handler_ = std::move(handler);
}

ServerScript HttpServer::take_script(SeenRequest request) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(std::move(request));
  changed_.notify_all();
  if (scripts_.empty() && handler_) return handler_(requests_.back());
  if (scripts_.empty()) {
    return {send(response(500, "text/plain", "the test server has no script for this request"))};
  }
  ServerScript script = std::move(scripts_.front());
  scripts_.pop_front();
  return script;
}

/// False when the connection is over.
bool HttpServer::play(int socket, const ServerScript& script) {
  for (const ServerStep& step : script) {
    std::string ignored;
    switch (step.kind) {
      case ServerStep::Kind::send:
        if (!send_all(socket, step.bytes)) return false;
        break;
      case ServerStep::Kind::run:
        step.action();
        break;
      case ServerStep::Kind::cut:
        return false;
      case ServerStep::Kind::reset:
        close_with_reset(socket);
        return false;
      case ServerStep::Kind::wait_for_close:
        while (receive(socket, ignored)) ignored.clear();
        return false;
    }
  }
  return true;
}

void HttpServer::on_request(ServerScript script) {
  const std::lock_guard lock(mutex_);
  scripts_.push_back(std::move(script));
}

std::vector<SeenRequest> HttpServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

int HttpServer::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

void HttpServer::wait_for_requests(std::size_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return requests_.size() >= count; });
}

}  // namespace daybook::tests
