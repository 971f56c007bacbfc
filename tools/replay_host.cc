#include "tools/replay_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <ostream>

#include "engine/asio_clock.h"
#include "tools/counted.h"
#include "tools/format.h"
#include "tools/session_run.h"

namespace daybook::tools {

namespace asio = boost::asio;

struct ReplayHost::Loop {
  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> guard = asio::make_work_guard(io);
  std::unique_ptr<engine::Clock> clock = engine::make_asio_clock(io);
  asio::signal_set signals{io, SIGINT, SIGTERM};
  bool stopped = false;
};

ReplayHost::ReplayHost() : loop_(std::make_unique<Loop>()) {
  Loop& loop = *loop_;
  loop.signals.async_wait(
      [&loop](boost::system::error_code error, int) { loop.stopped = loop.stopped || !error; });
}

ReplayHost::~ReplayHost() = default;

replay::CallWorld ReplayHost::world(Context& context, journal::Journal& journal,
                                    const replay::PriceBook& prices) {
  Loop& loop = *loop_;
  return {journal,
          *loop.clock,
          prices,
          [&loop](const std::function<bool()>& ready) {
            while (!ready()) loop.io.run_one();
          },
          [&loop] {
            loop.io.poll();
            return loop.stopped;
          },
          [&context](std::string_view line) {
            // Over the progress bar, which is drawn again.
            if (context.out_is_terminal) context.err << "\r\x1b[K";
            context.err << one_line(line) << '\n' << std::flush;
          }};
}

Result<replay::ArmModel> ReplayHost::open(const engine::ResolvedModel& model) {
  replay::ArmModel made;
  made.choice = choice_of(model);
  made.window = model.settings.context_window;
  // A scenario's answers are as long as they are written.
  if (model.provider.kind != "script" && model.settings.max_output_known) {
    made.reply = model.settings.max_output_tokens;
  }
  auto opened = make_model(loop_->io, *loop_->clock, model);
  if (!opened) return fail(std::move(opened.error()));
  models_.push_back(std::move(*opened));
  made.model = models_.back().get();
  return made;
}

Result<engine::ResolvedModel> resolve_replay_model(const Context& context,
                                                   const engine::Config& config,
                                                   const std::string& name) {
  auto model = engine::resolve_model(config, name, context.environment);
  if (!model) return model;
  if (model->provider.kind == "script") {
    model->model = std::filesystem::weakly_canonical(std::filesystem::path(context.current_folder) /
                                                     model->model);
  }
  return model;
}

Result<std::optional<replay::Money>> max_cost(const Arguments& arguments) {
  const auto text = arguments.text("--max-cost");
  if (!text) return std::nullopt;
  double dollars = -1;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), dollars);
  if (error != std::errc() || end != text->data() + text->size() || !(dollars >= 0) ||
      dollars > 1e9) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("--max-cost must be an amount in dollars such as 2.50, not '{}'", *text));
  }
  constexpr replay::Rate kMicrodollar{1'000'000};
  return replay::Money::of(static_cast<std::uint64_t>(dollars * 1e6), kMicrodollar);
}

void show_progress(Context& context, std::size_t done, std::size_t all,
                   const replay::Spent& spent) {
  if (!context.out_is_terminal) return;
  const std::size_t cells = 24 * done / std::max<std::size_t>(all, 1);
  context.err << fmt::format("\r[{:<24}] {} of {}, {}\x1b[K", std::string(cells, '#'), done, all,
                             shown(spent))
              << std::flush;
}

std::string too_dear(const replay::Money& next_call, const replay::Spent& spent) {
  return fmt::format("the next call could cost {}, more than --max-cost leaves: {} is spent",
                     next_call.shown(), shown(spent));
}

void end_progress(Context& context) {
  if (context.out_is_terminal) context.err << '\n';
}

std::string shown(const replay::Spent& spent) {
  std::string text = spent.money.shown();
  if (spent.unpriced_tokens > 0) {
    text += fmt::format(" and {} unpriced tokens", spent.unpriced_tokens);
  }
  if (spent.unknown_calls > 0) {
    text += fmt::format(" and {} without figures", counted(spent.unknown_calls, "call"));
  }
  if (spent.at_most_calls > 0) {
    text += fmt::format(" at most ({} without an answer may have been billed)",
                        counted(spent.at_most_calls, "call"));
  }
  return text;
}

}  // namespace daybook::tools
