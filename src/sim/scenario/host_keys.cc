#include "sim/scenario/keys.h"
#include "sim/scenario/words.h"

namespace nerve::sim::scenario_file {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kMtus[] = {256, 512, 1024, 2048, 4096};

// A number in the file, for so MTUs are written everywhere.
void read_mtu(Value& v, NicSpec& n) {
  std::uint32_t bytes = nic::bytes(n.mtu);
  v.count_among(bytes, kMtus);
  n.mtu = static_cast<nic::Mtu>(bytes);
}

// clang-format off
constexpr Key<ServerSpec> kServers[] = {
    {"count", "servers",
     [](Value& v, ServerSpec& s) { v.count(s.count, 1, 65'536); }, kNeeded},
    {"gpus", "GPUs in each",
     [](Value& v, ServerSpec& s) { v.count(s.gpus, 1, 256); }},
    {"nics", "NICs in each, in the back-end network; GPUs share them evenly",
     [](Value& v, ServerSpec& s) { v.count(s.nics, 1, 256); }, "as gpus"},
    {"interconnect", "NVLink or the like: of each GPU, each way",
     [](Value& v, ServerSpec& s) { v.rate(s.interconnect); }},
    {"interconnect_delay", "from one GPU to another of the server",
     [](Value& v, ServerSpec& s) { v.time(s.interconnect_delay, Duration{}, milliseconds{10}); }},
    {"pcie", "between a NIC and memory, each way; 0 is without limit",
     [](Value& v, ServerSpec& s) { v.rate_or_zero(s.pcie); }},
};

constexpr Key<StorageSpec> kStorage[] = {
    {"servers", "servers without GPUs that checkpoints are written to",
     [](Value& v, StorageSpec& s) { v.count(s.servers, 1, 65'536); }, kNeeded},
    {"rate", "of the disks of each; 0 is as fast as its NIC",
     [](Value& v, StorageSpec& s) { v.rate_or_zero(s.rate); }},
    {"network", "where they are",
     [](Value& v, StorageSpec& s) { v.word(s.on_front_end, kNetworks); },
     "front-end when there is one"},
};

constexpr Key<NicSpec> kNic[] = {
    {"transport", "the engine's RDMA, or a kernel's TCP instead",
     [](Value& v, NicSpec& n) { v.word(n.transport, kTransports); }, "rdma; in [front_end.nic] tcp"},
    {"congestion", "congestion control of RDMA; of TCP see [tcp]",
     [](Value& v, NicSpec& n) { v.word(n.flow_control.algorithm, kCongestion); },
     "dcqcn on ethernet, none on infiniband"},
    {"recovery", "what is sent again after a loss: all since, or what is missing (IRN)",
     [](Value& v, NicSpec& n) { v.word(n.recovery, kRecoveries); }},
    {"mtu", "payload of a packet, in bytes", read_mtu},
    {"qps_per_pair", "QPs between two GPUs, over which each message is spread",
     [](Value& v, NicSpec& n) { v.count(n.qps_per_pair, 1, 64); }},
    {"hash_by_qp", "each QP has a UDP source port of its own, which switches hash by",
     [](Value& v, NicSpec& n) { v.on_off(n.hash_by_qp); }},
    {"timeout", "of a QP that hears nothing, before it sends again",
     [](Value& v, NicSpec& n) { v.time(n.timeout, microseconds{4}, seconds{10}); }, "by the network"},
    {"relay_across_rails", "to a GPU of another rail by the interconnect first (PXN)",
     [](Value& v, NicSpec& n) { v.on_off(n.relay_across_rails); }, "true with rail-only"},
    {"check_payload", "packets carry real bytes, each looked at where it arrives: slow",
     [](Value& v, NicSpec& n) { v.on_off(n.check_payload); }},
    {"ack_every", "packets for which one ACK is asked, besides the last of a message",
     [](Value& v, NicSpec& n) { v.count(n.flow_control.ack_every, 1, 4096); },
     "32; 1 with timely, swift and hpcc"},
    {"cnp_interval", "a receiver tells a sender of marks at most once in it; \"0 s\" never",
     [](Value& v, NicSpec& n) { v.time(n.flow_control.cnp_interval, Duration{}, seconds{1}); }},
    {"cnp_delay", "that a CNP is longer on its way than other packets, as in switches that treat it slowly",
     [](Value& v, NicSpec& n) { v.time(n.cnp_delay, Duration{}, milliseconds{10}); }},
};

constexpr Key<nic::DcqcnParameters> kDcqcn[] = {
    {"g_inverse", "1/g: how slowly alpha follows the marks",
     [](Value& v, nic::DcqcnParameters& p) { v.count(p.g_inverse, 1, 65'536); }},
    {"alpha_timer", "alpha decays once in it",
     [](Value& v, nic::DcqcnParameters& p) { v.time(p.alpha_timer, Duration{100'000}, seconds{1}); }},
    {"increase_timer", "a stage of growth by time",
     [](Value& v, nic::DcqcnParameters& p) { v.time(p.increase_timer, Duration{100'000}, seconds{1}); }},
    {"decrease_interval", "at most one cut in it",
     [](Value& v, nic::DcqcnParameters& p) { v.time(p.decrease_interval, Duration{}, seconds{1}); }},
    {"byte_counter", "a stage of growth by bytes sent; \"0 B\" is by time alone",
     [](Value& v, nic::DcqcnParameters& p) { v.bytes(p.byte_counter, 0); }},
    {"fast_recovery_stages", "F: stages before the target grows",
     [](Value& v, nic::DcqcnParameters& p) { v.count(p.fast_recovery_stages, 0, 1000); }},
    {"additive_increase", "R_AI",
     [](Value& v, nic::DcqcnParameters& p) { v.rate(p.additive_increase); }},
    {"hyper_increase", "R_HAI",
     [](Value& v, nic::DcqcnParameters& p) { v.rate(p.hyper_increase); }},
    {"minimum_rate", "no cut goes below it",
     [](Value& v, nic::DcqcnParameters& p) { v.rate(p.minimum_rate); }},
    {"clamp_target", "each cut makes the rate before it the one to grow back to",
     [](Value& v, nic::DcqcnParameters& p) { v.on_off(p.clamp_target); }},
    {"alpha_by_timer", "alpha grows once in alpha_timer, and not with each CNP that cuts",
     [](Value& v, nic::DcqcnParameters& p) { v.on_off(p.alpha_by_timer); }},
    {"cut_by_timer", "cuts wait for the end of a decrease_interval, counted from the first CNP",
     [](Value& v, nic::DcqcnParameters& p) { v.on_off(p.cut_by_timer); }},
};

constexpr Key<nic::TimelyParameters> kTimely[] = {
    {"newest_weight", "of the newest difference, in the smoothed one",
     [](Value& v, nic::TimelyParameters& p) { v.parts(p.newest_weight, 1000, 0.001, 1); }},
    {"beta", "how deep a cut is",
     [](Value& v, nic::TimelyParameters& p) { v.parts(p.beta, 1000, 0.001, 1); }},
    {"low", "round trips below it let the rate grow",
     [](Value& v, nic::TimelyParameters& p) { v.time(p.low, Duration{1000}, seconds{1}); }},
    {"high", "round trips above it cut the rate",
     [](Value& v, nic::TimelyParameters& p) { v.time(p.high, Duration{1000}, seconds{1}); }},
    {"minimum_round_trip", "differences are told as parts of it",
     [](Value& v, nic::TimelyParameters& p) { v.time(p.minimum_round_trip, Duration{1000}, seconds{1}); }},
    {"step", "of growth",
     [](Value& v, nic::TimelyParameters& p) { v.rate(p.step); }},
    {"hyper_after", "good samples in a row, after which several steps are taken at once",
     [](Value& v, nic::TimelyParameters& p) { v.count(p.hyper_after, 1, 1000); }},
    {"hyper_steps", "so many",
     [](Value& v, nic::TimelyParameters& p) { v.count(p.hyper_steps, 1, 1000); }},
    {"low_is_good", "round trips below `low` count as good samples too",
     [](Value& v, nic::TimelyParameters& p) { v.on_off(p.low_is_good); }},
    {"steepest", "larger gradients count as this one",
     [](Value& v, nic::TimelyParameters& p) { v.parts(p.steepest, 1000, 0.001, 1000); }},
    {"samples", "round trips measured at a time; with 1 the rate changes once in a round trip",
     [](Value& v, nic::TimelyParameters& p) { v.count(p.samples, 1, 8); }},
    {"minimum_rate", "no cut goes below it",
     [](Value& v, nic::TimelyParameters& p) { v.rate(p.minimum_rate); }},
};

constexpr Key<nic::SwiftParameters> kSwift[] = {
    {"base_target", "the delay that is aimed at",
     [](Value& v, nic::SwiftParameters& p) { v.time(p.base_target, Duration{1000}, seconds{1}); }},
    {"increase", "packets for each round trip",
     [](Value& v, nic::SwiftParameters& p) { v.parts(p.increase, 1000, 0.001, 1000); }},
    {"beta", "how deep a cut is, for the delay's excess",
     [](Value& v, nic::SwiftParameters& p) { v.parts(p.beta, 1000, 0.001, 1); }},
    {"most_cut", "the deepest cut of one round trip",
     [](Value& v, nic::SwiftParameters& p) { v.parts(p.most_cut, 1000, 0.001, 1); }},
    {"scaling_range", "added to the target of the smallest window",
     [](Value& v, nic::SwiftParameters& p) { v.time(p.scaling_range, Duration{}, seconds{1}); }},
    {"smallest_scaled", "packets: a window this small has all of the range",
     [](Value& v, nic::SwiftParameters& p) { v.parts(p.smallest_scaled, 1000, 0.001, 1'000'000); }},
    {"largest_scaled", "packets: a window this large has none of it",
     [](Value& v, nic::SwiftParameters& p) { v.parts(p.largest_scaled, 1000, 0.001, 1'000'000); }},
    {"smallest", "packets: what a window may be",
     [](Value& v, nic::SwiftParameters& p) { v.parts(p.smallest, 1000, 0.001, 1'000'000); }},
    {"largest", "packets: what a window may be",
     [](Value& v, nic::SwiftParameters& p) { v.parts(p.largest, 1000, 0.001, 1'000'000); }},
};

constexpr Key<nic::HpccParameters> kHpcc[] = {
    {"eta", "how far links are to be used",
     [](Value& v, nic::HpccParameters& p) { v.parts(p.eta, 1000, 0.1, 1); }},
    {"most_stages", "additive steps before a multiplicative one",
     [](Value& v, nic::HpccParameters& p) { v.count(p.most_stages, 0, 1000); }},
    {"base_round_trip", "of an empty network",
     [](Value& v, nic::HpccParameters& p) { v.time(p.base_round_trip, Duration{1000}, seconds{1}); }},
    {"flows", "N: that the additive step is meant for",
     [](Value& v, nic::HpccParameters& p) { v.count(p.flows, 1, 1'000'000); }},
    {"minimum_rate", "no cut goes below it",
     [](Value& v, nic::HpccParameters& p) { v.rate(p.minimum_rate); }},
};

constexpr Key<TcpSpec> kTcp[] = {
    {"algorithm", "congestion control of TCP",
     [](Value& v, TcpSpec& t) { v.word(t.algorithm, kTcpAlgorithms); }},
    {"mtu", "of a packet, with its IP and TCP headers, in bytes",
     [](Value& v, TcpSpec& t) { v.count(t.mtu, 576, 9216); }},
    {"copy", "of one core, from kernel to user: what the NIC has written",
     [](Value& v, TcpSpec& t) { v.rate(t.copy); }},
    {"copy_out", "of one core, from user to kernel: what is in the cache already",
     [](Value& v, TcpSpec& t) { v.rate(t.copy_out); }},
    {"per_packet", "of a core: to send one, with segmentation offload; to take an ACK",
     [](Value& v, TcpSpec& t) { v.time(t.per_packet, Duration{}, milliseconds{1}); }},
    {"per_packet_received", "of a core: to take one, with receive offload",
     [](Value& v, TcpSpec& t) { v.time(t.per_packet_received, Duration{}, milliseconds{1}); }},
    {"per_message", "of a core: system call, wake-up",
     [](Value& v, TcpSpec& t) { v.time(t.per_message, Duration{}, milliseconds{10}); }},
    {"latency", "from the interrupt to the application",
     [](Value& v, TcpSpec& t) { v.time(t.latency, Duration{}, milliseconds{10}); }},
    {"cores", "that serve a NIC; a connection uses one of them",
     [](Value& v, TcpSpec& t) { v.count(t.cores, 1, 1024); }},
    {"minimum_timeout", "before a packet is sent again",
     [](Value& v, TcpSpec& t) { v.time(t.minimum_timeout, microseconds{10}, seconds{10}); }},
    {"first_window", "packets of a new connection that need no ACK",
     [](Value& v, TcpSpec& t) { v.count(t.first_window, 1, 10'000); }},
    {"receive_buffer", "of a connection",
     [](Value& v, TcpSpec& t) { v.bytes(t.receive_buffer, 16'384, std::uint64_t{1} << 32U); }},
    {"ring", "packets that wait for one core; more are dropped",
     [](Value& v, TcpSpec& t) { v.count(t.ring, 8, 1U << 20U); }},
};
// clang-format on

}  // namespace

std::span<const Key<ServerSpec>> server_keys() { return kServers; }
std::span<const Key<StorageSpec>> storage_keys() { return kStorage; }
std::span<const Key<NicSpec>> nic_keys() { return kNic; }
std::span<const Key<nic::DcqcnParameters>> dcqcn_keys() { return kDcqcn; }
std::span<const Key<nic::TimelyParameters>> timely_keys() { return kTimely; }
std::span<const Key<nic::SwiftParameters>> swift_keys() { return kSwift; }
std::span<const Key<nic::HpccParameters>> hpcc_keys() { return kHpcc; }
std::span<const Key<TcpSpec>> tcp_keys() { return kTcp; }

}  // namespace nerve::sim::scenario_file
