#include "host/udp_port.h"

#include <poll.h>

#include <cerrno>
#include <chrono>
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

constexpr std::chrono::milliseconds kPatience{300};  // with other processes
constexpr int kRounds = 25;
constexpr std::chrono::milliseconds kPause{20};

// Asks the process in a slot for the sockets of the port. An invalid descriptor if nobody is there.
link::Descriptor ask(std::uint32_t slot, std::uint32_t own_slot) {
  link::Descriptor connection = call(name_of_slot(slot));
  if (!connection || !own_peer(connection.get())) return {};
  const auto request = Request{.kind = RequestKind::kPort, .slot = own_slot}.encode();
  return send_message(connection.get(), request, {}) ? std::move(connection) : link::Descriptor{};
}

std::optional<PortGroup> read_answer(const link::Descriptor& connection, std::uint16_t port) {
  auto answer = receive_message(connection.get(), std::chrono::milliseconds{0});
  if (!answer || answer->descriptors.empty()) return std::nullopt;
  std::vector<int> fds;
  for (link::Descriptor& descriptor : answer->descriptors) fds.push_back(descriptor.release());
  auto group = PortGroup::adopt(fds, port);
  if (!group) return std::nullopt;
  return *std::move(group);
}

// Everybody at once, for who has the sockets is not known, and one that is stopped or busy must not
// hold up the rest. The first that has them is taken; nothing if all say no, or nobody answers.
std::optional<PortGroup> ask_all(std::uint32_t own_slot, std::uint16_t port) {
  std::vector<link::Descriptor> asked;
  std::vector<pollfd> waiting;
  for (const std::uint32_t slot : live_slots()) {
    if (slot == own_slot) continue;
    link::Descriptor connection = ask(slot, own_slot);
    if (!connection) continue;
    waiting.push_back({.fd = connection.get(), .events = POLLIN, .revents = 0});
    asked.push_back(std::move(connection));
  }
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (std::size_t open = asked.size(); open > 0;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0 ||
        ::poll(waiting.data(), waiting.size(), static_cast<int>(left.count())) <= 0) {
      break;
    }
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      if (auto group = read_answer(asked[i], port)) return group;
      waiting[i] = {.fd = -1, .events = 0, .revents = 0};
      --open;
    }
  }
  return std::nullopt;
}

link::ReceiveWishes wishes_of(const Config& config) {
  return {.buffer = static_cast<int>(config.socket_buffer),
          .coalescing = config.offloads == Offloads::kOn};
}

Result<PortGroup, std::string> acquire(const Config& config, std::uint32_t slot) {
  std::string why;
  for (int round = 0; round < kRounds; ++round) {
    auto group = PortGroup::create(
        {.port = config.port, .sockets = kSocketGroup, .wishes = wishes_of(config)});
    if (group) return *std::move(group);
    why = group.error().text;
    if (group.error().code != EADDRINUSE) break;
    if (auto adopted = ask_all(slot, config.port)) return std::move(*adopted);
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
  // Whoever made them may have been told otherwise.
  const std::uint32_t own = group->index_of(Qpn{slot << kSlotShift});
  link::set_receive_wishes(group->socket(own), wishes_of(config));
  auto sender = link::UdpSender::open({.port = config.port,
                                       .family = group->family(),
                                       .segmentation = config.offloads == Offloads::kOn,
                                       .buffer = static_cast<int>(config.socket_buffer)});
  if (!sender) return Unexpected{sender.error().text};
  return std::unique_ptr<UdpPort>{new UdpPort{*std::move(group), slot, *std::move(sender)}};
}

}  // namespace nerve::host
