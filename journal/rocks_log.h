// RocksDB's own log, sent to the spdlog logger "rocksdb" when the program has registered one.
#pragma once

#include <memory>

namespace rocksdb {
class Logger;
}

namespace daybook::journal {

/// Warnings and worse. Without a logger of that name they go to spdlog's default logger.
std::shared_ptr<rocksdb::Logger> make_rocks_log();

}  // namespace daybook::journal
