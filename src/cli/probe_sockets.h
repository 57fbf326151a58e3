// The sockets of the prober (path_prober.h): each sends from one UDP source port. No privilege is
// needed: the kernel passes ICMP messages to the socket whose packet caused them (IP_RECVERR).
//
// They are bound and not connected, as those that data leaves by: Linux gives connected sockets a
// hash of their own, which a router on the same machine would use. A probe's payload is too short
// for a RoCE packet; the kernel of the destination drops it (link/udp/receive_filter.h).
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "cli/path_prober.h"
#include "host/peers/mapping.h"

namespace nerve::cli {

class ProbeSockets final : public ProbeSender {
 public:
  explicit ProbeSockets(std::uint16_t destination_port) : destination_port_{destination_port} {}

  [[nodiscard]] std::optional<int> open(const wire::Gid& source, std::uint16_t port,
                                        std::uint8_t traffic_class) override;
  void close(int socket) override;
  void send(int socket, const wire::Gid& destination, std::uint8_t hop_limit) override;

  // For poll(): POLLERR says that answers have come.
  void add_to(std::vector<pollfd>& waiting) const;
  // The next answer to a probe of this socket.
  [[nodiscard]] static std::optional<ProbeAnswer> receive(int socket);
  [[nodiscard]] std::vector<int> sockets() const;

 private:
  struct Open {
    host::Descriptor socket;
    bool ipv4{};
  };
  std::uint16_t destination_port_;
  std::vector<Open> open_;
};

}  // namespace nerve::cli
