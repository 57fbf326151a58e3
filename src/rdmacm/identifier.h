// An rdma_cm_id as the kernel keeps it: where it is bound, whom it speaks to, and how far the two
// have come.
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

// By their numbers in the ABI, of which only librdmacm has a header.
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
  // What librdmacm or its program tell themselves, from RDMACM_1.4 on.
  kUser = 18,
  kInternal = 19,
};

enum class IdState : std::uint8_t {
  kIdle,
  kBound,
  kAddressResolved,
  kRouteResolved,
  kAsked,      // REQ or SIDR_REQ sent
  kAnswered,   // a REP came, and waits for the program to make its QP ready
  kRequested,  // REQ or SIDR_REQ came, and waits for the program
  kAccepted,   // REP sent
  kConnected,
  kDisconnected,  // the program has heard of it
  kListening,
  kOver,  // rejected, or nobody answered
};

// The port of a device that an address belongs to.
struct LocalPort {
  std::shared_ptr<host::Adapter> adapter;
  wire::Gid gid{};
};

struct Options {
  std::uint8_t traffic_class{};
  std::optional<std::uint8_t> ack_timeout;
  bool reuse_address{};
  bool one_family{};  // a wildcard of IPv6 does not stand for IPv4
};

struct Identifier {
  std::uint32_t number{};
  Channel* channel{};   // where its events go; none in a program that has closed it
  std::uint64_t uid{};  // the program's name for it; zero until it has accepted a request
  Space space{};
  std::uint8_t qp_type{};
  IdState state{};
  bool removed{};  // its device is gone
  Options options;

  Endpoint local;
  Endpoint remote;
  bool holds_port{};     // of the port space
  bool asked_at_port{};  // a request that came, and may come again (port_uses.h)
  LocalPort port;        // empty: of any device
  wire::Gid remote_gid{};
  std::uint32_t flow_label{};

  nic::CommHandle comm{};
  wire::CommId requested_by{};  // the peer's id, where the peer asked
  std::vector<std::pair<LocalPort, nic::CommHandle>> listens;
  std::uint32_t backlog{};

  Psn receive_psn{};  // drawn; our REQ or REP tells the peer to begin there
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
