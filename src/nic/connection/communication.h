// One communication: a connection from either side, a service resolution, or a listener.
//
// It says one thing at a time, and that is the thing to be said again: a REQ until it is answered,
// then the RTU for as long as the peer repeats its REP, then the DREQ, then the DREP.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/intrusive_list.h"
#include "base/time.h"
#include "base/timer_heap.h"
#include "nic/connection/cm_types.h"

namespace nerve::nic {

// IBTA 12.9.5 and 12.9.6. "Mra" is the message whose sender asked for time.
enum class CommState : std::uint8_t {
  kIdle,  // over; the handle waits to be destroyed
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
  kLastWord,  // over, but a peer that asks again hears our REJ or SIDR_REP again
};

// What is known of a peer, to recognise it by. All of it is the peer's word, so that the address
// it came from is a part: nobody can speak for another host.
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
  bool owned{};  // the user has the handle
  std::uint64_t cookie{};

  wire::CommId local_id{};
  std::optional<wire::CommId> remote_id{};
  wire::Flow flow{};  // of what we send
  Qpn local_qpn{};
  Qpn remote_qpn{};
  std::uint64_t remote_guid{};
  bool active{};
  bool xrc{};
  std::optional<PeerKey> by_comm_id{};  // how the table finds it
  std::optional<PeerKey> by_qpn{};

  // A request that came.
  CommHandle listener{};        // until somebody has answered it
  std::uint64_t transaction{};  // of the request, whose answers repeat it
  std::uint64_t digest{};       // of its bytes: the same again, or another with the same id?

  // What we say, and until when we say it again.
  wire::CmMad said{};
  Duration response_time{};  // how long the peer may take, and both packets
  std::uint8_t max_retries{};
  bool begun{};         // the first copy has left
  Duration interval{};  // to the next copy
  Time give_up_at{};
  Time patient_until{};  // a refusal for want of a listener is no answer before that
  Duration timewait{};
  Timer timer{};
  ListHook<Communication> due_hook{};
  ListHook<Communication> lingering_hook{};

  // A listener.
  wire::ServiceId service{};
  wire::Gid address{};
  CmFamily any_of{};
  std::uint32_t backlog{};
  std::uint32_t pending{};

  // Each end knows of the other, and it is not a connection yet.
  [[nodiscard]] bool being_made() const {
    return state == CommState::kReqReceived || state == CommState::kMraReqSent ||
           state == CommState::kRepSent || state == CommState::kMraRepReceived ||
           state == CommState::kRepReceived || state == CommState::kMraRepSent;
  }
  // Something that is said again until it is answered.
  [[nodiscard]] bool repeats() const {
    return state == CommState::kReqSent || state == CommState::kMraReqReceived ||
           state == CommState::kRepSent || state == CommState::kMraRepReceived ||
           state == CommState::kDreqSent || state == CommState::kSidrSent;
  }
};

}  // namespace nerve::nic
