#include "host/diagnostics/connections.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "host/network/own_flows.h"
#include "host/runtime/clock.h"
#include "host/shard.h"
#include "wire/describe.h"

namespace nerve::host {
namespace {

// A report fits a message, and is made with locks held.
constexpr std::size_t kQpsListed = 64;
constexpr std::size_t kQpsLookedAt = 4096;

std::string_view path_to(const Shard& shard, const nic::QpGlance& qp) {
  if (qp.peer == Qpn{}) return "-";
  return goes_by_udp(shard, qp.destination, qp.peer) ? "udp" : "shm";
}

std::string_view type_text(nic::QpType type) {
  switch (type) {
    case nic::QpType::kRc:
      return "RC";
    case nic::QpType::kUc:
      return "UC";
    case nic::QpType::kUd:
      return "UD";
    case nic::QpType::kGsi:
      return "GSI";
    case nic::QpType::kXrcSend:
    case nic::QpType::kXrcRecv:
      return "XRC";
  }
  return "?";
}

std::string_view state_text(nic::QpState state) {
  constexpr std::string_view kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  const auto at = static_cast<std::size_t>(state);
  return at < std::size(kNames) ? kNames[at] : "?";
}

// "qp nerve0 4660 RC RTS 4661 10.0.0.1 shm 0": device, number, type, state, the peer's number and
// address, the path to it ("udp/aes128-gcm" if it is sealed), the rate in bits per second that
// congestion control allows (0: any).
std::string qp_line(const Shard& shard, std::string_view device, const nic::QpGlance& qp) {
  const bool connected = qp.peer != Qpn{};
  std::string text = "qp " + std::string{device};
  text += " " + std::to_string(qp.qpn.value());
  text.append(" ").append(type_text(qp.type)).append(" ").append(state_text(qp.state));
  text += " " + std::to_string(qp.peer.value());
  text += " " + (connected ? wire::to_string(qp.destination) : std::string{"-"});
  text.append(" ").append(path_to(shard, qp));
  if (const std::string seal = shard.seals.state_of(qp.qpn); !seal.empty()) text += "/" + seal;
  text += " " + std::to_string(qp.rate ? qp.rate->bits_per_second() : 0);
  return text + "\n";
}

}  // namespace

std::string connections_text(std::span<Shard* const> shards) {
  std::string text;
  std::size_t listed = 0;
  std::uint64_t qps = 0;
  std::set<std::pair<std::string, std::uint32_t>> peers;
  std::optional<std::uint64_t> slowest;
  for (Shard* shard : shards) {
    if (!try_long(shard->lock)) continue;
    for (const Adapter::State* adapter : shard->adapters) {
      qps += adapter->nic.qp_count();
      for (const nic::QpGlance& qp : adapter->nic.glance_at_qps(kQpsLookedAt, now())) {
        if (qp.peer != Qpn{}) peers.emplace(wire::to_string(qp.destination), slot_of(qp.peer));
        if (qp.rate) slowest = std::min(slowest.value_or(~0ULL), qp.rate->bits_per_second());
        if (listed++ < kQpsListed) text += qp_line(*shard, adapter->device.name, qp);
      }
    }
    shard->lock.unlock();
  }
  return "qps " + std::to_string(qps) + "\npeers " + std::to_string(peers.size()) +
         "\nlowest_rate " + std::to_string(slowest.value_or(0)) + "\n" + text;
}

}  // namespace nerve::host
