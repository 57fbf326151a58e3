// The configuration of an engine: its limits, identity and protocol options.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/late_memory.h"
#include "base/rate.h"
#include "base/siphash.h"
#include "base/time.h"
#include "nic/attributes.h"
#include "nic/direct_path.h"
#include "nic/flow_control/egress_gate.h"
#include "nic/flow_control/parameters.h"
#include "nic/pager.h"
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
  std::uint32_t max_connections{1U << 16};  // listeners and lingering ones included
};

struct Counters;
class Trace;

enum class CcAlgorithm : std::uint8_t {
  kNone,
  kDcqcn,
  kTimely,
  kSwift,
  kHpcc,
  kLearned,
  kNscc,
};

struct FlowControlConfig {
  CcAlgorithm algorithm{CcAlgorithm::kNone};
  DcqcnParameters dcqcn{};
  TimelyParameters timely{};
  SwiftParameters swift{};
  HpccParameters hpcc{};
  LearnedParameters learned{};
  NsccParameters nscc{};
  // An ACK is requested every so many packets, and with the last packet of a message. Congestion
  // control that relies on round trips or telemetry needs more of them.
  std::uint32_t ack_every{32};
  // For the receiver: at most one CNP per flow in this time; zero disables CNPs.
  Duration cnp_interval{std::chrono::microseconds{50}};
  // For the sender: a QP heeds so many CNPs at once, and then one per cnp_interval, while it sends;
  // zero: all. A simulated network forges none, and may delay many behind each other.
  std::uint32_t max_cnp_burst{};
  // Bytes that a paced QP may send back to back: the amount that a late timer can catch up with,
  // and the length of a train. A simulator has exact timers and sets it to zero.
  std::uint32_t pacing_burst{16 * 1024};
  // Shrinks the window after each loss (flight.h), for links with short queues and switches that do
  // not mark packets.
  bool shrink_on_loss{};
  bool announce_credits{true};  // advertise AETH credits as responder
  bool heed_credits{true};      // obey AETH credits as requester
};

// Selective repeat (IRN: Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018) for RC
// QPs: only lost packets are retransmitted, and packets may be reordered. Both ends must support
// it.
struct SelectiveRepeatConfig {
  // Uses it from the first packet on, without negotiation: all peers are known to support it.
  bool on{};
  // Announces it in every packet and uses it with peers that announce it too; uses go-back-N with
  // all others (docs/decisions/0016). Selective NAKs then name runs of packets.
  bool offer{};
  // A packet that is not acknowledged within this time is retransmitted. The time is short while
  // few packets are in flight, because no later packet would reveal the loss. Neither value exceeds
  // the QP's timeout, and only a wait as long as that timeout counts as a retry.
  Duration timeout_of_few{std::chrono::microseconds{100}};
  Duration timeout{std::chrono::microseconds{320}};
  std::uint32_t few{3};
  // A missing packet counts as lost when a packet more than this many PSNs ahead of it has arrived,
  // ...
  std::uint32_t reorder_window{};
  // ... or this long after the first packet that overtook it. Zero disables the second rule.
  Duration reorder_timeout{};
};

// Parts of Ultra Ethernet (UE specification 1.0), for QPs with selective repeat that is `on`. Both
// ends must be configured alike.
struct UltraEthernetConfig {
  // Each packet of a QP gets one of so many UDP source ports, so that ECMP spreads the packets of
  // one QP over many paths; a power of two. Zero: all packets of a QP use the same one.
  std::uint32_t entropies{};
  // Switches trim packets instead of dropping them; the receiver reports each trimmed packet.
  bool trimming{};
  // A sender sends no more than the receiver grants (RCCC), except for the first
  // `unsolicited_packets` after the QP was idle.
  bool receiver_credits{};
  std::uint32_t unsolicited_packets{32};

  [[nodiscard]] bool any() const { return entropies != 0 || trimming || receiver_credits; }
};

// The tail probe (tail_probe.cc): retransmits the last packet with an ACK request when nothing was
// sent or received for a while.
struct TailProbeConfig {
  bool on{};
  // The first probe is sent after about two round trips, but not before this time: a peer whose
  // threads wait for a CPU is late without any loss.
  Duration min_interval{std::chrono::microseconds{250}};
  Duration first_interval{std::chrono::milliseconds{1}};  // before a round trip is known
  // Probes also where the gate reports a lossless path, because a tap between the engine and the
  // link drops frames.
  bool every_path{};
};

// A communication ID is first_comm_id plus a counter of this width. The bits above it identify the
// process on its host.
inline constexpr std::uint32_t kCommIdBits = 22;

// The orders that are derived from NicConfig::key_secret (base/secret_order.h). Memory keys use the
// hashes below 2^40, where no order does.
inline constexpr std::uint32_t kOrderOfQpns = 1;
inline constexpr std::uint32_t kOrderOfCommIds = 2;

// No peer has more packets of SENDs and WRITEs in flight: 64 MiB at the usual MTU, 256 MiB at the
// largest. A packet further away from what is expected was not sent by the peer. A READ takes as
// many PSNs as its response has packets, which may be more; see Responder::is_far().
inline constexpr std::uint32_t kWidestWindow = 1U << 16;

// Plain values.
struct NicConfig {
  Limits limits{};
  // The only randomness in an engine: memory keys are derived from it, and the order of numbers
  // (scatter_numbers). A host uses real entropy, a test its seed.
  SipKey key_secret{};
  // QPNs and communication IDs follow each other in a secret order instead of counting up, so that
  // whoever knows one cannot guess others. Off in simulators, where QPNs select paths and results
  // must not depend on a secret.
  bool scatter_numbers{};
  // QPNs are first_qpn .. first_qpn + limits.max_qp - 1; the GSI QP is always 1.
  Qpn first_qpn{0x11};
  // The first QPN to use in that range. A host draws it at random, so that packets for a process
  // that died do not reach the QPs of the next process with the same range.
  std::uint32_t begin_qpns_at{};
  // Identifies the node to peers, in REQ and REP.
  std::uint64_t guid{};
  std::uint32_t first_comm_id{};
  std::uint32_t begin_comm_ids_at{};  // drawn at random, like begin_qpns_at
  // A REQ that is rejected because there is no listener is retried for this long. On hardware,
  // address and route resolution take a moment, and servers have come to rely on that delay.
  Duration refusal_patience{};
  Rate line_rate{Rate::gigabits(100)};
  Mtu max_mtu{Mtu::k4096};
  std::vector<std::uint16_t> pkeys{0xffff};
  std::uint32_t gid_table_size{16};
  FlowControlConfig flow_control{};
  // The maximum number of unacknowledged packets of a QP (SEND and WRITE), whatever congestion
  // control allows. It bounds what a lossy link must absorb.
  std::uint32_t max_outstanding_packets{4096};
  // With selective repeat, max_outstanding_packets is also the number of packets that a responder
  // holds ahead of a missing one.
  SelectiveRepeatConfig selective_repeat{};
  UltraEthernetConfig ultra_ethernet{};
  TailProbeConfig tail_probe{};
  // A QP starts no READ while this many response packets of earlier READs are outstanding. The peer
  // paces its responses, but our receive queue may be short.
  std::uint32_t max_read_packets{1U << 23};
  // The number of frames that a QP may send before the next one gets its turn.
  std::uint32_t scheduling_quantum{64};
};

// A configuration that engines share: thousands of simulated NICs have the same. It may come from a
// file: values that cannot work are replaced by the nearest valid ones.
class SharedConfig {
 public:
  SharedConfig(const NicConfig& config);  // NOLINT(google-explicit-constructor)

  const NicConfig& operator*() const { return *valid_; }

 private:
  std::shared_ptr<const NicConfig> valid_;
};

// What the driver offers one engine. Each may be null, and must outlive the engine.
struct NicHooks {
  EgressGate* gate{};         // null: never full
  Trace* trace{};             // null: nothing is traced
  Counters* counters{};       // null: the engine has its own
  DirectPath* direct_path{};  // null: none
  Pager* pager{};             // null: on-demand regions are fully mapped
  LateMemory* late_memory{};  // null: none
};

}  // namespace nerve::nic
