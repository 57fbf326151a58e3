// Finds the process that a management datagram is for. All processes of a host share QP1, so the
// QPN does not tell; the content does (docs/host.md):
//
//   REQ, SIDR_REQ                   the process that owns the port in the service id
//   REP, RTU, REJ, MRA, DREQ, DREP  the slot in the upper bits of the receiver's communication id
//   SIDR_REP                        the slot in the upper bits of the request id
//
// This only peeks at a few fields; the receiving process validates the datagram.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "host/peers/port_space.h"
#include "link/link.h"
#include "seal/signed_mad.h"
#include "wire/frame.h"

namespace nerve::host {

inline constexpr Qpn kManagementQpn{1};

// Copies the first bytes of the payload. False if it is shorter, or not in this process's memory.
[[nodiscard]] bool copy_payload(const wire::Frame& frame, MutableBytes into);

// The slot of the process that a datagram is for; nothing if the datagram does not identify one, or
// no process owns the port. The slot may be empty. Without a port table no port has an owner.
[[nodiscard]] std::optional<std::uint32_t> slot_for_mad(const wire::Frame& frame,
                                                        const PortSpace* ports);
[[nodiscard]] std::optional<std::uint32_t> slot_for_mad(Bytes udp_payload, const PortSpace* ports);

// Management datagrams for processes to which a ring is being created. They are few and small, and
// a lost one costs its sender a long timeout.
class WaitingMads {
 public:
  // Drops the oldest datagram if there are too many.
  void add(std::uint32_t slot, const wire::Frame& frame);
  // Send or deliver the datagrams for a slot, and remove them.
  std::size_t send(std::uint32_t slot, link::Egress& to, Time now);
  std::size_t deliver(std::uint32_t slot, link::FrameSink& to, Time now);
  void forget(std::uint32_t slot);
  [[nodiscard]] bool empty() const { return mads_.empty(); }

 private:
  static constexpr std::size_t kMaxSize = seal::kSignedMadSize;
  static constexpr std::size_t kMaxWaiting = 64;

  struct Waiting {
    std::uint32_t slot{};
    wire::Flow flow{};
    wire::Headers headers{};
    std::array<std::byte, kMaxSize> bytes{};
    std::uint32_t size{};
  };
  template <class Take>
  std::size_t take(std::uint32_t slot, Take take);

  std::vector<Waiting> mads_;
};

}  // namespace nerve::host
