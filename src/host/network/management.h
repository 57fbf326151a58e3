// Whose a management datagram is. All processes of a host share QP1, so its number does not tell;
// what the datagram is about does (docs/host.md):
//
//   REQ, SIDR_REQ                   the process that has the port in the service id
//   REP, RTU, REJ, MRA, DREQ, DREP  the process in the upper bits of the receiver's id
//   SIDR_REP                        ... of the request id
//
// A peek, not a reading: the datagram may be anything, and its receiver judges it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "host/peers/port_space.h"
#include "link/link.h"
#include "wire/frame.h"

namespace nerve::host {

inline constexpr Qpn kManagementQpn{1};

// The slot of the process that a datagram is for: nothing when it does not say, or nobody has the
// port. Whether there is such a process is another question. Without a table no port is anybody's.
[[nodiscard]] std::optional<std::uint32_t> slot_for_mad(const wire::Frame& frame,
                                                        const PortSpace* ports);
[[nodiscard]] std::optional<std::uint32_t> slot_for_mad(Bytes udp_payload, const PortSpace* ports);

// Datagrams for processes to which there is no ring yet, while one is being agreed on. They are few
// and small, and whoever waits for one waits for a long time if it is lost.
class WaitingMads {
 public:
  // The oldest goes when there are too many.
  void add(std::uint32_t slot, const wire::Frame& frame);
  // Those for a process go there, and are not kept any longer.
  std::size_t send(std::uint32_t slot, link::Egress& to, Time now);
  std::size_t deliver(std::uint32_t slot, link::FrameSink& to, Time now);
  void forget(std::uint32_t slot);
  [[nodiscard]] bool empty() const { return mads_.empty(); }

 private:
  static constexpr std::size_t kSize = 256;
  static constexpr std::size_t kMost = 64;

  struct Waiting {
    std::uint32_t slot{};
    wire::Flow flow{};
    wire::Headers headers{};
    std::array<std::byte, kSize> bytes{};
  };
  template <class Take>
  std::size_t take(std::uint32_t slot, Take take);

  std::vector<Waiting> mads_;
};

}  // namespace nerve::host
