// Secrets in environments: which variables look secret, and masking their values in bytes that
// come back from commands and endpoints.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace daybook::executor {

/// Whether a part of the name (between underscores) is, or ends with, KEY, TOKEN, SECRET,
/// PASSWORD, PASSWD, PASSPHRASE, CREDENTIAL, AUTH, COOKIE or SESSION, or the plural. Case does not
/// matter.
bool is_secret_name(std::string_view name);

/// The NAME=value strings of this process's environment.
std::vector<std::string> process_environment();

/// What to replace in byte streams. Immutable after set-up; any number of threads may read it.
class SecretMask {
 public:
  /// Masks nothing.
  SecretMask() = default;
  /// Masks as *** the values, of 8 bytes or more, of the variables that look secret.
  explicit SecretMask(std::span<const std::string> environment);

  /// Also replaces `text` by `replacement`.
  void add(std::string text, std::string replacement);

  bool empty() const { return needles_.empty(); }
  std::string masked(std::string_view text) const;

 private:
  friend class SecretStream;
  struct Needle {
    std::string text;
    std::string replacement;
  };
  std::vector<Needle> needles_;        // longest first
  std::array<bool, 256> starts_ = {};  // bytes that some needle starts with
};

/// Masks a stream that arrives in pieces: a secret across a border is found as well.
class SecretStream {
 public:
  /// `mask` must outlive it.
  explicit SecretStream(const SecretMask& mask) : mask_(mask) {}
  /// Appends to `out` what is certain by now.
  void feed(std::string_view bytes, std::string& out);
  /// Appends the rest: the stream has ended.
  void finish(std::string& out);

 private:
  void scan(std::string& out, bool ended);

  const SecretMask& mask_;
  std::string pending_;
};

}  // namespace daybook::executor
