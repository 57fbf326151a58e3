#include "host/config/settings.h"

#include <algorithm>

#include "host/config/setting_values.h"
#include "host/shard_choice.h"
#include "link/tap/fault_spec.h"

namespace nerve::host {
namespace {

template <class T>
struct Named {
  std::string_view name;
  T value;
};

template <class T, std::size_t N>
bool put_named(std::string_view text, const Named<T> (&names)[N], T& where) {
  const auto* const found = std::ranges::find(names, text, &Named<T>::name);
  if (found == std::end(names)) return false;
  where = found->value;
  return true;
}

template <class Value, class Where>
bool put(const std::optional<Value>& value, Where& where) {
  if (value) where = static_cast<Where>(*value);
  return value.has_value();
}

bool read_transport(std::string_view text, Config& config) {
  constexpr Named<Transport> kNames[] = {
      {"auto", Transport::kAuto}, {"shm", Transport::kShm}, {"udp", Transport::kUdp}};
  return put_named(text, kNames, config.transport);
}

bool read_devices(std::string_view text, Config& config) {
  return put(parse_devices(text), config.devices);
}

bool read_port(std::string_view text, Config& config) {
  return put(parse_count(text, 1, 0xffff), config.port);
}

bool read_mtu(std::string_view text, Config& config) {
  using Choice = std::optional<nic::Mtu>;
  constexpr Named<Choice> kNames[] = {{"auto", std::nullopt},    {"256", nic::Mtu::k256},
                                      {"512", nic::Mtu::k512},   {"1024", nic::Mtu::k1024},
                                      {"2048", nic::Mtu::k2048}, {"4096", nic::Mtu::k4096}};
  return put_named(text, kNames, config.mtu);
}

bool read_pcap(std::string_view text, Config& config) {
  config.pcap = text;
  return true;
}

bool read_pcap_direction(std::string_view text, Config& config) {
  constexpr Named<CaptureDirection> kNames[] = {{"sent", CaptureDirection::kSent},
                                                {"both", CaptureDirection::kBoth}};
  return put_named(text, kNames, config.pcap_direction);
}

bool read_pcap_snap(std::string_view text, Config& config) {
  return put(parse_count(text, 64, 0x4'0000), config.pcap_snap);
}

bool read_pcap_limit(std::string_view text, Config& config) {
  return put(parse_count(text, 0, ~std::uint64_t{0}), config.pcap_limit);
}

bool read_fault(std::string_view text, Config& config) {
  if (!link::parse_fault_spec(text)) return false;
  config.fault = text;
  return true;
}

std::string explain_fault(std::string_view text) {
  const auto spec = link::parse_fault_spec(text);
  return spec ? "" : spec.error();
}

bool read_trace_folder(std::string_view text, Config& config) {
  config.trace_folder = text;
  return true;
}

bool read_trace_messages(std::string_view text, Config& config) {
  return put(parse_count(text, 1, 1'000'000), config.trace_messages);
}

bool read_ring_size(std::string_view text, Config& config) {
  const auto size = parse_size(text, std::uint64_t{1} << 16, std::uint64_t{1} << 28);
  return size && (*size & (*size - 1)) == 0 && put(size, config.ring_size);
}

bool read_polling(std::string_view text, Config& config) {
  constexpr Named<PollWait> kNames[] = {
      {"auto", PollWait::kAuto}, {"spin", PollWait::kSpin}, {"sleep", PollWait::kSleep}};
  return put_named(text, kNames, config.polling);
}

bool read_shards(std::string_view text, Config& config) {
  config.shards.reset();
  if (text == "auto") return true;
  const auto count = parse_count(text, 1, kMaxShards);
  if (count) config.shards = static_cast<std::uint32_t>(*count);
  return count.has_value();
}

bool read_offloads(std::string_view text, Config& config) {
  return put(parse_switch(text), config.offloads);
}

bool read_congestion(std::string_view text, Config& config) {
  constexpr Named<nic::CcAlgorithm> kNames[] = {{"none", nic::CcAlgorithm::kNone},
                                                {"dcqcn", nic::CcAlgorithm::kDcqcn},
                                                {"learned", nic::CcAlgorithm::kLearned}};
  return put_named(text, kNames, config.congestion);
}

bool read_policy(std::string_view text, Config& config) {
  config.policy = text;
  return true;
}

bool read_socket_buffer(std::string_view text, Config& config) {
  return put(parse_size(text, std::uint64_t{1} << 16, std::uint64_t{1} << 30),
             config.socket_buffer);
}

bool read_offer(std::string_view text, Config& config) {
  constexpr Named<Offer> kNames[] = {{"auto", Offer::kAuto},
                                     {"preload", Offer::kPreload},
                                     {"namespace", Offer::kNamespace},
                                     {"off", Offer::kOff}};
  return put_named(text, kNames, config.offer);
}

bool read_controller(std::string_view text, Config& config) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  if (!parse_count(text.substr(colon + 1), 1, 0xffff)) return false;
  config.controller = text;
  return true;
}

bool read_controller_key(std::string_view text, Config& config) {
  config.controller_key = text;
  return true;
}

bool read_log(std::string_view text, Config& config) {
  constexpr Named<LogLevel> kNames[] = {{"error", LogLevel::kError},
                                        {"warn", LogLevel::kWarn},
                                        {"info", LogLevel::kInfo},
                                        {"debug", LogLevel::kDebug}};
  return put_named(text, kNames, config.log);
}

bool read_seal(std::string_view text, Config& config) {
  return put(parse_seal_mode(text), config.seal.mode);
}

bool read_seal_networks(std::string_view text, Config& config) {
  return put(parse_seal_networks(text), config.seal.networks);
}

bool read_seal_key(std::string_view text, Config& config) {
  config.seal_key = text;
  return true;
}

bool read_seal_key_log(std::string_view text, Config& config) {
  config.seal_key_log = text;
  return true;
}

bool read_seal_suites(std::string_view text, Config& config) {
  return put(parse_suites(text), config.seal_suites);
}

bool read_gpu_direct(std::string_view text, Config& config) {
  return put(parse_switch(text), config.gpu_direct);
}

bool read_gpu_copier(std::string_view text, Config& config) {
  return put(parse_switch(text), config.gpu_copier);
}

bool read_summary(std::string_view text, Config& config) {
  return put(parse_switch(text), config.summary);
}

// clang-format off
constexpr Setting kSettings[] = {
    {"transport", "NERVE_TRANSPORT", "--transport", "auto|shm|udp", "auto",
     "auto, shm or udp",
     "how packets travel: shared memory, UDP, or shared memory where the peer is on this machine",
     read_transport},
    {"devices", "NERVE_DEVICES", "--device", "NAME=IFACE", "every interface that is up",
     "NAME=INTERFACE, several with ',' between, no NAME twice",
     "which network interfaces are RDMA devices, and their names; eth0 alone is nerve0=eth0",
     read_devices},
    {"port", "NERVE_PORT", "--port", "PORT", "4791",
     "a UDP port from 1 to 65535",
     "the UDP port; the peer must use the same, and hardware knows 4791 only",
     read_port},
    {"mtu", "NERVE_MTU", "--mtu", "MTU", "auto",
     "auto, 256, 512, 1024, 2048 or 4096",
     "the path MTU that devices offer; auto is what the interface carries",
     read_mtu},
    {"pcap", "NERVE_PCAP", "--pcap", "FILE", "none",
     "a file name",
     "capture packets for Wireshark or nerve decode; %p in the name is the process's id",
     read_pcap},
    {"pcap_direction", "NERVE_PCAP_DIRECTION", "--pcap-direction", "sent|both", "sent",
     "sent or both",
     "sent: sent packets, and received ones if their sender does not capture; both: all packets",
     read_pcap_direction},
    {"pcap_snap", "NERVE_PCAP_SNAP", "--pcap-snap", "BYTES", "262144",
     "a number from 64 to 262144",
     "bytes to capture of each packet",
     read_pcap_snap},
    {"pcap_limit", "NERVE_PCAP_LIMIT", "--pcap-limit", "PACKETS", "0",
     "a number; 0 for none",
     "packets that each process captures before it stops; 0: all",
     read_pcap_limit},
    {"fault", "NERVE_FAULT", "--fault", "SPEC", "none",
     "faults as described in docs/taps.md",
     "faults to inject, as in 'loss=1%,reorder=0.1%,seed=7'",
     read_fault, explain_fault},
    {"trace_folder", "NERVE_TRACE_FOLDER", "--trace-folder", "DIR", "none",
     "the name of a folder that exists",
     "record the steps of messages in files there, for nerve trace --folder DIR",
     read_trace_folder},
    {"trace_messages", "NERVE_TRACE_MESSAGES", "--trace-messages", "N", "1000",
     "a number from 1 to 1000000",
     "messages that each QP records, in each direction",
     read_trace_messages},
    {"ring_size", "NERVE_RING_SIZE", "--ring-size", "SIZE", "512K",
     "a power of two from 64K to 256M",
     "size of the shared memory ring between two processes, in each direction",
     read_ring_size},
    {"polling", "NERVE_POLLING", "--polling", "auto|spin|sleep", "auto",
     "auto, spin or sleep",
     "whether an empty poll spins or sleeps up to 0.1 ms; auto sleeps when CPUs are contended",
     read_polling},
    {"shards", "NERVE_SHARDS", "--shards", "N", "auto",
     "auto, or a number from 1 to 16",
     "engines that run in parallel, at most one per CQ; auto is one for every two CPUs",
     read_shards},
    {"offloads", "NERVE_OFFLOADS", "--offloads", "on|off", "on",
     "on or off",
     "pass trains of packets to and from the kernel in one call (UDP_SEGMENT, UDP_GRO)",
     read_offloads},
    {"congestion", "NERVE_CONGESTION", "--congestion", "none|dcqcn|learned", "none",
     "none, dcqcn or learned",
     "congestion control algorithm",
     read_congestion},
    {"policy", "NERVE_POLICY", "--policy", "FILE", "the shipped one",
     "a file name",
     "the policy of learned congestion control, as nerve learn writes it",
     read_policy},
    {"seal", "NERVE_SEAL", "--seal", "off|prefer|require", "off",
     "off, prefer or require",
     "encrypt and authenticate the packets of RC and UC QPs to other hosts (docs/security.md)",
     read_seal},
    {"seal_networks", "NERVE_SEAL_NETWORKS", "--seal-networks", "NET=MODE", "none",
     "networks as in 10.0.0.0/8=require, several with ',' between",
     "the same for single networks; the longest that has the peer's address decides",
     read_seal_networks},
    {"seal_key", "NERVE_SEAL_KEY", "--seal-key", "FILE", "none",
     "a file name",
     "the file with keys for sealed QPs; `nerve key FILE` creates one",
     read_seal_key},
    {"seal_suites", "NERVE_SEAL_SUITES", "--seal-suites", "NAMES", "auto",
     "auto, or some of aes128-gcm, aes256-gcm, chacha20-poly1305, aes256-gmac with ',' between",
     "which ciphers may be used, the best one first; auto is AES where the CPU has it",
     read_seal_suites},
    {"seal_key_log", "NERVE_SEAL_KEY_LOG", "--seal-key-log", "FILE", "none",
     "a file name",
     "write the keys of sealed QPs there, for nerve decode --keys: who reads it reads their packets",
     read_seal_key_log},
    {"gpu_direct", "NERVE_GPU_DIRECT", "--gpu-direct", "", "off",
     "on or off",
     "let NCCL send from and to GPU memory (GPUDirect); docs/gpu-memory.md says when that is fast",
     read_gpu_direct},
    {"gpu_copier", "NERVE_GPU_COPIER", "--gpu-copier", "on|off", "on",
     "on or off",
     "copy GPU memory in a process of Nerve's, which cannot block in the program's CUDA calls",
     read_gpu_copier},
    {"socket_buffer", "NERVE_SOCKET_BUFFER", "--socket-buffer", "SIZE", "16M",
     "a size from 64K to 1G",
     "buffer size to request for each UDP socket, in each direction",
     read_socket_buffer},
    {"offer", "NERVE_OFFER", "--offer", "auto|preload|namespace|off", "auto",
     "auto, preload, namespace or off",
     "how nerve run shows /dev/infiniband and /sys/class/infiniband (docs/sysfs.md)",
     read_offer},
    {"controller", "NERVE_CONTROLLER", "--controller", "HOST:PORT", "none",
     "HOST:PORT",
     "let nerve controller there choose the paths of QPs between hosts (docs/controller.md)",
     read_controller},
    {"controller_key", "NERVE_CONTROLLER_KEY", "--controller-key", "FILE", "none",
     "a file name",
     "the key that the controller has as well; `nerve key FILE` creates one",
     read_controller_key},
    {"log", "NERVE_LOG", "--log", "LEVEL", "warn",
     "error, warn, info or debug",
     "how much the library logs to stderr",
     read_log},
    {"summary", "NERVE_SUMMARY", "--summary", "", "off",
     "on or off",
     "print one line to stderr when the program ends: bytes per transport, retransmissions",
     read_summary},
};
// clang-format on

constexpr std::string_view kOtherVariables[] = {
    "NERVE_CONFIG", "NERVE_SEED",     "NERVE_SEEDS", "NERVE_MOST_SEEDS", "NERVE_FAILURES",
    "NERVE_TRACE",  "NERVE_PROGRESS", "NERVE_JOBS",  "NERVE_NO_INSTALL", "NERVE_RUN"};

template <std::string_view Setting::*Member>
const Setting* find_by(std::string_view name) {
  const auto* const found = std::ranges::find(kSettings, name, Member);
  return found != std::end(kSettings) ? found : nullptr;
}

}  // namespace

std::span<const Setting> settings() { return kSettings; }
const Setting* find_setting(std::string_view key) { return find_by<&Setting::key>(key); }
const Setting* find_variable(std::string_view name) { return find_by<&Setting::variable>(name); }

std::string apply(const Setting& setting, std::string_view text, Config& config) {
  if (setting.read(text, config)) return {};
  std::string why = "'" + std::string{text} + "': ";
  if (setting.explain != nullptr) return why + setting.explain(text);
  return why + std::string{setting.key} + " takes " + std::string{setting.allowed};
}

bool is_other_variable(std::string_view variable) {
  return std::ranges::find(kOtherVariables, variable) != std::end(kOtherVariables);
}

}  // namespace nerve::host
