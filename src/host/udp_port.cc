#include "host/udp_port.h"

#include <cerrno>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "host/greeting.h"
#include "host/membership.h"
#include "host/unix_socket.h"

namespace nerve::host {
namespace {

using link::PortGroup;

constexpr std::chrono::milliseconds kPatience{300};  // with one process
constexpr int kRounds = 25;
constexpr std::chrono::milliseconds kPause{20};

// Asks the process in a slot for the sockets of the port. Nothing if it has none or does not
// answer.
std::optional<PortGroup> ask(std::uint32_t slot, std::uint32_t own_slot, std::uint16_t port) {
  const link::Descriptor connection = call(name_of_slot(slot));
  if (!connection || !own_peer(connection.get())) return std::nullopt;
  const auto request = Request{.kind = RequestKind::kPort, .slot = own_slot}.encode();
  if (!send_message(connection.get(), request, {})) return std::nullopt;
  auto answer = receive_message(connection.get(), kPatience);
  if (!answer || answer->descriptors.empty()) return std::nullopt;
  std::vector<int> fds;
  for (link::Descriptor& descriptor : answer->descriptors) fds.push_back(descriptor.release());
  auto group = PortGroup::adopt(fds, port);
  if (!group) return std::nullopt;
  return *std::move(group);
}

Result<PortGroup, std::string> acquire(const Config& config, std::uint32_t slot) {
  std::string why;
  for (int round = 0; round < kRounds; ++round) {
    auto group = PortGroup::create({.port = config.port, .sockets = kSocketGroup});
    if (group) return *std::move(group);
    why = group.error().text;
    if (group.error().code != EADDRINUSE) break;
    for (const std::uint32_t other : live_slots()) {
      if (other == slot) continue;
      if (auto adopted = ask(other, slot, config.port)) return std::move(*adopted);
    }
    // Whoever has the port may have died just now, or not yet be listening.
    std::this_thread::sleep_for(kPause);
  }
  return Unexpected{std::move(why)};
}

}  // namespace

UdpPort::UdpPort(PortGroup group, std::uint32_t slot, std::unique_ptr<link::UdpSender> sender)
    : group_{std::move(group)},
      receiver_{group_, group_.index_of(Qpn{slot << kSlotShift})},
      sender_{std::move(sender)} {}

Result<std::unique_ptr<UdpPort>, std::string> UdpPort::open(const Config& config,
                                                            std::uint32_t slot) {
  auto group = acquire(config, slot);
  if (!group) return Unexpected{group.error()};
  auto sender = link::UdpSender::open({.port = config.port,
                                       .family = group->family(),
                                       .segmentation = config.offloads == Offloads::kOn});
  if (!sender) return Unexpected{sender.error().text};
  return std::unique_ptr<UdpPort>{new UdpPort{*std::move(group), slot, *std::move(sender)}};
}

}  // namespace nerve::host
