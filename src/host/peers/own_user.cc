#include "host/peers/own_user.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "host/diagnostics/log.h"

namespace nerve::host {
namespace {

uid_t overflow_uid() {
  uid_t uid = 65534;  // unless the machine's administrator has chosen another
  std::ifstream{"/proc/sys/kernel/overflowuid"} >> uid;
  return uid;
}

// The map does not exist in a kernel without user namespaces.
bool every_user_is_mapped() {
  std::ifstream file{"/proc/self/uid_map"};
  if (!file) return true;
  const std::string map{std::istreambuf_iterator<char>{file}, {}};
  return maps_every_user(map);
}

}  // namespace

bool maps_every_user(std::string_view uid_map) {
  constexpr std::uint64_t kAll = 0xffff'ffff;  // the last number is no uid
  std::istringstream lines{std::string{uid_map}};
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
  return lines >> inside >> outside >> count && inside == 0 && outside == 0 && count >= kAll;
}

bool is_own_user(uid_t uid) {
  if (uid != ::geteuid()) return false;
  static const uid_t overflow = overflow_uid();
  if (uid != overflow || every_user_is_mapped()) return true;
  static std::atomic<bool> logged;
  if (!logged.exchange(true)) {
    log(LogLevel::kWarn,
        "uid %u stands for several users in this user namespace: no process is taken for one of "
        "ours, and none shares memory or the udp port with this one; map the user (uid_map)",
        uid);
  }
  return false;
}

}  // namespace nerve::host
