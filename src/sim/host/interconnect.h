// What joins the GPUs of a server (NVLink and its switch): every GPU has a way out and a way in of
// the same rate, and nothing else is ever full.
//
// A transfer goes in slices, so that several share a way without waiting for each other's end. A
// slice starts when the way out of its sender and the way in of its receiver are both free; a
// sender passes over receivers that are not. One event for each slice, none for packets: these
// links have flow control of their own and are far faster than a NIC.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/rate.h"
#include "sim/core/clockwork.h"
#include "sim/host/messenger.h"

namespace nerve::sim {

class Interconnect {
 public:
  // NCCL hands data on in pieces of this size, too.
  static constexpr std::uint64_t kSlice = 512U << 10U;

  Interconnect(Clockwork& clockwork, std::uint32_t servers, std::uint32_t gpus, Rate rate)
      : clockwork_{clockwork}, gpus_{gpus}, rate_{rate}, ways_(std::size_t{servers} * gpus) {}

  // Both in one server. `name` comes back with every slice.
  void send(PlaceId from, PlaceId to, std::uint64_t bytes, std::uint32_t name);

  // ClusterTask::kSlice. The slice has left; it is there a delay later, which is the caller's.
  struct Slice {
    std::uint32_t name{};
    bool last{};
  };
  Slice slice_done(std::uint32_t transfer);

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }  // that have crossed, in all

 private:
  struct Transfer {
    std::uint32_t from{};
    std::uint32_t to{};
    std::uint64_t left{};
    std::uint32_t name{};
  };
  struct Ways {
    std::deque<std::uint32_t> waiting;  // transfers, those that have had a slice behind the others
    bool sends{};
    bool receives{};
  };
  void start_next(std::uint32_t from);

  Clockwork& clockwork_;
  std::uint32_t gpus_;
  Rate rate_;
  std::vector<Ways> ways_;  // of each GPU
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> free_;
  std::uint64_t bytes_{};
};

}  // namespace nerve::sim
