// A session told as plain messages: what OpenWorker's conversations and ATIF documents share.
#pragma once

#include <map>
#include <set>

#include "tools/log_session.h"

namespace daybook::tools {

struct LogToolCall {
  std::string id;
  std::string tool;
  std::string arguments;
};

struct LogAnswer {
  std::string stable_id;
  std::int64_t at = 0;
  std::string provider;
  std::string model;
  std::string text;
  std::string reasoning;
  std::vector<LogToolCall> calls;
  replay::CallUsage usage;
  std::string usage_raw;
};

class MessageSession {
 public:
  MessageSession(LogReading& reading, const std::string& id)
      : reading_(reading), log_(reading, id) {}

  LogSession& log() { return log_; }
  void system(std::string_view raw);
  void prompt(const std::string& text, std::string_view raw, const std::string& stable_id,
              Origin& origin);
  void answer(const LogAnswer& answer, std::string_view raw, Origin& origin);
  void result(const std::string& call_id, std::string_view text, std::string_view raw,
              Origin& origin);
  void finish();

 private:
  void add_call(const LogAnswer& answer, Origin& origin);
  void unknown_outcomes();

  LogReading& reading_;
  LogSession log_;
  std::vector<BlobRef> system_;
  std::vector<BlobRef> messages_;
  std::size_t shared_ = 0;
  std::uint64_t base_ = 0;
  std::map<std::string, Origin> open_calls_;
  std::set<std::string> answered_;
  std::string last_answer_;
  bool last_was_final_ = false;
  Origin last_origin_;
};

}  // namespace daybook::tools
