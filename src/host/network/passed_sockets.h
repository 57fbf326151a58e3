// Sockets of the UDP port that the service manager opened for this process (systemd's socket
// activation). A stranger who binds the port first keeps it from the user; the manager binds it
// when the machine starts.
#pragma once

#include <cstdint>
#include <vector>

namespace nerve::host {

// The UDP sockets at this port among the descriptors that were passed to this process (LISTEN_PID,
// LISTEN_FDS), in their order. Duplicates, which the caller owns: the program may use the
// originals.
[[nodiscard]] std::vector<int> passed_sockets(std::uint16_t port);

}  // namespace nerve::host
