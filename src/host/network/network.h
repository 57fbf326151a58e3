// What a shard has of the machine's network: its share of the UDP port, the multicast groups that
// its socket is in, and the table of rdma_cm's ports.
//
// Guarded by the shard's lock. What makes sockets is called without it, for it may wait for another
// process.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host/devices/interfaces.h"
#include "host/network/udp_port.h"
#include "host/peers/port_space.h"

namespace nerve::host {

class Shard;

class Network {
 public:
  explicit Network(Shard& shard) : shard_{shard} {}

  // Without the lock: opens the port, unless it is open or there can be none.
  void open();
  [[nodiscard]] UdpPort* udp() const { return udp_.get(); }
  [[nodiscard]] const char* why_no_udp() const;  // when there is none
  // UDP hears which interfaces there are, if there is any.
  void tell_interfaces(const std::vector<Interface>& interfaces);

  // Joins and leaves multicast groups as the adapters' QPs do. Zero, or the errno of one that could
  // not be joined.
  int follow_groups();

  // Without the lock: from now on this process takes part in the CM. Null, and errno, when the
  // table of ports cannot be had.
  [[nodiscard]] PortSpace* use_cm();
  [[nodiscard]] PortSpace* ports() const { return ports_.get(); }  // null: it does not

  // This is the child of a fork.
  void leave();

 private:
  struct JoinedGroup {
    wire::Gid group{};
    std::uint32_t interface {};
    friend bool operator==(const JoinedGroup&, const JoinedGroup&) = default;
  };

  [[nodiscard]] std::vector<JoinedGroup> wanted_groups() const;

  Shard& shard_;
  std::mutex opening_;  // taken before the lock
  std::unique_ptr<UdpPort> udp_;
  std::string refused_;  // why there is no UDP, when there is none
  std::vector<JoinedGroup> groups_;
  std::unique_ptr<PortSpace> ports_;
};

}  // namespace nerve::host
