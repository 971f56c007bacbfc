// The model behind an HTTP endpoint: transport, stream decoding and the meaning of failures.
#pragma once

#include <memory>

#include "engine/clock.h"
#include "engine/model.h"

namespace boost::asio {
class io_context;
}

namespace daybook::engine {

/// Runs on the io_context's single thread and never blocks. `done` is called from the io_context,
/// never from within call or cancel, and may start the next call or destroy the model. Destroying
/// the model drops a call under way without `done`; a sink must not do it.
class HttpModel final : public Model {
 public:
  /// Both must outlive the model.
  HttpModel(boost::asio::io_context& io, Clock& clock);
  ~HttpModel() override;
  void call(ModelCall call, DeltaSink sink, std::function<void(ModelOutcome)> done) override;
  void cancel() override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace daybook::engine
