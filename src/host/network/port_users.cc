#include "host/network/port_users.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include "host/peers/inquiry.h"
#include "link/udp/port_group.h"

namespace nerve::host {
namespace {

namespace fs = std::filesystem;

std::string program_of(pid_t pid) {
  std::string name;
  std::ifstream file{"/proc/" + std::to_string(pid) + "/comm"};
  std::getline(file, name);
  std::ranges::replace_if(
      name, [](char c) { return c < ' ' || c > '~'; }, '?');
  return name;
}

// True if the process has one of these sockets open; false also if we may not look.
bool has_socket(const fs::path& process, const std::set<std::string>& sockets) {
  std::error_code error;
  for (fs::directory_iterator fd{process / "fd", error}, end; !error && fd != end;
       fd.increment(error)) {
    std::error_code gone;
    if (sockets.contains(fs::read_symlink(fd->path(), gone).string())) return true;
  }
  return false;
}

std::vector<PortUser> processes_with(const std::vector<BoundSocket>& bound) {
  std::set<std::string> sockets;
  for (const BoundSocket& one : bound) {
    sockets.insert("socket:[" + std::to_string(one.inode) + "]");
  }
  std::vector<PortUser> users;
  std::error_code error;
  for (fs::directory_iterator entry{"/proc", error}, end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    pid_t pid = 0;
    const auto [stop, wrong] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (wrong != std::errc{} || *stop != '\0' || !has_socket(entry->path(), sockets)) continue;
    users.push_back({.uid = bound[0].uid, .pid = pid, .program = program_of(pid), .ours = false});
  }
  return users;
}

}  // namespace

std::vector<BoundSocket> sockets_at(std::istream& table, std::uint16_t port) {
  // sl  local_address  rem_address  st  queues  timer  retransmits  uid  timeout  inode ...
  std::vector<BoundSocket> found;
  std::string line;
  std::getline(table, line);  // the header line
  while (std::getline(table, line)) {
    std::istringstream fields{line};
    std::string skipped;
    std::string local;
    BoundSocket socket;
    fields >> skipped >> local >> skipped >> skipped >> skipped >> skipped >> skipped >>
        socket.uid >> skipped >> socket.inode;
    const std::size_t colon = local.rfind(':');
    if (!fields || colon == std::string::npos) continue;
    std::uint16_t bound = 0;
    const char* end = local.data() + local.size();
    const auto [stop, error] = std::from_chars(local.data() + colon + 1, end, bound, 16);
    if (error == std::errc{} && stop == end && bound == port) found.push_back(socket);
  }
  return found;
}

bool PortCheck::usable() const { return free || std::ranges::any_of(users, &PortUser::ours); }

std::vector<PortUser> users_of(std::uint16_t port) {
  std::vector<BoundSocket> bound;
  for (const char* file : {"/proc/net/udp", "/proc/net/udp6"}) {
    std::ifstream table{file};
    const auto some = sockets_at(table, port);
    bound.insert(bound.end(), some.begin(), some.end());
  }
  if (bound.empty()) return {};
  std::vector<PortUser> users = processes_with(bound);
  if (users.empty()) users.push_back({.uid = bound[0].uid, .pid = 0, .program = {}});
  return users;
}

std::string who_has(std::uint16_t port) {
  const std::vector<PortUser> users = users_of(port);
  if (users.empty()) return {};
  const PortUser& first = users.front();
  std::string text = first.pid != 0
                         ? first.program + " (pid " + std::to_string(first.pid) + ") of uid "
                         : "a process of uid ";
  text += std::to_string(first.uid);
  if (first.pid == 0 && first.uid == 0) text += ", or the kernel";
  if (users.size() > 1) text += ", and " + std::to_string(users.size() - 1) + " more";
  return text;
}

PortCheck check_port(std::uint16_t port) {
  PortCheck check;
  {
    const auto group = link::PortGroup::create({.port = port, .sockets = 1});
    check.free = static_cast<bool>(group);
    if (check.free) return check;
    check.reason = group.error().text;
  }
  check.users = users_of(port);
  if (check.users.empty()) return check;
  constexpr std::chrono::milliseconds kPatience{300};
  for (const ProcessReport& known : ask_processes(kPatience)) {
    for (PortUser& user : check.users) user.ours = user.ours || user.pid == known.pid;
  }
  return check;
}

}  // namespace nerve::host
