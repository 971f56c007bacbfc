// A scripted HTTP/1.1 server on 127.0.0.1, for what a real endpoint does and should not do.
//
//   HttpServer server;
//   server.on_request({send(event_stream_head()), send(chunk("data: {}\n\n")), cut()});
//   ... call server.url() + "/v1/messages" ...
//   CHECK(server.requests()[0].body == expected);
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace daybook::tests {

/// Opens once; waiting ends then, for ever.
class Latch {
 public:
  void open();
  void wait();
  /// Waits at most that long: false when it is still closed.
  bool wait_for_ms(int ms);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

struct SeenRequest {
  std::string line;                                          // "POST /v1/messages HTTP/1.1"
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  int connection = 0;  // 0, 1, ... in the order they were accepted

  std::string header(const std::string& name) const;  // "" when absent
};

/// One thing the server does. Made by the functions below.
struct ServerStep {
  enum class Kind { send, run, cut, reset, wait_for_close };
  Kind kind = Kind::send;
  std::string bytes;
  std::function<void()> action;
};
using ServerScript = std::vector<ServerStep>;

ServerStep send(std::string bytes);
/// On the connection's thread: open a latch, wait for one, post to the test's loop.
ServerStep run(std::function<void()> action);
ServerStep wait_for(std::shared_ptr<Latch> latch);
/// Closes the connection.
ServerStep cut();
/// Closes it with RST instead of FIN.
ServerStep reset();
/// Reads until the client closes.
ServerStep wait_for_close();

/// A whole response with its length; the connection stays open.
std::string response(int status, std::string_view content_type, std::string_view body,
                     std::string_view more_headers = "");
/// Head of a 200 event stream in chunks; `more_headers` end in CRLF each.
std::string event_stream_head(std::string_view more_headers = "");
std::string chunk(std::string_view bytes);
std::string last_chunk();
/// event_stream_head, one chunk, last_chunk.
std::string event_stream(std::string_view body, std::string_view more_headers = "");

class HttpServer {
 public:
  HttpServer();
  /// Closes every connection and joins; latches that a script waits on must be open by then.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  /// What the next request without a script gets; in order. A request for which there is none
  /// is answered with status 500 and a text that says so.
  void on_request(ServerScript script);
  /// What every request without a script gets; called on a connection's thread, one at a time.
  void answer_with(std::function<ServerScript(const SeenRequest&)> handler);
  std::vector<SeenRequest> requests() const;
  int connections() const;
  /// Waits until that many requests were read whole.
  void wait_for_requests(std::size_t count);

 private:
  void accept_loop();
  void serve(int socket, int connection);
  bool play(int socket, const ServerScript& script);
  ServerScript take_script(SeenRequest request);

  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ServerScript> scripts_;
  std::function<ServerScript(const SeenRequest&)> handler_;
  std::vector<SeenRequest> requests_;
  std::vector<int> sockets_;  // of open connections
  int connections_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
  std::thread acceptor_;
};

}  // namespace daybook::tests
