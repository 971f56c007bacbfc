#include "engine/http_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/http_client.h"
#include "engine/http_headers.h"
#include "engine/mask.h"
#include "engine/provider_error.h"
#include "engine/sse.h"

namespace daybook::engine {
namespace {

using schema::FailureKind;

constexpr std::size_t kMaxErrorBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxResponseBytes = std::size_t{256} << 20;

Failure failure_of(FailureKind kind, std::string message) {
  Failure failure;
  failure.kind = kind;
  failure.message = std::move(message);
  return failure;
}

/// One response: from its headers to a reply or a failure.
class Response {
 public:
  Response(const ModelCall& call, Mask mask, DeltaSink sink);

  void on_headers(int status, const HttpHeaders& headers);
  bool on_body(std::string_view bytes);
  tl::expected<Reply, Failure> end(const HttpEnd& end, std::int64_t now_ns);
  HttpHeaders notable() const { return notable_headers(headers_); }

 private:
  bool is_ok() const { return status_ >= 200 && status_ < 300; }
  bool take_event(std::string_view name, std::string_view data);
  tl::expected<Reply, Failure> judge(const HttpEnd& end, std::int64_t now_ns);
  tl::expected<Reply, Failure> judge_document();
  Failure judge_status(std::int64_t now_ns) const;
  Failure redirect() const;

  const Codec& codec_;
  std::string where_;
  DeltaSink sink_;
  std::unique_ptr<StreamDecoder> decoder_;
  SseDecoder sse_;
  std::optional<Failure> failure_;
  HttpHeaders headers_;
  std::string body_;  // when it is not an event stream
  std::size_t received_ = 0;
  int status_ = 0;
  bool streams_ = false;
};

Response::Response(const ModelCall& call, Mask mask, DeltaSink sink)
    : codec_(*call.codec), where_(host_and_port(call.url)), decoder_(call.codec->decoder()) {
  if (!sink) return;
  sink_ = [mask = std::move(mask), sink = std::move(sink)](const Delta& delta) {
    const std::string text = mask(delta.text);
    sink({delta.kind, text});
  };
}

void Response::on_headers(int status, const HttpHeaders& headers) {
  status_ = status;
  headers_ = headers;
  const std::string type = media_type(headers);
  streams_ = is_ok() && (type == "text/event-stream" || type.empty());
}

bool Response::take_event(std::string_view name, std::string_view data) {
  failure_ = decoder_->on_event(name, data, sink_);
  return !failure_;
}

bool Response::on_body(std::string_view bytes) {
  received_ += bytes.size();
  if (received_ > kMaxResponseBytes) {
    failure_ = failure_of(FailureKind::bad_response,
                          fmt::format("{} sent more than {} bytes", where_, kMaxResponseBytes));
    return false;
  }
  if (!streams_) {
    const std::size_t limit = is_ok() ? SseDecoder::kMaxEventBytes : kMaxErrorBytes;
    body_.append(bytes.substr(0, limit - std::min(limit, body_.size())));
    return true;
  }
  auto fed = sse_.feed(bytes, [this](auto name, auto data) { return take_event(name, data); });
  if (!fed) failure_ = failure_of(FailureKind::bad_response, fed.error().message);
  return !failure_;
}

tl::expected<Reply, Failure> Response::end(const HttpEnd& end, std::int64_t now_ns) {
  auto result = judge(end, now_ns);
  if (result) return result;
  Failure& failure = result.error();
  if (failure.http_status == 0) failure.http_status = status_;
  if (failure.usage.raw.empty()) failure.usage = decoder_->usage();
  return result;
}

tl::expected<Reply, Failure> Response::judge(const HttpEnd& end, std::int64_t now_ns) {
  if (end.kind == HttpEnd::Kind::cancelled) {
    return tl::unexpected(failure_of(FailureKind::cancelled, "the call was cancelled"));
  }
  if (end.kind == HttpEnd::Kind::bad_request) {
    return tl::unexpected(failure_of(FailureKind::local, end.message));
  }
  if (failure_) return tl::unexpected(*failure_);
  if (status_ == 0) return tl::unexpected(failure_of(FailureKind::connection, end.message));
  if (!is_ok()) return tl::unexpected(judge_status(now_ns));
  const bool cut = end.kind == HttpEnd::Kind::failed;
  auto reply = streams_ || cut ? decoder_->finish() : judge_document();
  // A connection lost after the protocol's end marker has lost nothing.
  if (!reply && cut) {
    reply.error().kind = FailureKind::stream_cut;
    reply.error().message += "; " + end.message;
  }
  return reply;
}

tl::expected<Reply, Failure> Response::judge_document() {
  auto broken = decoder_->on_event("", body_, sink_);
  if (broken && broken->kind != FailureKind::bad_response) {
    if (broken->message.starts_with(kErrorInStream)) {
      broken->message.replace(0, kErrorInStream.size(), "an error in its answer");
    }
    return tl::unexpected(*broken);
  }
  if (!broken) {
    if (auto reply = decoder_->finish()) return reply;
  }
  Failure failure = codec_.classify(status_, body_);
  failure.kind = FailureKind::bad_response;
  failure.message = fmt::format("{} answered with content type '{}' instead of an event stream: {}",
                                where_, media_type(headers_), failure.message.substr(0, 300));
  return tl::unexpected(std::move(failure));
}

Failure Response::redirect() const {
  const std::string target = host_and_port(std::string(header_value(headers_, "location")));
  return failure_of(
      FailureKind::permanent,
      fmt::format("a redirect to {}, which is not followed; set the base URL to the final address",
                  target.empty() ? "another address" : target));
}

Failure Response::judge_status(std::int64_t now_ns) const {
  if (status_ >= 300 && status_ < 400) return redirect();
  Failure failure = codec_.classify(status_, body_);
  if (const auto wait_ms = retry_after_ms(headers_, now_ns)) failure.retry_after_ms = wait_ms;
  // Both vendors' way to overrule the status.
  const std::string_view advice = header_value(headers_, "x-should-retry");
  if (advice == "false" && failure.kind == FailureKind::retryable_status) {
    failure.kind = FailureKind::permanent;
  } else if (advice == "true" && failure.kind == FailureKind::permanent) {
    failure.kind = FailureKind::retryable_status;
  }
  return failure;
}

}  // namespace

class HttpModel::Impl {
 public:
  Impl(boost::asio::io_context& io, Clock& clock) : clock_(clock), client_(io) {}
  void call(ModelCall call, DeltaSink sink, std::function<void(ModelOutcome)> done);
  void cancel() { client_.cancel(); }

 private:
  void end(const HttpEnd& end);

  Clock& clock_;
  std::unique_ptr<Response> response_;
  std::function<void(ModelOutcome)> done_;
  std::string key_;
  std::int64_t started_at_ns_ = 0;
  std::int64_t first_byte_at_ns_ = 0;
  HttpClient client_;
};

void HttpModel::Impl::call(ModelCall call, DeltaSink sink, std::function<void(ModelOutcome)> done) {
  DAYBOOK_CHECK(!response_);
  DAYBOOK_CHECK(call.codec != nullptr);
  response_ = std::make_unique<Response>(call, Mask(call.key), std::move(sink));
  done_ = std::move(done);
  key_ = call.key;
  started_at_ns_ = clock_.utc_ns();
  first_byte_at_ns_ = 0;

  HttpRequest request;
  request.url = std::move(call.url);
  request.headers = std::move(call.headers);
  request.headers.push_back("Content-Type: application/json");
  request.headers.push_back("Accept: text/event-stream, application/json");
  request.headers.push_back("Expect:");  // waiting for "100 Continue" only costs time
  request.body = std::move(call.body);
  request.connect_timeout_ms = call.connect_timeout_ms;
  request.idle_timeout_ms = call.idle_timeout_ms;

  HttpHandlers handlers;
  handlers.on_headers = [this](int status, const HttpHeaders& headers) {
    response_->on_headers(status, headers);
  };
  handlers.on_body = [this](std::string_view bytes) {
    if (first_byte_at_ns_ == 0) first_byte_at_ns_ = clock_.utc_ns();
    return response_->on_body(bytes);
  };
  handlers.on_end = [this](const HttpEnd& how) { end(how); };
  client_.start(std::move(request), std::move(handlers));
}

void HttpModel::Impl::end(const HttpEnd& end) {
  const Mask mask(key_);
  ModelOutcome outcome;
  outcome.started_at_ns = started_at_ns_;
  outcome.first_byte_at_ns = first_byte_at_ns_;
  outcome.ended_at_ns = clock_.utc_ns();
  outcome.reply = response_->end(end, outcome.ended_at_ns);
  if (outcome.reply) {
    mask.apply(*outcome.reply);
  } else {
    mask.apply(outcome.reply.error());
  }
  outcome.rate_limit_headers = response_->notable();
  for (auto& [name, value] : outcome.rate_limit_headers) mask.apply(value);
  response_.reset();
  key_.clear();
  const auto done = std::exchange(done_, nullptr);
  done(std::move(outcome));  // may start the next call or destroy the model
}

HttpModel::HttpModel(boost::asio::io_context& io, Clock& clock)
    : impl_(std::make_unique<Impl>(io, clock)) {}
HttpModel::~HttpModel() = default;
void HttpModel::call(ModelCall call, DeltaSink sink, std::function<void(ModelOutcome)> done) {
  impl_->call(std::move(call), std::move(sink), std::move(done));
}
void HttpModel::cancel() {
  impl_->cancel();
}

}  // namespace daybook::engine
