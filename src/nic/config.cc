#include "nic/config.h"

#include <algorithm>

namespace nerve::nic {
namespace {

NicConfig clamped(NicConfig config) {
  constexpr std::uint32_t kQpns = 0xff'ffff;  // the last number stands for multicast
  config.scheduling_quantum = std::max(config.scheduling_quantum, 1U);
  config.max_outstanding_packets = std::max(config.max_outstanding_packets, 1U);
  config.max_read_packets = std::max(config.max_read_packets, 1U);
  if (SelectiveRepeatConfig& repeat = config.selective_repeat; repeat.on) {
    constexpr Duration kShortest = std::chrono::microseconds{1};
    repeat.timeout_of_few = std::max(repeat.timeout_of_few, kShortest);
    repeat.timeout = std::max(repeat.timeout, repeat.timeout_of_few);
    repeat.reorder_window = std::min(repeat.reorder_window, 1U << 16U);
    repeat.reorder_timeout = std::max(repeat.reorder_timeout, Duration{});
  }
  // Peers take packets further ahead for forged ones.
  config.max_outstanding_packets = std::min(config.max_outstanding_packets, kWidestWindow);
  config.flow_control.ack_every = std::max(config.flow_control.ack_every, 1U);
  config.limits.max_sge = std::clamp(config.limits.max_sge, 1U, 255U);
  config.limits.max_read_depth = std::min(config.limits.max_read_depth, 255U);
  config.limits.max_message = std::min(config.limits.max_message, 1U << 31);
  config.first_qpn = Qpn{std::max(config.first_qpn.value(), 2U)};  // 0 and 1 are the management QPs
  config.limits.max_qp = std::min(config.limits.max_qp, kQpns - config.first_qpn.value());
  if (config.pkeys.empty()) config.pkeys = {0xffff};
  config.first_comm_id = std::min(config.first_comm_id, ~0U << kCommIdBits);
  config.limits.max_connections = std::min(config.limits.max_connections, 1U << 20U);
  return config;
}

}  // namespace

SharedConfig::SharedConfig(const NicConfig& config)
    : valid_{std::make_shared<const NicConfig>(clamped(config))} {}

}  // namespace nerve::nic
