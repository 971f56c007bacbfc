// Turns a callback into something a coroutine can wait for. Only for .cc files: heavy.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <memory>
#include <utility>

namespace daybook::engine {

/// co_await await_callback<T>(io, [](std::function<void(T)> done) { ... }); the callback may come
/// from any thread, at once or later, exactly once. The coroutine goes on in the io_context.
template <class T, class Context, class Start>
boost::asio::awaitable<T> await_callback(Context& io, Start start) {
  const auto initiate = [&io, start = std::move(start)](auto handler) mutable {
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));
    start([&io, shared](T value) {
      boost::asio::post(io, [shared, value = std::move(value)]() mutable {
        std::move (*shared)(std::move(value));
      });
    });
  };
  co_return co_await boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(T)>(
      initiate, boost::asio::use_awaitable);
}

}  // namespace daybook::engine
