// Lower bounds from line rates alone: how long a message takes in an empty network, and how long
// the busiest NIC or interconnect needs for its load. Each result is shown next to its bound.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/workload/job_context.h"

namespace nerve::sim {

class Lines {
 public:
  explicit Lines(const JobContext& context);

  // From the first byte sent to the last byte received, with no other traffic.
  [[nodiscard]] Duration alone(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) const;
  [[nodiscard]] Duration alone_to_storage(std::uint32_t from, std::uint32_t server,
                                          std::uint64_t bytes) const;
  // The NIC rate of one rank when all GPUs of its server send; the mean if NICs differ.
  [[nodiscard]] Rate rate_of_rank() const;

  // Adds to the load of NICs and interconnects.
  void add(std::uint32_t from, std::uint32_t to, std::uint64_t bytes);
  void add_to_storage(std::uint32_t from, std::uint32_t server, std::uint64_t bytes);
  // The time that the busiest one needs.
  [[nodiscard]] Duration busiest() const;
  // The same without interconnects.
  [[nodiscard]] Duration busiest_nic() const;
  void clear();

 private:
  struct Load {
    std::uint64_t out{};
    std::uint64_t in{};
    [[nodiscard]] std::uint64_t more() const { return out > in ? out : in; }
  };
  [[nodiscard]] bool together(std::uint32_t a, std::uint32_t b) const;
  [[nodiscard]] Duration delay(PlaceId from, PlaceId to) const;
  [[nodiscard]] Duration on_cable(Rate rate, std::uint64_t bytes) const;
  [[nodiscard]] Rate rate_at(PlaceId place) const {
    return context_.rate_of ? context_.rate_of(place) : context_.nic_rate;
  }
  [[nodiscard]] Rate storage_rate(std::size_t server) const;

  const JobContext& context_;
  std::vector<std::uint32_t> nic_of_;  // per rank; GPUs that share a NIC have the same number
  std::vector<Rate> nic_rates_;        // per such number
  std::vector<Load> nics_;             // per such number
  std::vector<Load> gpus_;             // interconnects
  std::vector<Load> storage_;
};

}  // namespace nerve::sim
