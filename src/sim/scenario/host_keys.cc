#include "sim/scenario/keys.h"
#include "sim/scenario/words.h"

namespace nerve::sim::scenario_file {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kEntropies[] = {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
constexpr std::uint32_t kMtus[] = {256, 512, 1024, 2048, 4096};

// The file has the MTU as a number.
void read_mtu(Value& v, NicSpec& n) {
  std::uint32_t bytes = nic::bytes(n.mtu);
  v.count_among(bytes, kMtus);
  n.mtu = static_cast<nic::Mtu>(bytes);
}

// clang-format off
constexpr Key<ServerSpec> kServers[] = {
    {"count", "number of servers",
     [](Value& v, ServerSpec& s) { v.count(s.count, 1, 65'536); }, kRequired},
    {"gpus", "GPUs per server",
     [](Value& v, ServerSpec& s) { v.count(s.gpus, 1, 256); }},
    {"nics", "NICs per server, in the back-end network; GPUs share them evenly",
     [](Value& v, ServerSpec& s) { v.count(s.nics, 1, 256); }, "same as gpus"},
    {"interconnect", "rate of NVLink or similar, per GPU and direction",
     [](Value& v, ServerSpec& s) { v.rate(s.interconnect); }},
    {"interconnect_delay", "latency between two GPUs of a server",
     [](Value& v, ServerSpec& s) { v.time(s.interconnect_delay, Duration{}, milliseconds{10}); }},
    {"pcie", "rate between a NIC and memory, per direction; 0: no limit",
     [](Value& v, ServerSpec& s) { v.rate_or_zero(s.pcie); }},
    {"nics_per_pcie", "NICs behind one PCIe switch, which share a link of that rate",
     [](Value& v, ServerSpec& s) { v.count(s.nics_per_pcie, 1, 256); }},
    {"post_delay", "from a program's decision to send until its NIC begins: doorbell and PCIe",
     [](Value& v, ServerSpec& s) { v.time(s.post_delay, Duration{}, milliseconds{1}); }},
};

constexpr Key<StorageSpec> kStorage[] = {
    {"servers", "servers without GPUs that checkpoints are written to",
     [](Value& v, StorageSpec& s) { v.count(s.servers, 1, 65'536); }, kRequired},
    {"rate", "disk rate of each server; 0: as fast as its NIC",
     [](Value& v, StorageSpec& s) { v.rate_or_zero(s.rate); }},
    {"network", "network that connects them",
     [](Value& v, StorageSpec& s) { v.word(s.on_front_end, kNetworks); },
     "front-end if there is one"},
};

constexpr Key<NicSpec> kNic[] = {
    {"transport", "RDMA by the engine, or TCP by the kernel",
     [](Value& v, NicSpec& n) { v.word(n.transport, kTransports); }, "rdma; in [front_end.nic] tcp"},
    {"congestion", "congestion control for RDMA; for TCP see [tcp]",
     [](Value& v, NicSpec& n) { v.word(n.flow_control.algorithm, kCongestion); },
     "dcqcn on ethernet, none on infiniband"},
    {"policy", "policy file of learned congestion control (docs/learned.md)",
     [](Value& v, NicSpec& n) { v.file(n.policy_file); }, "policies/default.toml, built in"},
    {"recovery", "what is retransmitted after a loss: all packets since, or only the missing ones (IRN)",
     [](Value& v, NicSpec& n) { v.word(n.recovery, kRecoveries); },
     "go-back-n; selective-repeat with nscc, spray, receiver_credits and trimming"},
    {"mtu", "payload per packet, in bytes", read_mtu},
    {"qps_per_pair", "QPs between two GPUs; each message is spread over them",
     [](Value& v, NicSpec& n) { v.count(n.qps_per_pair, 1, 64); },
     "1; with controlled routing as many as fill a NIC over the slowest cable between switches"},
    {"hash_by_qp", "each QP has its own UDP source port, which ECMP hashes",
     [](Value& v, NicSpec& n) { v.on_off(n.hash_by_qp); }},
    {"timeout", "retransmission timeout of a QP",
     [](Value& v, NicSpec& n) { v.time(n.timeout, microseconds{4}, seconds{10}); }, "17 ms if lossless, 4 ms if lossy"},
    {"relay_across_rails", "messages to another rail first cross the interconnect to a GPU of that rail (PXN)",
     [](Value& v, NicSpec& n) { v.on_off(n.relay_across_rails); }, "true with rail-only"},
    {"check_payload", "packets carry real bytes, which the receiver checks; slow",
     [](Value& v, NicSpec& n) { v.on_off(n.check_payload); }},
    {"ack_every", "an ACK is requested every so many packets, and for the last one of a message",
     [](Value& v, NicSpec& n) { v.count(n.flow_control.ack_every, 1, 4096); },
     "32; 4 with selective-repeat; 1 with timely, swift, hpcc, learned, nscc, spray and receiver_credits"},
    {"spray", "entropy: each packet of a QP has a UDP source port of its own, hence its own path with ECMP; "
     "ports are used again when their packets arrive without a mark, and avoided when not",
     [](Value& v, NicSpec& n) { v.word(n.sprays, kSprays); }},
    {"entropies", "with spray: the number of source ports",
     [](Value& v, NicSpec& n) { v.count_among(n.entropies, kEntropies); }},
    {"receiver_credits", "a receiver grants packets to its senders in turn, at its line rate (RCCC)",
     [](Value& v, NicSpec& n) { v.on_off(n.receiver_credits); }},
    {"unsolicited", "with receiver_credits: what a sender that was idle may send without a grant",
     [](Value& v, NicSpec& n) { v.bytes(n.unsolicited, 1024, 1U << 30U); },
     "1.5 bandwidth-delay products"},
    {"cnp_interval", "minimum time between two CNPs to one sender; \"0 s\": no CNPs",
     [](Value& v, NicSpec& n) { v.time(n.flow_control.cnp_interval, Duration{}, seconds{1}); }},
    {"cnp_delay", "extra delay of CNPs, as in switches that process them slowly",
     [](Value& v, NicSpec& n) { v.time(n.cnp_delay, Duration{}, milliseconds{10}); }},
};

constexpr Key<NicHardwareSpec> kHardware[] = {
    {"modelled", "packets and work requests take time in the NIC, and its caches can miss",
     [](Value& v, NicHardwareSpec& h) { v.on_off(h.modelled); }},
    {"per_packet", "time per packet, sent or received",
     [](Value& v, NicHardwareSpec& h) { v.time(h.per_packet, Duration{}, microseconds{100}); }},
    {"per_wqe", "time per work request, in addition to its packets",
     [](Value& v, NicHardwareSpec& h) { v.time(h.per_wqe, Duration{}, microseconds{100}); }},
    {"dma_read", "latency of a read over PCIe: of payload, and of what a cache does not hold",
     [](Value& v, NicHardwareSpec& h) { v.time(h.dma_read, Duration{}, microseconds{100}); }},
    {"cached_qps", "QP contexts that the NIC holds; 0: all",
     [](Value& v, NicHardwareSpec& h) { v.count(h.cached_qps, 0, 1U << 20U); }},
    {"cached_pages", "address translations that the NIC holds; 0: all",
     [](Value& v, NicHardwareSpec& h) { v.count(h.cached_pages, 0, 1U << 20U); }},
    {"page", "memory per address translation",
     [](Value& v, NicHardwareSpec& h) { v.bytes(h.page, 4096, std::uint64_t{1} << 30U); }},
    {"fetches", "reads for the caches at the same time",
     [](Value& v, NicHardwareSpec& h) { v.count(h.fetches, 1, 4096); }},
    {"receive_buffer", "packets that wait to be processed; it pauses its switch at half of that, or drops them",
     [](Value& v, NicHardwareSpec& h) { v.bytes(h.receive_buffer, 65'536, std::uint64_t{1} << 30U); }},
};

constexpr Key<AdmissionSpec> kAdmission[] = {
    {"limit", "most bytes that may be on their way to a receiver; senders wait for its clear-to-send messages; \"0 B\": they do not",
     [](Value& v, AdmissionSpec& a) { v.bytes(a.limit, 0, std::uint64_t{1} << 30U); }},
    {"chunk", "bytes that one clear-to-send message allows, at most",
     [](Value& v, AdmissionSpec& a) { v.bytes(a.chunk, 4096, 1U << 30U); }},
};

constexpr Key<nic::DcqcnParameters> kDcqcn[] = {
    {"g_inverse", "1/g: the larger, the slower alpha follows the marks",
     [](Value& v, nic::DcqcnParameters& p) { v.count(p.g_inverse, 1, 65'536); }},
    {"alpha_timer", "interval at which alpha decays",
     [](Value& v, nic::DcqcnParameters& p) { v.time(p.alpha_timer, Duration{100'000}, seconds{1}); }},
    {"increase_timer", "interval of a rate increase stage by time",
     [](Value& v, nic::DcqcnParameters& p) { v.time(p.increase_timer, Duration{100'000}, seconds{1}); }},
    {"decrease_interval", "minimum time between two rate cuts",
     [](Value& v, nic::DcqcnParameters& p) { v.time(p.decrease_interval, Duration{}, seconds{1}); }},
    {"byte_counter", "bytes sent per rate increase stage; \"0 B\": stages by time only",
     [](Value& v, nic::DcqcnParameters& p) { v.bytes(p.byte_counter, 0); }},
    {"fast_recovery_stages", "F: fast recovery stages before the target rate grows",
     [](Value& v, nic::DcqcnParameters& p) { v.count(p.fast_recovery_stages, 0, 1000); }},
    {"additive_increase", "R_AI",
     [](Value& v, nic::DcqcnParameters& p) { v.rate(p.additive_increase); },
     "40 Mb/s at 40 Gb/s, in proportion to the line rate"},
    {"hyper_increase", "R_HAI",
     [](Value& v, nic::DcqcnParameters& p) { v.rate(p.hyper_increase); },
     "400 Mb/s at 40 Gb/s, in proportion to the line rate"},
    {"minimum_rate", "lower limit of the rate",
     [](Value& v, nic::DcqcnParameters& p) { v.rate(p.minimum_rate); }},
    {"clamp_target", "each cut sets the target rate to the rate before the cut",
     [](Value& v, nic::DcqcnParameters& p) { v.on_off(p.clamp_target); }},
    {"alpha_by_timer", "alpha grows once per alpha_timer, not with each CNP that cuts",
     [](Value& v, nic::DcqcnParameters& p) { v.on_off(p.alpha_by_timer); }},
    {"cut_by_timer", "cuts happen at the end of a decrease_interval that begins with the first CNP",
     [](Value& v, nic::DcqcnParameters& p) { v.on_off(p.cut_by_timer); }},
};

constexpr Key<nic::TimelyParameters> kTimely[] = {
    {"newest_weight", "weight of the newest RTT difference in the average",
     [](Value& v, nic::TimelyParameters& p) { v.parts(p.newest_weight, 1000, 0.001, 1); }},
    {"beta", "factor of the rate decrease",
     [](Value& v, nic::TimelyParameters& p) { v.parts(p.beta, 1000, 0.001, 1); }},
    {"low", "the rate grows while the RTT is below it",
     [](Value& v, nic::TimelyParameters& p) { v.time(p.low, Duration{1000}, seconds{1}); }},
    {"high", "the rate is cut while the RTT is above it",
     [](Value& v, nic::TimelyParameters& p) { v.time(p.high, Duration{1000}, seconds{1}); }},
    {"minimum_round_trip", "RTT differences are divided by it",
     [](Value& v, nic::TimelyParameters& p) { v.time(p.minimum_round_trip, Duration{1000}, seconds{1}); }},
    {"step", "additive increase of the rate",
     [](Value& v, nic::TimelyParameters& p) { v.rate(p.step); },
     "10 Mb/s at 10 Gb/s, in proportion to the line rate"},
    {"hyper_after", "good samples in a row before hyper increase begins",
     [](Value& v, nic::TimelyParameters& p) { v.count(p.hyper_after, 1, 1000); }},
    {"hyper_steps", "steps taken at once in hyper increase",
     [](Value& v, nic::TimelyParameters& p) { v.count(p.hyper_steps, 1, 1000); }},
    {"low_is_good", "RTTs below `low` also count as good samples",
     [](Value& v, nic::TimelyParameters& p) { v.on_off(p.low_is_good); }},
    {"steepest", "upper limit of the gradient",
     [](Value& v, nic::TimelyParameters& p) { v.parts(p.steepest, 1000, 0.001, 1000); }},
    {"samples", "concurrent RTT measurements; with 1 the rate changes once per RTT",
     [](Value& v, nic::TimelyParameters& p) { v.count(p.samples, 1, 8); }},
    {"minimum_rate", "lower limit of the rate",
     [](Value& v, nic::TimelyParameters& p) { v.rate(p.minimum_rate); }},
};

constexpr Key<nic::SwiftParameters> kSwift[] = {
    {"base_target", "target delay",
     [](Value& v, nic::SwiftParameters& p) { v.time(p.base_target, Duration{1000}, seconds{1}); }},
    {"increase", "additive increase of the window, in packets per RTT",
     [](Value& v, nic::SwiftParameters& p) { v.parts(p.increase, 1000, 0.001, 1000); }},
    {"beta", "factor of the window decrease, applied to the excess delay",
     [](Value& v, nic::SwiftParameters& p) { v.parts(p.beta, 1000, 0.001, 1); }},
    {"most_cut", "largest decrease per RTT",
     [](Value& v, nic::SwiftParameters& p) { v.parts(p.most_cut, 1000, 0.001, 1); }},
    {"scaling_range", "added to the target delay of the smallest windows",
     [](Value& v, nic::SwiftParameters& p) { v.time(p.scaling_range, Duration{}, seconds{1}); }},
    {"smallest_scaled", "window, in packets, at and below which all of scaling_range is added",
     [](Value& v, nic::SwiftParameters& p) { v.parts(p.smallest_scaled, 1000, 0.001, 1'000'000); }},
    {"largest_scaled", "window, in packets, from which none of it is added",
     [](Value& v, nic::SwiftParameters& p) { v.parts(p.largest_scaled, 1000, 0.001, 1'000'000); }},
    {"smallest", "smallest window, in packets",
     [](Value& v, nic::SwiftParameters& p) { v.parts(p.smallest, 1000, 0.001, 1'000'000); }},
    {"largest", "largest window, in packets",
     [](Value& v, nic::SwiftParameters& p) { v.parts(p.largest, 1000, 0.001, 1'000'000); }},
};

constexpr Key<nic::HpccParameters> kHpcc[] = {
    {"eta", "target link utilisation",
     [](Value& v, nic::HpccParameters& p) { v.parts(p.eta, 1000, 0.1, 1); }},
    {"most_stages", "additive steps before a multiplicative step",
     [](Value& v, nic::HpccParameters& p) { v.count(p.most_stages, 0, 1000); }},
    {"base_round_trip", "round-trip time of the empty network",
     [](Value& v, nic::HpccParameters& p) { v.time(p.base_round_trip, Duration{1000}, seconds{1}); },
     "the longest of the network"},
    {"flows", "N: number of concurrent flows that the additive step is sized for",
     [](Value& v, nic::HpccParameters& p) { v.count(p.flows, 1, 1'000'000); }},
    {"minimum_rate", "lower limit of the rate",
     [](Value& v, nic::HpccParameters& p) { v.rate(p.minimum_rate); }},
};

constexpr Key<nic::NsccParameters> kNscc[] = {
    {"base_round_trip", "round-trip time of the empty network, at first; shorter ones replace it",
     [](Value& v, nic::NsccParameters& p) { v.time(p.base_round_trip, Duration{100'000}, seconds{1}); },
     "the longest of the network"},
    {"target", "queueing delay up to which unmarked packets increase the window in proportion",
     [](Value& v, nic::NsccParameters& p) { v.time(p.target, Duration{100'000}, seconds{1}); },
     "base_round_trip; 3/4 of it with trimming"},
    {"increase", "proportional increase, in packets per RTT; like other steps for 100 Gb/s and 12 us, and scaled",
     [](Value& v, nic::NsccParameters& p) { v.parts(p.increase, 1000, 0.001, 1000); }},
    {"fair_increase", "increase by unmarked packets with a longer delay, in packets per RTT",
     [](Value& v, nic::NsccParameters& p) { v.parts(p.fair_increase, 1000, 0.001, 1000); }},
    {"steady_increase", "increase in any case, in packets per RTT",
     [](Value& v, nic::NsccParameters& p) { v.parts(p.steady_increase, 1000, 0, 1000); }},
    {"fast_increase", "increase after a window without queues, as a share of what arrives",
     [](Value& v, nic::NsccParameters& p) { v.parts(p.fast_increase, 1000, 0, 1000); }},
    {"fast_below", "queueing delay that counts as no queue",
     [](Value& v, nic::NsccParameters& p) { v.time(p.fast_below, Duration{}, seconds{1}); }},
    {"gamma", "factor of the window decrease, applied to the excess delay",
     [](Value& v, nic::NsccParameters& p) { v.parts(p.gamma, 1000, 0.001, 1); }},
    {"most_cut", "largest decrease per RTT",
     [](Value& v, nic::NsccParameters& p) { v.parts(p.most_cut, 1000, 0.001, 1); }},
    {"newest_weight", "weight of the newest delay in the mean",
     [](Value& v, nic::NsccParameters& p) { v.parts(p.newest_weight_per_10k, 10'000, 0.0001, 1); }},
    {"largest", "largest and first window, in bandwidth-delay products",
     [](Value& v, nic::NsccParameters& p) { v.parts(p.largest, 1000, 0.01, 1000); }},
    {"quick_gate", "quick adapt if less than one of so many parts of the largest window arrived in a round trip",
     [](Value& v, nic::NsccParameters& p) { v.count(p.quick_gate, 1, 1024); }},
    {"quick_delay", "and if packets were trimmed or lost, or the delay exceeds so many targets",
     [](Value& v, nic::NsccParameters& p) { v.parts(p.quick_delay, 1000, 0.1, 1000); }},
};

constexpr Key<TcpSpec> kTcp[] = {
    {"algorithm", "congestion control",
     [](Value& v, TcpSpec& t) { v.word(t.algorithm, kTcpAlgorithms); }},
    {"mtu", "packet size with IP and TCP headers, in bytes",
     [](Value& v, TcpSpec& t) { v.count(t.mtu, 576, 9216); }},
    {"copy", "copy rate of one core from kernel to user memory (received data)",
     [](Value& v, TcpSpec& t) { v.rate(t.copy); }},
    {"copy_out", "copy rate of one core from user to kernel memory (cached data)",
     [](Value& v, TcpSpec& t) { v.rate(t.copy_out); }},
    {"per_packet", "core time to send a packet, with segmentation offload, or to process an ACK",
     [](Value& v, TcpSpec& t) { v.time(t.per_packet, Duration{}, milliseconds{1}); }},
    {"per_packet_received", "core time to receive a packet, with receive offload",
     [](Value& v, TcpSpec& t) { v.time(t.per_packet_received, Duration{}, milliseconds{1}); }},
    {"per_message", "core time per message: system call and wake-up",
     [](Value& v, TcpSpec& t) { v.time(t.per_message, Duration{}, milliseconds{10}); }},
    {"latency", "from the interrupt to the application",
     [](Value& v, TcpSpec& t) { v.time(t.latency, Duration{}, milliseconds{10}); }},
    {"cores", "cores per NIC; a connection uses one of them",
     [](Value& v, TcpSpec& t) { v.count(t.cores, 1, 1024); }},
    {"minimum_timeout", "lower limit of the retransmission timeout",
     [](Value& v, TcpSpec& t) { v.time(t.minimum_timeout, microseconds{10}, seconds{10}); }},
    {"first_window", "initial congestion window, in packets",
     [](Value& v, TcpSpec& t) { v.count(t.first_window, 1, 10'000); }},
    {"receive_buffer", "receive buffer per connection",
     [](Value& v, TcpSpec& t) { v.bytes(t.receive_buffer, 16'384, std::uint64_t{1} << 32U); }},
    {"ring", "receive ring of one core, in packets; further packets are dropped",
     [](Value& v, TcpSpec& t) { v.count(t.ring, 8, 1U << 20U); }},
};
// clang-format on

}  // namespace

std::span<const Key<ServerSpec>> server_keys() { return kServers; }
std::span<const Key<StorageSpec>> storage_keys() { return kStorage; }
std::span<const Key<NicSpec>> nic_keys() { return kNic; }
std::span<const Key<NicHardwareSpec>> hardware_keys() { return kHardware; }
std::span<const Key<AdmissionSpec>> admission_keys() { return kAdmission; }
std::span<const Key<nic::DcqcnParameters>> dcqcn_keys() { return kDcqcn; }
std::span<const Key<nic::TimelyParameters>> timely_keys() { return kTimely; }
std::span<const Key<nic::SwiftParameters>> swift_keys() { return kSwift; }
std::span<const Key<nic::HpccParameters>> hpcc_keys() { return kHpcc; }
std::span<const Key<nic::NsccParameters>> nscc_keys() { return kNscc; }
std::span<const Key<TcpSpec>> tcp_keys() { return kTcp; }

}  // namespace nerve::sim::scenario_file
