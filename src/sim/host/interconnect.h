// The interconnect of the GPUs of a server (NVLink and its switch). Each GPU has an egress and an
// ingress link of the same rate; the switch itself is never a bottleneck.
//
// A transfer is sent in slices, so that several share a link fairly. A slice starts when the egress
// of its sender and the ingress of its receiver are both free; a sender skips receivers that are
// busy. There is one event per slice, none per packet: these links have their own flow control and
// are much faster than a NIC.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/rate.h"
#include "sim/host/messenger.h"
#include "sim/simulation.h"

namespace nerve::sim {

class Interconnect {
 public:
  // The size of the pieces in which NCCL forwards data.
  static constexpr std::uint64_t kSlice = 512U << 10U;

  // With a limit on the slices of a transfer, those of a large one are longer.
  Interconnect(Simulation& simulation, std::uint32_t servers, std::uint32_t gpus, Rate rate,
               std::uint32_t most_slices = 0)
      : simulation_{simulation},
        gpus_{gpus},
        rate_{rate},
        most_slices_{most_slices},
        ways_(std::size_t{servers} * gpus) {}

  // The length of the slices of a transfer; the last one may be shorter.
  [[nodiscard]] std::uint64_t slice_of(std::uint64_t bytes) const {
    if (most_slices_ == 0) return kSlice;
    return std::max(kSlice, (bytes + most_slices_ - 1) / most_slices_);
  }

  // Both GPUs are in one server. `name` is returned with every slice.
  void send(PlaceId from, PlaceId to, std::uint64_t bytes, std::uint32_t name);

  // For ClusterTask::kSlice. The slice has left; the caller adds the propagation delay.
  struct Slice {
    std::uint32_t name{};
    bool last{};
  };
  Slice slice_done(std::uint32_t transfer);

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  // total

 private:
  struct Transfer {
    std::uint32_t from{};
    std::uint32_t to{};
    std::uint64_t left{};
    std::uint64_t slice{};
    std::uint32_t name{};
  };
  struct Ways {
    std::deque<std::uint32_t> waiting;  // transfers, round-robin by slice
    bool sends{};
    bool receives{};
  };
  void start_next(std::uint32_t from);

  Simulation& simulation_;
  std::uint32_t gpus_;
  Rate rate_;
  std::uint32_t most_slices_;
  std::vector<Ways> ways_;  // per GPU
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> free_;
  std::uint64_t bytes_{};
};

}  // namespace nerve::sim
