// What the cables alone allow: how long bytes take on an empty network, and what the busiest NIC
// or interconnect needs for all that it carries. The bound that stands beside each result.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/job_context.h"

namespace nerve::sim {

class Lines {
 public:
  explicit Lines(const JobContext& context);

  // A message, alone, from its first byte out to its last byte in.
  [[nodiscard]] Duration alone(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) const;
  [[nodiscard]] Duration alone_to_storage(std::uint32_t from, std::uint32_t server,
                                          std::uint64_t bytes) const;
  // What one rank may send by its NICs when all GPUs of its server do.
  [[nodiscard]] Rate rate_of_rank() const;

  // Adds to what the NICs and interconnects carry.
  void add(std::uint32_t from, std::uint32_t to, std::uint64_t bytes);
  void add_to_storage(std::uint32_t from, std::uint32_t server, std::uint64_t bytes);
  // Until the busiest is through with it.
  [[nodiscard]] Duration busiest() const;
  void clear();

 private:
  struct Load {
    std::uint64_t out{};
    std::uint64_t in{};
  };
  [[nodiscard]] bool together(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] Duration delay(PlaceId from, PlaceId to) const;
  [[nodiscard]] Duration on_cable(Rate rate, std::uint64_t bytes) const;
  [[nodiscard]] Rate storage_rate() const;

  const JobContext& context_;
  std::vector<std::uint32_t> nic_of_;  // of each rank: GPUs that share a NIC have the same number
  Rate nic_rate_;                      // of what has one such number
  std::vector<Load> nics_;
  std::vector<Load> gpus_;  // interconnects
  std::vector<Load> storage_;
};

}  // namespace nerve::sim
