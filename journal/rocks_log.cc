#include "journal/rocks_log.h"

#include <rocksdb/env.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <cstdarg>
#include <cstdio>

namespace daybook::journal {
namespace {

class RocksLog : public rocksdb::Logger {
 public:
  RocksLog() : rocksdb::Logger(rocksdb::WARN_LEVEL), log_(journal_log()) {}

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    Logv(rocksdb::WARN_LEVEL, format, arguments);
  }

  void Logv(const rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    // Headers (the whole options file) come whatever the level.
    if (level < rocksdb::WARN_LEVEL || level >= rocksdb::HEADER_LEVEL) return;
    std::array<char, 1024> line{};
    std::vsnprintf(line.data(), line.size(), format, arguments);
    const auto to = level == rocksdb::WARN_LEVEL ? spdlog::level::warn : spdlog::level::err;
    log_->log(to, "rocksdb: {}", line.data());
  }

 private:
  std::shared_ptr<spdlog::logger> log_;
};

}  // namespace

std::shared_ptr<spdlog::logger> journal_log() {
  if (auto registered = spdlog::get("rocksdb")) return registered;
  // spdlog's default logger writes to the standard output, which belongs to the program's data.
  return std::make_shared<spdlog::logger>("rocksdb",
                                          std::make_shared<spdlog::sinks::stderr_sink_mt>());
}

std::shared_ptr<rocksdb::Logger> make_rocks_log() {
  return std::make_shared<RocksLog>();
}

}  // namespace daybook::journal
