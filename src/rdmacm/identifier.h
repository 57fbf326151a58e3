// An rdma_cm_id as the kernel keeps it: its addresses, its peer, and the state of the connection.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "host/adapter.h"
#include "nic/connection/cm_types.h"
#include "rdmacm/address.h"
#include "rdmacm/agreement.h"

namespace nerve::rdmacm {

class Channel;

enum class Space : std::uint16_t { kIpoib = 0x0002, kTcp = 0x0106, kUdp = 0x0111, kIb = 0x013f };

// The numbers of the ABI, which only librdmacm's header defines.
enum class EventKind : std::uint32_t {
  kAddressResolved = 0,
  kAddressError = 1,
  kRouteResolved = 2,
  kRouteError = 3,
  kConnectRequest = 4,
  kConnectResponse = 5,
  kConnectError = 6,
  kUnreachable = 7,
  kRejected = 8,
  kEstablished = 9,
  kDisconnected = 10,
  kDeviceRemoval = 11,
  kMulticastJoin = 12,
  kMulticastError = 13,
  kAddressChange = 14,
  kTimewaitExit = 15,
  // Events that librdmacm or its program write themselves, from RDMACM_1.4 on.
  kUser = 18,
  kInternal = 19,
};

enum class IdState : std::uint8_t {
  kIdle,
  kBound,
  kAddressResolved,
  kRouteResolved,
  kAsked,      // REQ or SIDR_REQ sent
  kAnswered,   // REP received; waits for the program to move its QP to RTS
  kRequested,  // REQ or SIDR_REQ received; waits for the program to answer
  kAccepted,   // REP sent
  kConnected,
  kDisconnected,  // reported to the program
  kListening,
  kOver,  // rejected, or not answered
};

// The device port that an address belongs to.
struct LocalPort {
  std::shared_ptr<host::Adapter> adapter;
  wire::Gid gid{};
};

struct Options {
  std::uint8_t traffic_class{};
  std::optional<std::uint8_t> ack_timeout;
  bool reuse_address{};
  bool one_family{};  // an IPv6 wildcard does not include IPv4
};

struct Identifier {
  std::uint32_t number{};
  Channel* channel{};   // receives its events; null after the program has closed it
  std::uint64_t uid{};  // the program's name for it; zero until it has accepted a request
  Space space{};
  std::uint8_t qp_type{};
  IdState state{};
  bool removed{};  // its device is gone
  Options options;

  Endpoint local;
  Endpoint remote;
  bool holds_port{};     // in the port space
  bool asked_at_port{};  // its request may be retransmitted to the port (port_uses.h)
  LocalPort port;        // empty: any device
  wire::Gid remote_gid{};
  std::uint32_t flow_label{};

  nic::CommHandle comm{};
  wire::CommId requested_by{};  // the peer's id, if the peer sent the request
  std::vector<std::pair<LocalPort, nic::CommHandle>> listens;
  std::uint32_t backlog{};

  Psn receive_psn{};  // random; our REQ or REP tells the peer to start there
  Qpn qpn{};          // of the QP that the program has connected
  Agreement agreement;
  std::uint32_t qkey{};
  std::uint32_t events_fetched{};

  [[nodiscard]] bool datagram() const { return space == Space::kUdp || space == Space::kIpoib; }
};

[[nodiscard]] constexpr wire::ServiceId service_of(Space space, std::uint16_t port) {
  return wire::ServiceId{std::uint64_t{static_cast<std::uint16_t>(space)} << 16U | port};
}

}  // namespace nerve::rdmacm
