// Where the journal's layers below the API report: the spdlog logger "rocksdb", when the program
// has registered one, and the standard error otherwise.
#pragma once

#include <memory>

namespace rocksdb {
class Logger;
}

namespace spdlog {
class logger;
}

namespace daybook::journal {

std::shared_ptr<spdlog::logger> journal_log();

/// RocksDB's own log: warnings and worse.
std::shared_ptr<rocksdb::Logger> make_rocks_log();

}  // namespace daybook::journal
