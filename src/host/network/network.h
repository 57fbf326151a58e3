// A shard's access to the network: its share of the UDP port, the multicast groups that its socket
// has joined, and the table of rdma_cm ports.
//
// Guarded by the shard's lock. Functions that create sockets are called without it, because they
// may wait for another process.
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

  // Without the lock: opens the port, unless it is open or was refused.
  void open();
  [[nodiscard]] UdpPort* udp() const { return udp_.get(); }
  [[nodiscard]] const char* why_no_udp() const;  // if udp() is null
  // Tells the UDP sender which interface each local address belongs to.
  void update_interfaces(const std::vector<Interface>& interfaces);

  // Joins and leaves multicast groups to match the adapters' QPs. Returns zero, or the errno of a
  // group that could not be joined.
  int follow_groups();

  // Without the lock: from now on this process takes part in connection management. Null, with
  // errno, if the port table cannot be opened.
  [[nodiscard]] PortSpace* use_cm();
  [[nodiscard]] PortSpace* ports() const { return ports_.get(); }  // null until use_cm()

  // Called in the child of a fork().
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
  std::string refused_;  // why UDP could not be opened
  std::vector<JoinedGroup> groups_;
  std::unique_ptr<PortSpace> ports_;
};

}  // namespace nerve::host
