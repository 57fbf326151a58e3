// The types of the communication manager's user interface.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"
#include "nic/handles.h"
#include "wire/cm_mad.h"
#include "wire/frame.h"

namespace nerve::nic {

using CommHandle = Handle<struct Communication>;

// The path between the two ends, and the response timeout.
struct CmRoute {
  wire::Gid local{};
  wire::Gid remote{};
  std::uint8_t traffic_class{};
  std::uint8_t hop_limit{64};
  std::uint32_t flow_label{};         // 20 bits; determines the UDP source port of the connection
  std::uint8_t response_timeout{20};  // ours and the peer's: exponent of 4.096 us
  std::uint8_t max_retries{15};
};

// The address families of a listener on any address.
enum class CmFamily : std::uint8_t { kBoth, kIpv4, kIpv6 };

struct CmListen {
  wire::ServiceId service{};
  wire::Gid address{};      // zero: any
  CmFamily any_of{};        // applies to a listener on any address
  std::uint32_t backlog{};  // pending requests, neither accepted nor rejected; zero: 1024
  std::uint64_t cookie{};
};

// The fields that REQ and REP have in common: what one end offers the other.
struct CmOffer {
  Qpn qpn{};
  Psn psn{};  // the first PSN that the peer is to send (12.7, starting PSN)
  std::uint32_t qkey{};
  std::uint8_t responder_resources{};
  std::uint8_t initiator_depth{};
  std::uint8_t rnr_retry_count{};
  bool end_to_end_flow_control{};
  bool srq{};
};

struct CmConnect {
  CmRoute route{};
  wire::ServiceId service{};
  CmOffer offer{};
  wire::CmTransport transport{};
  wire::CmExtendedTransport extended_transport{};
  std::uint8_t path_mtu{};  // as on the wire: 1 is 256 bytes, 5 is 4096
  std::uint8_t retry_count{};
  std::uint8_t local_ack_timeout{};
  Bytes private_data{};  // at most 92 bytes, including the header of annex A11 if there is one
  std::uint64_t cookie{};
};

struct CmResolve {  // looks up the UD QP of a service
  CmRoute route{};
  wire::ServiceId service{};
  Bytes private_data{};  // at most 216
  std::uint64_t cookie{};
};

struct CmResolved {
  wire::SidrStatus status{};
  Qpn qpn{};
  std::uint32_t qkey{};
  Bytes private_data{};  // at most 136
};

enum class CmEventKind : std::uint8_t {
  kRequest,              // a REQ for a listener: accept, reject or destroy `id`
  kReply,                // a REP for our REQ: prepare the QP, then confirm (or reject) `id`
  kEstablished,          // passive side: an RTU arrived, or data that implies it
  kRejected,             // a REJ arrived; `id` is idle
  kUnreachable,          // no answer to REQ, REP or SIDR_REQ after all retries; `id` is idle
  kDisconnectRequested,  // the peer sent DREQ
  kDisconnected,         // a DREP arrived, or nothing after all retries; TIMEWAIT has begun
  kTimewaitOver,         // late packets have expired: the QP may be reused
  kResolveRequest,       // a SIDR_REQ for a listener: resolved() or destroy `id`
  kResolved,             // a SIDR_REP arrived
};

struct CmEvent {
  CmEventKind kind{};
  CommHandle id{};
  CommHandle listener{};      // kRequest, kResolveRequest
  std::uint64_t cookie{};     // of `id`, or of the listener if `id` is new
  wire::Flow flow{};          // of the MAD, if any: the destination is ours
  wire::CmMessage message{};  // of the MAD: REQ, REP, REJ, DREQ, DREP, RTU, SIDR_REQ, SIDR_REP
};

}  // namespace nerve::nic
