// Turns a callback into something a coroutine can wait for. Only for .cc files: heavy.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace daybook::engine {

/// co_await await_callback<T>(io, [&](std::function<void(T)> done) { ... }); the callback may come
/// from any thread, at once or later, exactly once. The coroutine goes on in the io_context.
///
/// `start` runs while the waiting coroutine's locals live, so it captures them by reference. It
/// must not own anything: g++ 12 destroys such a temporary of a co_await expression twice.
template <class T, class Context, class Start>
boost::asio::awaitable<T> await_callback(Context& io, Start start) {
  static_assert(std::is_trivially_destructible_v<Start>, "capture by reference");
  const auto initiate = [&io, start](auto handler) mutable {
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));
    start(std::function<void(T)>([&io, shared](T value) {
      boost::asio::post(io, [shared, value = std::move(value)]() mutable {
        std::move (*shared)(std::move(value));
      });
    }));
  };
  return boost::asio::async_initiate<const boost::asio::use_awaitable_t<>, void(T)>(
      initiate, boost::asio::use_awaitable);
}

}  // namespace daybook::engine
