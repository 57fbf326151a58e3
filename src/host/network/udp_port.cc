#include "host/network/udp_port.h"

#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "host/network/passed_sockets.h"
#include "host/network/port_users.h"
#include "host/peers/ask_all.h"
#include "host/peers/membership.h"
#include "link/udp/receive_filter.h"

namespace nerve::host {
namespace {

using link::PortGroup;

// Adopts the sockets from the first process that has them; nothing if none has, or none answers.
std::optional<PortGroup> ask_for_sockets(std::uint32_t own_slot, std::uint16_t port) {
  std::optional<PortGroup> found;
  const auto take = [&](Message& answer) {
    if (answer.descriptors.empty()) return false;
    std::vector<int> fds;
    for (link::Descriptor& descriptor : answer.descriptors) fds.push_back(descriptor.release());
    auto group = PortGroup::adopt(fds, port);
    if (group && group->has_management()) found = *std::move(group);
    return found.has_value();
  };
  constexpr std::chrono::milliseconds kPatience{300};  // for other processes to answer
  (void)ask_all(own_slot, RequestKind::kPort, kPatience, take);
  return found;
}

link::ReceiveWishes wishes_of(const Config& config) {
  return {.buffer = static_cast<int>(config.socket_buffer),
          .coalescing = config.offloads == Offloads::kOn};
}

// The live processes that read socket `index` of the group, `own_slot` among them. If they cannot
// be listed, all that would read it.
std::vector<std::uint32_t> readers_of(std::uint32_t index, std::uint32_t own_slot) {
  std::vector<std::uint32_t> readers{own_slot};
  if (!all_slots_are_visible()) {
    for (std::uint32_t slot = index; slot < kSlots; slot += kSocketGroup) readers.push_back(slot);
    return readers;
  }
  for (const std::uint32_t slot : live_slots()) {
    if (slot % kSocketGroup == index && slot != own_slot) readers.push_back(slot);
  }
  return readers;
}

// A process that joins at the same time may have read the list before we were in it, and set its
// filter after us; it looks again, as we do.
void filter_own_socket(const PortGroup& group, std::uint32_t slot) {
  const std::uint32_t own = group.index_of(Qpn{slot << kSlotShift});
  const auto multicast = own == 0 ? link::MulticastQpn::kTake : link::MulticastQpn::kDrop;
  std::vector<std::uint32_t> before;
  for (auto readers = readers_of(own, slot); readers != before; readers = readers_of(own, slot)) {
    (void)link::take_only(group.socket(own), readers, multicast);
    before = std::move(readers);
  }
}

// No process reads the others yet. Each sets the filter of its own when it gets them.
void filter_new_group(const PortGroup& group) {
  for (std::uint32_t i = 0; i < group.size(); ++i) {
    (void)link::take_only(group.socket(i), {}, link::MulticastQpn::kDrop);
  }
}

Result<PortGroup, std::string> acquire(const Config& config, std::uint32_t slot) {
  constexpr int kRounds = 25;
  constexpr std::chrono::milliseconds kPause{20};
  if (const std::vector<int> passed = passed_sockets(config.port); !passed.empty()) {
    auto group = PortGroup::form(passed, config.port, wishes_of(config));
    if (!group) return Unexpected{group.error().text};
    if (group->size() == kSocketGroup && group->has_management()) {
      filter_new_group(*group);
      return *std::move(group);
    }
    return Unexpected{"udp port " + std::to_string(config.port) + ": " +
                      std::to_string(passed.size()) + " sockets were passed to this process; " +
                      std::to_string(kSocketGroup + 1) + " are needed (docs/install.md)"};
  }
  std::string why;
  for (int round = 0; round < kRounds; ++round) {
    auto group = PortGroup::create({.port = config.port,
                                    .sockets = kSocketGroup,
                                    .management = true,
                                    .wishes = wishes_of(config)});
    if (group) {
      filter_new_group(*group);
      return *std::move(group);
    }
    why = group.error().text;
    if (group.error().code != EADDRINUSE) break;
    if (auto adopted = ask_for_sockets(slot, config.port)) return std::move(*adopted);
    // The owner of the port may have just died, or may not be listening yet.
    std::this_thread::sleep_for(kPause);
    if (round == kRounds - 1) {
      if (const std::string who = who_has(config.port); !who.empty()) why += "; it is " + who;
    }
  }
  return Unexpected{std::move(why)};
}

std::optional<SocketRoom::Level> level_of(const link::UdpSocket& socket) {
  const auto fill = socket.receive_fill();
  if (!fill) return std::nullopt;
  return SocketRoom::Level{.used = fill->used, .size = fill->size};
}

}  // namespace

UdpPort::UdpPort(PortGroup group, link::ReceiveWishes wishes, std::uint32_t slot,
                 std::unique_ptr<link::UdpSender> sender)
    : group_{std::move(group)},
      wishes_{wishes},
      receiver_{group_, group_.index_of(Qpn{slot << kSlotShift})},
      room_{group_.size(),
            [this](std::uint32_t socket) { return level_of(group_.socket(socket)); }},
      sender_{std::move(sender)} {}

link::UdpReceiver& UdpPort::read_management(link::UdpReceiver::Unread unread) {
  if (!management_) management_.emplace(group_, group_.index_of(Qpn{1}), unread);
  return *management_;
}

link::UdpReceiver* UdpPort::read_multicast() {
  if (multicast_) return &*multicast_;
  auto made = group_.make_multicast_socket(wishes_);
  if (!made) {
    errno = made.error().code;
    return nullptr;
  }
  multicast_socket_ = *std::move(made);
  return &multicast_.emplace(multicast_socket_, group_.port());
}

Result<std::unique_ptr<UdpPort>, std::string> UdpPort::open(const Config& config,
                                                            std::uint32_t slot) {
  auto group = acquire(config, slot);
  if (!group) return Unexpected{group.error()};
  // The process that created the sockets may have had other settings.
  const std::uint32_t own = group->index_of(Qpn{slot << kSlotShift});
  link::set_receive_wishes(group->socket(own), wishes_of(config));
  filter_own_socket(*group, slot);
  auto sender = link::UdpSender::open({.port = config.port,
                                       .family = group->family(),
                                       .segmentation = config.offloads == Offloads::kOn,
                                       .buffer = static_cast<int>(config.socket_buffer)});
  if (!sender) return Unexpected{sender.error().text};
  return std::unique_ptr<UdpPort>{
      new UdpPort{*std::move(group), wishes_of(config), slot, *std::move(sender)}};
}

}  // namespace nerve::host
