// Keeps a key out of whatever an endpoint sends back.
#pragma once

#include <string>
#include <string_view>

#include "engine/model.h"
#include "executor/secrets.h"

namespace daybook::engine {

class Mask {
 public:
  /// Shorter keys are placeholders for local servers ("none", "ollama"): no secrets, and words
  /// that a reply may well hold.
  static constexpr std::size_t kMinKeyBytes = 8;

  explicit Mask(std::string_view key);
  /// Every occurrence, plain or as written inside JSON, becomes ***.
  std::string operator()(std::string_view text) const;
  void apply(std::string& text) const;
  /// A tool call that held the key is not valid any more: it would run as it never was sent.
  void apply(Reply& reply) const;
  void apply(Failure& failure) const;
  void apply(Usage& usage) const;

 private:
  executor::SecretMask mask_;
};

}  // namespace daybook::engine
