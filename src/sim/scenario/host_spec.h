// Servers, their NICs and storage in a scenario.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/rate.h"
#include "base/time.h"
#include "nic/config.h"
#include "nic/flow_control/policy.h"

namespace nerve::sim {

struct ServerSpec {
  std::uint32_t count{};
  std::uint32_t gpus{8};
  std::uint32_t nics{8};                     // in the back-end network; GPUs share them evenly
  Rate interconnect{Rate::gigabits(3'600)};  // per GPU and direction: 450 GB/s
  Duration interconnect_delay{std::chrono::nanoseconds{700}};
  // Where the scenario file sets these two, as in errors; empty: nowhere.
  std::string interconnect_at{};
  std::string interconnect_delay_at{};
  Rate pcie{Rate::gigabits(1024)};  // between a NIC and memory, per direction; zero: no limit
  std::uint32_t nics_per_pcie{1};   // NICs that share one PCIe link of this rate
  // From the decision of a program to send until its NIC begins: software, doorbell, PCIe.
  Duration post_delay{std::chrono::nanoseconds{600}};
};

// Servers without GPUs that hold checkpoints and data sets.
struct StorageSpec {
  std::uint32_t servers{};
  Rate rate{};  // of the disks of each server; zero: as fast as its NIC
  bool on_front_end{};
};

enum class Transport : std::uint8_t { kRdma, kTcp };
enum class Recovery : std::uint8_t { kGoBackN, kSelectiveRepeat };

// What the hardware of a NIC costs. docs/fidelity.md has the source of each number.
struct NicHardwareSpec {
  bool modelled{};
  Duration per_packet{std::chrono::nanoseconds{5}};  // in each direction
  Duration per_wqe{std::chrono::nanoseconds{5}};
  Duration dma_read{std::chrono::nanoseconds{800}};
  std::uint32_t cached_qps{5'000};     // zero: all
  std::uint32_t cached_pages{16'384};  // address translations; zero: all
  std::uint64_t page{std::uint64_t{2} << 20U};
  std::uint32_t fetches{16};  // DMA reads for its caches at once
  std::uint64_t receive_buffer{std::uint64_t{512} << 10U};
};
// A NIC that takes no time and whose caches hold everything.
inline constexpr NicHardwareSpec kFastestNic{
    .per_packet = {}, .per_wqe = {}, .dma_read = {}, .cached_qps = 0, .cached_pages = 0};

// A sender may send a chunk only when the receiver has sent it a clear-to-send message.
struct AdmissionSpec {
  std::uint64_t limit{};  // bytes that a receiver allows to be on their way to it; zero: no limit
  std::uint32_t chunk{512U << 10U};  // bytes allowed by one clear-to-send message
};

struct NicSpec {
  Transport transport{Transport::kRdma};
  Recovery recovery{Recovery::kGoBackN};
  nic::Mtu mtu{nic::Mtu::k4096};
  nic::FlowControlConfig flow_control{};
  std::string policy_file;                    // for "learned"; empty: the shipped policy
  std::shared_ptr<const nic::Policy> policy;  // instead of the file
  // Messages between two GPUs are spread over them. Zero: one, or with controlled paths as many as
  // fill a NIC.
  std::uint32_t qps_per_pair{};
  bool hash_by_qp{true};      // each QP has its own UDP source port, which ECMP hashes
  Duration cnp_delay{};       // extra delay of CNPs in the network
  Duration timeout{};         // retransmission timeout; zero: by the kind of network
  bool relay_across_rails{};  // via the interconnect to the GPU of the receiver's rail (PXN)
  bool check_payload{};       // carry real bytes and check them at the receiver
  NicHardwareSpec hardware{};
  AdmissionSpec admission{};
  // Parts of Ultra Ethernet.
  bool sprays{};                // each packet of a QP has an entropy value of its own
  std::uint32_t entropies{64};  // a power of two
  bool receiver_credits{};
  std::uint64_t unsolicited{};  // bytes; zero: a bandwidth-delay product and a half
};

enum class TcpAlgorithm : std::uint8_t { kDctcp, kCubic };

// The kernel's TCP, with the copies and system calls that RDMA avoids. docs/fidelity.md has the
// source of each number.
struct TcpSpec {
  TcpAlgorithm algorithm{TcpAlgorithm::kDctcp};
  std::uint32_t mtu{9000};
  Rate copy{Rate::gigabits(80)};       // of one core, from kernel to user memory (not cached)
  Rate copy_out{Rate::gigabits(115)};  // of one core, from user to kernel memory (cached)
  Duration per_packet{std::chrono::nanoseconds{180}};  // sent, with segmentation offload; an ACK
  Duration per_packet_received{std::chrono::nanoseconds{800}};  // with receive offload
  Duration per_message{std::chrono::microseconds{5}};           // system call, wake-up
  Duration latency{std::chrono::microseconds{8}};               // interrupt to application
  std::uint32_t cores{8};  // per NIC; a connection uses one of them
  Duration minimum_timeout{std::chrono::milliseconds{5}};
  std::uint32_t first_window{10};           // packets
  std::uint64_t receive_buffer{6'291'456};  // per connection
  std::uint32_t ring{1024};  // packets waiting for one core; further packets are dropped
};

}  // namespace nerve::sim
