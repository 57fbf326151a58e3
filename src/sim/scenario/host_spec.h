// What a scenario says of servers, their NICs and what runs on them.
#pragma once

#include <cstdint>

#include "base/rate.h"
#include "base/time.h"
#include "nic/config.h"

namespace nerve::sim {

struct ServerSpec {
  std::uint32_t count{};
  std::uint32_t gpus{8};
  std::uint32_t nics{8};                     // in the back-end network; GPUs share them evenly
  Rate interconnect{Rate::gigabits(3'600)};  // of each GPU, each way: 450 GB/s
  Duration interconnect_delay{std::chrono::nanoseconds{700}};
  Rate pcie{Rate::gigabits(1024)};  // between a NIC and memory, each way; zero: no limit
};

// Servers without GPUs that checkpoints and data sets live on.
struct StorageSpec {
  std::uint32_t servers{};
  Rate rate{};  // of each one's disks; zero: as fast as its NIC
  bool on_front_end{};
};

enum class Transport : std::uint8_t { kRdma, kTcp };
enum class Recovery : std::uint8_t { kGoBackN, kSelectiveRepeat };

struct NicSpec {
  Transport transport{Transport::kRdma};
  Recovery recovery{Recovery::kGoBackN};
  nic::Mtu mtu{nic::Mtu::k4096};
  nic::FlowControlConfig flow_control{};
  std::uint32_t qps_per_pair{1};  // messages of two GPUs take turns on them
  bool hash_by_qp{true};          // switches see which QP a packet belongs to (its UDP source port)
  Duration cnp_delay{};           // that the network adds to a CNP's way
  Duration timeout{};             // of a QP that hears nothing; zero: by what the network promises
  bool relay_across_rails{};      // by the interconnect to the GPU of the receiver's rail (PXN)
  bool check_payload{};           // carry real bytes and look at each where it arrives
};

enum class TcpAlgorithm : std::uint8_t { kDctcp, kCubic };

// A kernel's TCP: the copies and the calls that RDMA does without. docs/fidelity.md says where each
// number comes from.
struct TcpSpec {
  TcpAlgorithm algorithm{TcpAlgorithm::kDctcp};
  std::uint32_t mtu{9000};
  Rate copy{Rate::gigabits(80)};       // of one core, from kernel to user: what the NIC has written
  Rate copy_out{Rate::gigabits(115)};  // from user to kernel: what is in the cache already
  Duration per_packet{std::chrono::nanoseconds{180}};  // sent, with segmentation offload; of an ACK
  Duration per_packet_received{std::chrono::nanoseconds{800}};  // with receive offload
  Duration per_message{std::chrono::microseconds{5}};           // system call, wake-up
  Duration latency{std::chrono::microseconds{8}};               // interrupt to application
  std::uint32_t cores{8};  // of a NIC; a connection uses one of them
  Duration minimum_timeout{std::chrono::milliseconds{5}};
  std::uint32_t first_window{10};           // packets
  std::uint64_t receive_buffer{6'291'456};  // of a connection
  std::uint32_t ring{1024};                 // packets that wait for one core; more are dropped
};

}  // namespace nerve::sim
