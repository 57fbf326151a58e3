// Who has a UDP port of this machine, as far as the kernel lets us see.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace nerve::host {

struct PortUser {
  uid_t uid{};
  pid_t pid{};          // zero when we may not know: another user's
  std::string program;  // printable; empty likewise
  bool ours{};          // a Nerve process of this user, which shares the port
};

struct PortCheck {
  bool free{};
  std::string reason;           // why it cannot be had, when it is not free
  std::vector<PortUser> users;  // each process once

  // Whether a program of this user gets it: nobody has it, or one that shares it.
  [[nodiscard]] bool usable() const;
};

// Takes the port for a moment, if it is free.
[[nodiscard]] PortCheck check_port(std::uint16_t port);

// The sockets of /proc/net/udp and udp6 that are bound to the port.
struct BoundSocket {
  uid_t uid{};
  std::uint64_t inode{};
  friend bool operator==(const BoundSocket&, const BoundSocket&) = default;
};
[[nodiscard]] std::vector<BoundSocket> sockets_at(std::istream& table, std::uint16_t port);

}  // namespace nerve::host
