// The links between GPUs and NVSwitches in a topology file of SimAI, which together are the
// interconnect of the servers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/fabric/graph.h"

namespace nerve::sim {

class NvLinks {
 public:
  NvLinks() = default;
  NvLinks(std::uint32_t gpus_per_server, std::size_t gpus)
      : gpus_per_server_{gpus_per_server}, rates_(gpus) {}

  // Nodes of the file.
  void add_switch(std::uint32_t node) { server_of_[node] = kNoServer; }
  [[nodiscard]] bool has_switch(std::optional<std::uint32_t> node) const {
    return node && server_of_.contains(*node);
  }
  // Returns what is wrong with the link; empty if nothing is.
  [[nodiscard]] std::string add(std::uint32_t gpu, std::uint32_t nvswitch, Rate rate,
                                Duration delay);
  // The same for all links together: servers have one interconnect rate.
  [[nodiscard]] std::string objection() const;
  // A message takes two links, one to the NVSwitch and one from it.
  [[nodiscard]] ServersOfFile servers() const {
    return {.gpus = gpus_per_server_,
            .interconnect = Rate::bits_per_second(rates_.empty() ? 0 : rates_[0]),
            .interconnect_delay = 2 * delay_.value_or(Duration{})};
  }

 private:
  static constexpr std::uint32_t kNoServer = 0xffff'ffff;

  std::uint32_t gpus_per_server_{1};
  std::vector<std::uint64_t> rates_;                  // bits per second, per GPU
  std::map<std::uint32_t, std::uint32_t> server_of_;  // of an NVSwitch
  std::optional<Duration> delay_;
};

}  // namespace nerve::sim
