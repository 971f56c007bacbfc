// One HTTP POST at a time on the engine's thread: libcurl's multi interface driven by Asio.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace daybook::engine {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;  // names in lower case

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  std::shared_ptr<const std::string> body;
  std::uint32_t connect_timeout_ms = 0;
  std::uint32_t idle_timeout_ms = 0;  // without a byte in either direction
};

/// How an exchange ended.
struct HttpEnd {
  enum class Kind {
    complete,  // the whole response came
    stopped,   // on_body said so
    cancelled,
    bad_request,  // nothing was sent: the URL or a header cannot be used
    failed,       // connection, TLS, time-out, or a response cut short
  };
  Kind kind = Kind::complete;
  std::string message;  // for bad_request and failed; names host and port, never user or path
};

struct HttpHandlers {
  /// Once, before the first byte of the body or the end; not when no response came.
  std::function<void(int status, const HttpHeaders& headers)> on_headers;
  /// Decompressed pieces. False ends the exchange.
  std::function<bool(std::string_view bytes)> on_body;
  /// Exactly once, from the io_context, never from within start or cancel.
  std::function<void(HttpEnd end)> on_end;
};

/// Keeps connections open between exchanges; honours the proxy variables; verifies certificates;
/// follows no redirect. All functions belong to the io_context's single thread. Destroying it
/// drops an exchange under way without calling on_end; on_body must not destroy it.
class HttpClient {
 public:
  explicit HttpClient(boost::asio::io_context& io);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// No other exchange may be under way.
  void start(HttpRequest request, HttpHandlers handlers);
  /// No effect when none is under way. Allowed in on_body.
  void cancel();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

/// "host:port" of a URL, without user, password, path or query; "" when it is not a URL.
std::string host_and_port(const std::string& url);

/// "host/path" or "host:port/path" of a URL, without user, password and query; "" when it is not
/// a URL.
std::string host_and_path(const std::string& url);

}  // namespace daybook::engine
