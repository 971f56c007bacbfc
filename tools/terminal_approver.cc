#include "tools/terminal_approver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>

#include "schema/utf8.h"
#include "tools/format.h"

namespace daybook::tools {
namespace {

namespace asio = boost::asio;
using engine::Answer;

/// Longer arguments show both ends: nobody should approve what they were not told is there.
constexpr std::size_t kHeadShown = 12'000;
constexpr std::size_t kTailShown = 4'000;

std::string shown(const std::string& arguments) {
  if (arguments.size() <= kHeadShown + kTailShown) return printable(arguments);
  const std::size_t head = utf8_floor(arguments, kHeadShown);
  const std::size_t tail = utf8_ceil(arguments, arguments.size() - kTailShown);
  return fmt::format("{}\n  [... {} BYTES ARE NOT SHOWN HERE ...]\n  {}",
                     printable(arguments.substr(0, head)), tail - head,
                     printable(arguments.substr(tail)));
}

class TerminalApprover : public engine::Approver {
 public:
  TerminalApprover(asio::io_context& io, std::string actor)
      : terminal_(io), actor_(std::move(actor)) {
    const int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0) terminal_.assign(fd);
  }

  void ask(const engine::Question& question, std::function<void(Answer)> done) override {
    if (!terminal_.is_open()) return done({Answer::Kind::unavailable, "", ""});
    done_ = std::move(done);
    asked_ = {"allow? [y]es, [n]o, [a]lways this tool in this session (a remark may follow): ",
              parse_answer};
    say(fmt::format("\n{} wants to run {} in {}\n  {}\n", question.call_id, question.tool,
                    one_line(question.cwd), shown(question.arguments)));
    prompt();
  }

  void ask_summary(const std::string& why, std::function<void(Answer)> done) override {
    if (!terminal_.is_open()) return done({Answer::Kind::unavailable, "", ""});
    done_ = std::move(done);
    asked_ = {"[r]etry, or [t]rim: go on without a summary: ", parse_summary_answer};
    say(fmt::format("\ncompaction: {}\n", one_line(why)));
    prompt();
  }

  void cancel() override {
    if (!done_) return;
    terminal_.cancel();
  }

 private:
  void say(std::string_view text) {
    // The answer matters, not the question: a terminal that went away shows at the read.
    boost::system::error_code ignored;
    asio::write(terminal_, asio::buffer(text), ignored);
  }

  void prompt() {
    say(asked_.prompt);
    asio::async_read_until(
        terminal_, asio::dynamic_buffer(line_, 4096), '\n',
        [this](boost::system::error_code error, std::size_t size) { answered(error, size); });
  }

  void answered(boost::system::error_code error, std::size_t size) {
    if (error == asio::error::operation_aborted) {
      return finish({Answer::Kind::cancelled, actor_, ""});
    }
    if (error) {
      say("\n");  // Ctrl-D leaves the cursor behind the question
      return finish({Answer::Kind::unavailable, "", ""});
    }
    auto answer = asked_.parse(std::string_view(line_).substr(0, size));
    line_.erase(0, size);
    if (!answer) return prompt();
    answer->actor = actor_;
    finish(std::move(*answer));
  }

  void finish(Answer answer) { std::exchange(done_, nullptr)(std::move(answer)); }

  struct Asked {
    std::string_view prompt;
    std::optional<Answer> (*parse)(std::string_view line) = nullptr;
  };

  asio::posix::stream_descriptor terminal_;
  Asked asked_;
  std::string actor_;
  std::string line_;
  std::function<void(Answer)> done_;
};

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace

std::optional<engine::Answer> parse_answer(std::string_view line) {
  const std::string_view text = trim(line);
  const auto space = text.find_first_of(" \t");
  const std::string_view word = text.substr(0, space);
  Answer answer;
  if (word == "y" || word == "yes") {
    answer.kind = Answer::Kind::allow_once;
  } else if (word == "n" || word == "no") {
    answer.kind = Answer::Kind::deny;
  } else if (word == "a" || word == "always") {
    answer.kind = Answer::Kind::allow_session;
  } else {
    return std::nullopt;
  }
  if (space != std::string_view::npos) answer.note = trim(text.substr(space));
  return answer;
}

std::optional<engine::Answer> parse_summary_answer(std::string_view line) {
  const std::string_view word = trim(line);
  if (word == "r" || word == "retry") return Answer{Answer::Kind::allow_once, "", ""};
  if (word == "t" || word == "trim") return Answer{Answer::Kind::deny, "", ""};
  return std::nullopt;
}

std::unique_ptr<engine::Approver> make_terminal_approver(asio::io_context& io, std::string actor) {
  return std::make_unique<TerminalApprover>(io, std::move(actor));
}

}  // namespace daybook::tools
