// One communication: a connection from either side, a service resolution, or a listener.
//
// It has at most one message to retransmit at a time: the REQ until it is answered, then the RTU as
// long as the peer repeats its REP, then the DREQ, then the DREP.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/intrusive_list.h"
#include "base/time.h"
#include "base/timer_heap.h"
#include "nic/connection/cm_types.h"

namespace nerve::nic {

// IBTA 12.9.5 and 12.9.6. "Mra" names the message that the MRA refers to.
enum class CommState : std::uint8_t {
  kIdle,  // finished; the user still owns the handle
  kListen,
  // The active side.
  kReqSent,
  kMraReqReceived,
  kRepReceived,
  kMraRepSent,
  // The passive side.
  kReqReceived,
  kMraReqSent,
  kRepSent,
  kMraRepReceived,
  // Both.
  kEstablished,
  kDreqSent,
  kDreqReceived,
  kTimewait,
  kSidrSent,
  kSidrReceived,
  kFinalReplySent,  // finished, but a repeated request is answered with our REJ or SIDR_REP again
};

// Identifies a peer. The fields are supplied by the peer, so the source address is part of the key:
// a host cannot impersonate another.
struct PeerKey {
  enum class Kind : std::uint8_t { kCommId, kQpn, kSidr };
  Kind kind{};
  wire::Gid gid{};
  std::uint64_t guid{};
  std::uint32_t number{};
  friend bool operator==(const PeerKey&, const PeerKey&) = default;
};

struct Communication {
  CommHandle handle{};
  CommState state{};
  bool owned{};  // the user owns the handle
  std::uint64_t cookie{};

  wire::CommId local_id{};
  std::optional<wire::CommId> remote_id{};
  wire::Flow flow{};  // of the MADs we send
  Qpn local_qpn{};
  Qpn remote_qpn{};
  std::uint64_t remote_guid{};
  bool active{};
  bool xrc{};
  std::optional<PeerKey> by_comm_id{};  // keys in the table
  std::optional<PeerKey> by_qpn{};

  // A received request.
  CommHandle listener{};        // set until the request was answered
  std::uint64_t transaction{};  // of the request; its answers carry it
  std::uint64_t digest{};       // of its bytes: distinguishes a duplicate from a new request with
                                // the same ID

  // The last message sent, and its retransmission.
  wire::CmMad mad{};
  Duration response_time{};  // the peer's response time plus both packet lifetimes
  std::uint8_t max_retries{};
  bool transmitted{};   // the first copy has been sent
  Duration interval{};  // until the next copy
  Time give_up_at{};
  Time replied_at{};               // when the first REP was sent
  std::uint8_t repeats_left{};     // of the REP
  std::uint8_t challenges_left{};  // ConnectionManager::challenge()
  bool challenged{};
  Time retry_refusal_until{};  // until then, a rejection for lack of a listener is not final
  Duration timewait{};
  Timer timer{};
  ListHook<Communication> due_hook{};
  ListHook<Communication> lingering_hook{};
  ListHook<Communication> half_open_hook{};

  // A listener.
  wire::ServiceId service{};
  wire::Gid address{};
  CmFamily any_of{};
  std::uint32_t backlog{};
  std::uint32_t pending{};

  // Both ends know each other, but the connection is not established.
  [[nodiscard]] bool is_connecting() const {
    return state == CommState::kReqReceived || state == CommState::kMraReqSent ||
           state == CommState::kRepSent || state == CommState::kMraRepReceived ||
           state == CommState::kRepReceived || state == CommState::kMraRepSent;
  }
  // Whether a message is retransmitted until it is answered.
  [[nodiscard]] bool awaits_answer() const {
    return state == CommState::kReqSent || state == CommState::kMraReqReceived ||
           state == CommState::kRepSent || state == CommState::kMraRepReceived ||
           state == CommState::kDreqSent || state == CommState::kSidrSent;
  }
};

}  // namespace nerve::nic
