// Finds the processes that use a UDP port of this machine, as far as the kernel lets us see.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace nerve::host {

struct PortUser {
  uid_t uid{};
  pid_t pid{};          // zero if unknown: another user's process
  std::string program;  // printable; empty if unknown
  bool ours{};          // a Nerve process of this user, which shares the port
};

struct PortCheck {
  bool free{};
  std::string reason;           // the bind error, if it is not free
  std::vector<PortUser> users;  // one entry per process

  // True if a program of this user can use it: the port is free, or its user shares it.
  [[nodiscard]] bool usable() const;
};

// One entry per process, without `ours`. Empty if the kernel shows none.
[[nodiscard]] std::vector<PortUser> users_of(std::uint16_t port);
// The same as a phrase: "nc (pid 812) of uid 1000". Empty if there is none.
[[nodiscard]] std::string who_has(std::uint16_t port);

// Binds the port for a moment, if it is free.
[[nodiscard]] PortCheck check_port(std::uint16_t port);

// Returns the sockets in /proc/net/udp or udp6 that are bound to the port.
struct BoundSocket {
  uid_t uid{};
  std::uint64_t inode{};
  friend bool operator==(const BoundSocket&, const BoundSocket&) = default;
};
[[nodiscard]] std::vector<BoundSocket> sockets_at(std::istream& table, std::uint16_t port);

}  // namespace nerve::host
