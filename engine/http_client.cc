#include "engine/http_client.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cctype>
#include <chrono>
#include <map>
#include <optional>
#include <utility>

#include "engine/curl.h"
#include "schema/result.h"

namespace daybook::engine {
namespace {

namespace asio = boost::asio;
using Descriptor = asio::posix::stream_descriptor;

constexpr std::size_t kMaxHeaderBytes = 256 << 10;

struct CurlFree {
  void operator()(CURLM* multi) const { curl().multi_cleanup(multi); }
  void operator()(curl_slist* list) const { curl().slist_free_all(list); }
  void operator()(CURLU* url) const { curl().url_cleanup(url); }
  void operator()(char* text) const { curl().free(text); }
};
// CURL and CURLM are the same type to the compiler, so the easy handle has its own deleter.
struct EasyFree {
  void operator()(CURL* easy) const { curl().easy_cleanup(easy); }
};

std::string part_of(CURLU* url, CURLUPart part, unsigned flags = CURLU_DEFAULT_PORT) {
  char* text = nullptr;
  if (curl().url_get(url, part, &text, flags) != CURLUE_OK) return {};
  const std::unique_ptr<char, CurlFree> owned(text);
  return text;
}

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

std::string describe(CURLcode code, const char* detail, const std::string& where) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return fmt::format("cannot resolve the name of {}", where);
    case CURLE_COULDNT_RESOLVE_PROXY:
      return fmt::format(
          "cannot resolve the proxy's name on the way to {}; check the proxy "
          "environment variables",
          where);
    case CURLE_COULDNT_CONNECT:
      return fmt::format("cannot connect to {}", where);
    case CURLE_OPERATION_TIMEDOUT:
      // Connecting is all that has a limit in libcurl's hands.
      return fmt::format("connecting to {} took too long", where);
    case CURLE_GOT_NOTHING:
      return fmt::format("{} closed the connection without an answer", where);
    default:
      break;
  }
  return fmt::format("the connection to {} failed: {}", where,
                     detail[0] != '\0' ? detail : curl().easy_strerror(code));
}

}  // namespace

std::string host_and_port(const std::string& url) {
  const std::unique_ptr<CURLU, CurlFree> parsed(curl().url());
  if (curl().url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return {};
  return fmt::format("{}:{}", part_of(parsed.get(), CURLUPART_HOST),
                     part_of(parsed.get(), CURLUPART_PORT));
}

std::string host_and_path(const std::string& url) {
  const std::unique_ptr<CURLU, CurlFree> parsed(curl().url());
  if (curl().url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return {};
  const std::string port = part_of(parsed.get(), CURLUPART_PORT, 0);
  return fmt::format("{}{}{}{}", part_of(parsed.get(), CURLUPART_HOST), port.empty() ? "" : ":",
                     port, part_of(parsed.get(), CURLUPART_PATH));
}

class HttpClient::Impl : public std::enable_shared_from_this<HttpClient::Impl> {
 public:
  explicit Impl(asio::io_context& io);
  void start(HttpRequest request, HttpHandlers handlers);
  void cancel();
  /// Lets go of everything; nothing is called afterwards.
  void shut_down();

 private:
  /// A socket of libcurl's that Asio waits on, without owning it.
  struct Watch {
    Watch(asio::io_context& io, curl_socket_t socket) : descriptor(io, socket) {}
    ~Watch() { descriptor.release(); }
    Descriptor descriptor;
    int wanted = CURL_POLL_NONE;
    bool reading = false;
    bool writing = false;
  };

  struct Exchange {
    HttpRequest request;
    HttpHandlers handlers;
    std::unique_ptr<CURL, EasyFree> easy;
    std::unique_ptr<curl_slist, CurlFree> header_list;
    HttpHeaders headers;
    std::size_t header_bytes = 0;
    std::array<char, CURL_ERROR_SIZE> detail{};
    std::chrono::steady_clock::time_point last_byte;
    curl_off_t sent = 0;
    bool told_headers = false;
    bool stopped = false;
    bool cancelled = false;
    bool aborted = false;  // on_end is on its way
  };

  static int on_socket(CURL*, curl_socket_t socket, int what, void* self, void*);
  static int on_timer(CURLM*, long timeout_ms, void* self);
  static int on_close(void* self, curl_socket_t socket);
  static std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* self);
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t sent);

  std::optional<std::string> prepare(Exchange& exchange);
  void set_options(Exchange& exchange);
  void arm(curl_socket_t socket);
  void wait(curl_socket_t socket, const std::shared_ptr<Watch>& watch, bool for_write);
  void act(curl_socket_t socket, int events);
  void collect();
  void watch_idle();
  void tell_headers();
  void abort(HttpEnd::Kind kind, std::string message);
  void finish(HttpEnd end);

  asio::io_context& io_;
  asio::steady_timer timer_;
  asio::steady_timer idle_timer_;
  std::map<curl_socket_t, std::shared_ptr<Watch>> watches_;
  std::unique_ptr<CURLM, CurlFree> multi_;
  std::unique_ptr<Exchange> exchange_;
  bool in_curl_ = false;
};

HttpClient::Impl::Impl(asio::io_context& io) : io_(io), timer_(io), idle_timer_(io) {
  multi_.reset(curl().multi_init());
  DAYBOOK_CHECK(multi_ != nullptr);
  curl().multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, &Impl::on_socket);
  curl().multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
  curl().multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, &Impl::on_timer);
  curl().multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
}

void HttpClient::Impl::shut_down() {
  if (exchange_) curl().multi_remove_handle(multi_.get(), exchange_->easy.get());
  exchange_.reset();
  multi_.reset();  // closes pooled connections, which calls on_close
  watches_.clear();
  timer_.cancel();
  idle_timer_.cancel();
}

// ------------------------------------------------------------------------ libcurl's callbacks

int HttpClient::Impl::on_socket(CURL*, curl_socket_t socket, int what, void* self, void*) {
  auto& impl = *static_cast<Impl*>(self);
  if (what == CURL_POLL_REMOVE) {
    impl.watches_.erase(socket);
    return 0;
  }
  auto& watch = impl.watches_[socket];
  if (!watch) watch = std::make_shared<Watch>(impl.io_, socket);
  watch->wanted = what;
  impl.arm(socket);
  return 0;
}

int HttpClient::Impl::on_timer(CURLM*, long timeout_ms, void* self) {
  auto& impl = *static_cast<Impl*>(self);
  impl.timer_.cancel();
  if (timeout_ms < 0) return 0;
  impl.timer_.expires_after(std::chrono::milliseconds(timeout_ms));
  impl.timer_.async_wait([weak = impl.weak_from_this()](const boost::system::error_code& error) {
    const auto alive = weak.lock();
    if (!error && alive) alive->act(CURL_SOCKET_TIMEOUT, 0);
  });
  return 0;
}

/// Asio must let go of a descriptor before its number can be used again.
int HttpClient::Impl::on_close(void* self, curl_socket_t socket) {
  static_cast<Impl*>(self)->watches_.erase(socket);
  return ::close(socket);
}

std::size_t HttpClient::Impl::on_header(char* bytes, std::size_t size, std::size_t count,
                                        void* self) {
  auto& exchange = *static_cast<Impl*>(self)->exchange_;
  const std::string_view line(bytes, size * count);
  exchange.last_byte = std::chrono::steady_clock::now();
  exchange.header_bytes += line.size();
  if (exchange.header_bytes > kMaxHeaderBytes) return 0;
  if (line.starts_with("HTTP/")) exchange.headers.clear();  // an interim answer came before
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || exchange.told_headers) return line.size();
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string_view value = line.substr(colon + 1);
  const std::size_t first = value.find_first_not_of(" \t\r\n");
  const std::size_t last = value.find_last_not_of(" \t\r\n");
  value = first == std::string_view::npos ? "" : value.substr(first, last - first + 1);
  exchange.headers.emplace_back(std::move(name), value);
  return line.size();
}

std::size_t HttpClient::Impl::on_body(char* bytes, std::size_t size, std::size_t count,
                                      void* self) {
  auto& impl = *static_cast<Impl*>(self);
  Exchange& exchange = *impl.exchange_;
  if (exchange.cancelled) return 0;
  exchange.last_byte = std::chrono::steady_clock::now();
  impl.tell_headers();
  const bool more = exchange.handlers.on_body({bytes, size * count});
  if (!more) exchange.stopped = true;
  return more && !exchange.cancelled ? size * count : 0;
}

int HttpClient::Impl::on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t sent) {
  auto& exchange = *static_cast<Impl*>(self)->exchange_;
  if (sent != exchange.sent) exchange.last_byte = std::chrono::steady_clock::now();
  exchange.sent = sent;
  return 0;
}

// ------------------------------------------------------------------------ an exchange

std::optional<std::string> HttpClient::Impl::prepare(Exchange& exchange) {
  const std::string where = host_and_port(exchange.request.url);
  if (where.empty()) return "the model's base URL is not a URL; write it as https://host/path";
  for (const std::string& header : exchange.request.headers) {
    if (has_control_character(header)) {
      return fmt::format("a header for {} holds a line break or control character; check the key",
                         where);
    }
    curl_slist* list = curl().slist_append(exchange.header_list.get(), header.c_str());
    DAYBOOK_CHECK(list != nullptr);
    static_cast<void>(exchange.header_list.release());
    exchange.header_list.reset(list);
  }
  exchange.easy.reset(curl().easy_init());
  DAYBOOK_CHECK(exchange.easy != nullptr);
  set_options(exchange);
  return std::nullopt;
}

void HttpClient::Impl::set_options(Exchange& exchange) {
  CURL* easy = exchange.easy.get();
  const HttpRequest& request = exchange.request;
  curl().easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl().easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl().easy_setopt(easy, CURLOPT_HTTPHEADER, exchange.header_list.get());
  curl().easy_setopt(easy, CURLOPT_POST, 1L);
  curl().easy_setopt(easy, CURLOPT_POSTFIELDS, request.body->data());
  curl().easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body->size()));
  curl().easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl().easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl().easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  curl().easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  curl().easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
  curl().easy_setopt(easy, CURLOPT_USERAGENT, "daybook");
  curl().easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl().easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl().easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl().easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                     static_cast<long>(request.connect_timeout_ms));
  curl().easy_setopt(easy, CURLOPT_ERRORBUFFER, exchange.detail.data());
  curl().easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, &Impl::on_close);
  curl().easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, this);
  curl().easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Impl::on_header);
  curl().easy_setopt(easy, CURLOPT_HEADERDATA, this);
  curl().easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Impl::on_body);
  curl().easy_setopt(easy, CURLOPT_WRITEDATA, this);
  curl().easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl().easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, &Impl::on_progress);
  curl().easy_setopt(easy, CURLOPT_XFERINFODATA, this);
}

void HttpClient::Impl::start(HttpRequest request, HttpHandlers handlers) {
  DAYBOOK_CHECK(!exchange_);
  exchange_ = std::make_unique<Exchange>();
  exchange_->request = std::move(request);
  exchange_->handlers = std::move(handlers);
  exchange_->last_byte = std::chrono::steady_clock::now();
  if (auto problem = prepare(*exchange_)) {
    abort(HttpEnd::Kind::bad_request, std::move(*problem));
    return;
  }
  watch_idle();
  // Sets a timer of 0 ms: the first action happens from the io_context.
  const CURLMcode code = curl().multi_add_handle(multi_.get(), exchange_->easy.get());
  DAYBOOK_CHECK(code == CURLM_OK);
}

void HttpClient::Impl::cancel() {
  if (!exchange_ || exchange_->cancelled) return;
  exchange_->cancelled = true;
  if (!in_curl_) abort(HttpEnd::Kind::cancelled, "");
}

/// Ends an exchange that libcurl has not ended.
void HttpClient::Impl::abort(HttpEnd::Kind kind, std::string message) {
  if (std::exchange(exchange_->aborted, true)) return;
  if (exchange_->easy) curl().multi_remove_handle(multi_.get(), exchange_->easy.get());
  idle_timer_.cancel();
  asio::post(io_, [weak = weak_from_this(), kind, message = std::move(message)]() mutable {
    if (const auto alive = weak.lock(); alive && alive->exchange_) {
      alive->finish({kind, std::move(message)});
    }
  });
}

void HttpClient::Impl::finish(HttpEnd end) {
  idle_timer_.cancel();
  const auto handlers = std::move(exchange_->handlers);
  exchange_.reset();
  handlers.on_end(std::move(end));  // may start the next exchange or drop the client
}

void HttpClient::Impl::tell_headers() {
  if (exchange_->told_headers) return;
  exchange_->told_headers = true;
  long status = 0;
  curl().easy_getinfo(exchange_->easy.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status != 0) exchange_->handlers.on_headers(static_cast<int>(status), exchange_->headers);
}

void HttpClient::Impl::watch_idle() {
  if (exchange_->request.idle_timeout_ms == 0) return;
  const auto deadline =
      exchange_->last_byte + std::chrono::milliseconds(exchange_->request.idle_timeout_ms);
  if (std::chrono::steady_clock::now() >= deadline) {
    tell_headers();
    abort(HttpEnd::Kind::failed,
          fmt::format("{} sent nothing for {} ms", host_and_port(exchange_->request.url),
                      exchange_->request.idle_timeout_ms));
    return;
  }
  idle_timer_.expires_at(deadline);
  idle_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto alive = weak.lock();
    if (!error && alive && alive->exchange_ && !alive->exchange_->aborted) alive->watch_idle();
  });
}

// ------------------------------------------------------------------------ driving libcurl

void HttpClient::Impl::arm(curl_socket_t socket) {
  const auto found = watches_.find(socket);
  if (found == watches_.end()) return;
  const std::shared_ptr<Watch> watch = found->second;
  if ((watch->wanted & CURL_POLL_IN) != 0 && !watch->reading) wait(socket, watch, false);
  if ((watch->wanted & CURL_POLL_OUT) != 0 && !watch->writing) wait(socket, watch, true);
}

void HttpClient::Impl::wait(curl_socket_t socket, const std::shared_ptr<Watch>& watch,
                            bool for_write) {
  (for_write ? watch->writing : watch->reading) = true;
  watch->descriptor.async_wait(
      for_write ? Descriptor::wait_write : Descriptor::wait_read,
      [weak = weak_from_this(), weak_watch = std::weak_ptr(watch), socket,
       for_write](const boost::system::error_code& error) {
        const auto alive = weak.lock();
        const auto same = weak_watch.lock();  // the number may belong to another socket by now
        if (!alive || !same || error == asio::error::operation_aborted) return;
        (for_write ? same->writing : same->reading) = false;
        const int wanted = for_write ? CURL_POLL_OUT : CURL_POLL_IN;
        if ((same->wanted & wanted) == 0) return;
        const int ready = for_write ? CURL_CSELECT_OUT : CURL_CSELECT_IN;
        alive->act(socket, error ? CURL_CSELECT_ERR : ready);
        alive->arm(socket);
      });
}

void HttpClient::Impl::act(curl_socket_t socket, int events) {
  if (!multi_) return;
  int running = 0;
  in_curl_ = true;
  curl().multi_socket_action(multi_.get(), socket, events, &running);
  in_curl_ = false;
  collect();
}

void HttpClient::Impl::collect() {
  int left = 0;
  while (const CURLMsg* message = curl().multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE || !exchange_) continue;
    const CURLcode code = message->data.result;
    tell_headers();
    HttpEnd end;
    if (exchange_->cancelled) {
      end.kind = HttpEnd::Kind::cancelled;
    } else if (exchange_->stopped) {
      end.kind = HttpEnd::Kind::stopped;
    } else if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) {
      end.kind = HttpEnd::Kind::bad_request;
      end.message = "the model's base URL is not an http or https URL";
    } else if (code != CURLE_OK) {
      end.kind = HttpEnd::Kind::failed;
      end.message = describe(code, exchange_->detail.data(), host_and_port(exchange_->request.url));
    }
    curl().multi_remove_handle(multi_.get(), exchange_->easy.get());
    finish(std::move(end));
    return;  // the client may be gone, and there is no second exchange
  }
  if (exchange_ && exchange_->cancelled) abort(HttpEnd::Kind::cancelled, "");
}

// ------------------------------------------------------------------------ the interface

HttpClient::HttpClient(boost::asio::io_context& io) : impl_(std::make_shared<Impl>(io)) {}
HttpClient::~HttpClient() {
  impl_->shut_down();
}
void HttpClient::start(HttpRequest request, HttpHandlers handlers) {
  impl_->start(std::move(request), std::move(handlers));
}
void HttpClient::cancel() {
  impl_->cancel();
}

}  // namespace daybook::engine
