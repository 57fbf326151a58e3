#include "sim/topology/nv_links.h"

#include <algorithm>

#include "sim/scenario/units.h"

namespace nerve::sim {

std::string NvLinks::add(std::uint32_t gpu, std::uint32_t nvswitch, Rate rate, Duration delay) {
  constexpr std::uint64_t kMostOfGpu = 100'000'000'000'000;  // as for any rate
  std::uint32_t& server = server_of_[nvswitch];
  if (server == kNoServer) server = gpu / gpus_per_server_;
  if (server != gpu / gpus_per_server_) {
    return "NVSwitch " + std::to_string(nvswitch) + " connects GPU " + std::to_string(gpu) +
           " of server " + std::to_string(gpu / gpus_per_server_) + ", but it is in server " +
           std::to_string(server) + "; an interconnect ends at its server";
  }
  if (!delay_) delay_ = delay;
  if (*delay_ != delay) {
    return "a link to an NVSwitch with a delay of " + scenario_file::time_text(delay) +
           ", another has " + scenario_file::time_text(*delay_) +
           "; servers have one interconnect_delay";
  }
  rates_[gpu] = std::min(rates_[gpu] + rate.bits_per_second(), kMostOfGpu);
  return {};
}

std::string NvLinks::objection() const {
  if (rates_.empty()) return {};  // reported otherwise
  const auto other =
      std::ranges::find_if(rates_, [this](std::uint64_t rate) { return rate != rates_[0]; });
  if (other == rates_.end()) return {};
  const auto text = [](std::uint64_t rate) {
    return scenario_file::rate_text(Rate::bits_per_second(rate));
  };
  return "GPU 0 has links of " + text(rates_[0]) + " to NVSwitches, GPU " +
         std::to_string(other - rates_.begin()) + " of " + text(*other) +
         "; servers have one interconnect rate";
}

}  // namespace nerve::sim
