#include "tools/owner_probe.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string_view>

namespace daybook::tools {
namespace {

/// Field 22 of /proc/PID/stat, counted after the command name, which may hold anything; "" when
/// there is no such process. With the pid it names one process for ever.
std::string process_start(std::string_view pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  const std::string stat((std::istreambuf_iterator<char>(in)), {});
  const std::size_t end = stat.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream fields(stat.substr(end + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  return field;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

std::string live_owner(const std::string& folder) {
  // Lines as the journal's writer leaves them: its description, "pid N", "start T", "host H".
  std::ifstream in(folder + "/lock");
  std::string owner;
  std::getline(in, owner);
  std::string word, pid, start, host;
  in >> word >> pid >> word >> start >> word >> host;
  if (!in || pid.find_first_not_of("0123456789") != std::string::npos) return {};
  const bool alive = host == host_name() && !start.empty() && process_start(pid) == start;
  return alive ? owner : std::string();
}

}  // namespace daybook::tools
