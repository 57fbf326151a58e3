// What an engine is built with: its limits, its identity and its habits.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/rate.h"
#include "base/siphash.h"
#include "base/time.h"
#include "nic/attributes.h"
#include "nic/direct_path.h"
#include "nic/flow_control/egress_gate.h"
#include "nic/flow_control/parameters.h"
#include "wire/gid.h"

namespace nerve::nic {

struct Limits {
  std::uint32_t max_qp{1U << 16};
  std::uint32_t max_cq{1U << 16};
  std::uint32_t max_srq{1U << 14};
  std::uint32_t max_pd{1U << 14};
  std::uint32_t max_mr{1U << 18};
  std::uint32_t max_mw{1U << 18};
  std::uint32_t max_ah{1U << 18};
  std::uint32_t max_xrcd{1U << 10};
  std::uint32_t max_qp_wr{1U << 15};
  std::uint32_t max_srq_wr{1U << 16};
  std::uint32_t max_cqe{1U << 22};
  std::uint32_t max_sge{32};
  std::uint32_t max_inline{1024};
  std::uint32_t max_read_depth{128};  // both directions
  std::uint32_t max_mcast_groups{1U << 10};
  std::uint32_t max_mcast_qps{256};  // per group
  std::uint32_t max_message{1U << 31};
  std::uint32_t max_connections{1U << 16};  // listeners, and what only peers remember, included
};

enum class CcAlgorithm : std::uint8_t { kNone, kDcqcn, kTimely, kSwift, kHpcc };

struct FlowControlConfig {
  CcAlgorithm algorithm{CcAlgorithm::kNone};
  DcqcnParameters dcqcn{};
  TimelyParameters timely{};
  SwiftParameters swift{};
  HpccParameters hpcc{};
  // An ACK is asked for with every so many packets, besides the last of a message. Algorithms that
  // live on round trips or telemetry want more of them.
  std::uint32_t ack_every{32};
  // The receiver's half: at most one CNP per flow in this time; zero turns CNPs off.
  Duration cnp_interval{std::chrono::microseconds{50}};
  // Bytes that may leave back to back when a QP is paced: what a late timer may catch up with, and
  // the length of a train. A simulator, whose timers are exact, wants none.
  std::uint32_t pacing_burst{16 * 1024};
  // Fewer packets at once after each loss (flight.h): for links with short queues and no switches
  // that tell.
  bool shrink_on_loss{};
  bool announce_credits{true};  // AETH credits as responder
  bool heed_credits{true};      // AETH credits as requester
};

// Selective repeat (IRN: Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018) of RC
// QPs: only what was lost is sent again, and packets may overtake each other. Both ends must have
// it.
struct SelectiveRepeatConfig {
  // From the first packet on, without asking: all peers are known to have it.
  bool on{};
  // With peers that announce it in their packets, as this end then does; go-back-N with all others
  // (docs/decisions/0016). Selective NAKs name runs of packets.
  bool offer{};
  // A packet that is not acknowledged in this time is sent again. It is short while few are on
  // their way, for then no other packet would tell of the loss. Neither is longer than the QP's
  // timeout, and only one that has taken as long as that counts as a retry.
  Duration timeout_of_few{std::chrono::microseconds{100}};
  Duration timeout{std::chrono::microseconds{320}};
  std::uint32_t few{3};
  // A missing packet counts as lost when one more than so many PSNs beyond it has arrived ...
  std::uint32_t reorder_window{};
  // ... or this long after the first that has overtaken it; zero: only the former.
  Duration reorder_timeout{};
};

// The tail probe (tail_probe.cc): the last packet is sent once more, and asks for an ACK, when
// nothing was sent or heard for a while.
struct TailProbeConfig {
  bool on{};
  // The first probe leaves after some two round trips, but not before this. A peer whose threads
  // wait for a CPU is late without any loss.
  Duration min_interval{std::chrono::microseconds{250}};
  Duration first_interval{std::chrono::milliseconds{1}};  // before a round trip is known
  // Also where the gate says that nothing is lost: somebody between the engine and it drops frames.
  bool every_path{};
};

// A communication id is first_comm_id and a count of this width: what is above it is left to the
// host, which tells its processes apart by it.
inline constexpr std::uint32_t kCommIdBits = 22;

struct NicConfig {
  Limits limits{};
  // All the chance there is in an engine: memory keys are drawn with it. A host takes it from real
  // entropy, a test from its seed.
  SipKey key_secret{};
  // QPNs given out are first_qpn .. first_qpn + limits.max_qp - 1; the GSI QP is always 1.
  Qpn first_qpn{0x11};
  // Where in that range to begin. A host draws it, so that packets for a process that died do not
  // find the QPs of the next one that got the range.
  std::uint32_t begin_qpns_at{};
  // By what peers know the node, in REQ and REP.
  std::uint64_t guid{};
  std::uint32_t first_comm_id{};
  std::uint32_t begin_comm_ids_at{};  // drawn, as where QPNs begin
  // A REQ that is refused because nobody listens is said again for so long. Elsewhere it takes a
  // moment to find an address and a route, and servers have got used to the time.
  Duration refusal_patience{};
  Rate line_rate{Rate::gigabits(100)};
  Mtu max_mtu{Mtu::k4096};
  std::vector<std::uint16_t> pkeys{0xffff};
  std::uint32_t gid_table_size{16};
  FlowControlConfig flow_control{};
  DirectPath* direct_path{};  // null: none; otherwise it outlives the engine
  EgressGate* gate{};         // null: there is always room; otherwise it outlives the engine
  // A QP may have this many packets unacknowledged (SEND and WRITE), whatever congestion control
  // allows: it bounds what a lossy link must absorb.
  std::uint32_t max_outstanding_packets{4096};
  // With it, that is also how many packets ahead of a missing one are kept at the receiving end.
  SelectiveRepeatConfig selective_repeat{};
  TailProbeConfig tail_probe{};
  // ... and begins no READ while it waits for this many packets of earlier ones. The peer paces
  // them, but the queue at our end may be short.
  std::uint32_t max_read_packets{1U << 23};
  // Frames one QP may emit before the next one gets its turn.
  std::uint32_t scheduling_quantum{64};
};

}  // namespace nerve::nic
