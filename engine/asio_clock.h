// The operating system's clock and randomness on an io_context.
#pragma once

#include <memory>

#include "engine/clock.h"

namespace boost::asio {
class io_context;
}

namespace daybook::engine {

/// utc_ns() and random() may be called from any thread.
std::unique_ptr<Clock> make_asio_clock(boost::asio::io_context& io);

}  // namespace daybook::engine
