// Asks a person on the terminal.
#pragma once

#include <memory>
#include <string>

#include "engine/driver.h"

namespace boost::asio {
class io_context;
}

namespace daybook::tools {

/// Asks on /dev/tty, so that redirected input and output stay free. Without a terminal every
/// question is `unavailable`.
std::unique_ptr<engine::Approver> make_terminal_approver(boost::asio::io_context& io,
                                                         std::string actor);

/// What a line of input means: y, n, a, each with an optional remark behind it. Nothing when it
/// is none of these.
std::optional<engine::Answer> parse_answer(std::string_view line);

/// The same for a summary that was refused: r (try again) is allow, t (go on without) is deny.
std::optional<engine::Answer> parse_summary_answer(std::string_view line);

}  // namespace daybook::tools
