#include "host/network/network.h"

#include <algorithm>
#include <cerrno>
#include <new>

#include "host/diagnostics/log.h"
#include "host/shard.h"

namespace nerve::host {

void Network::open() {
  const std::scoped_lock one_at_a_time{opening_};
  const Config& config = shard_.config;
  if (udp_ || !refused_.empty() || config.transport == Transport::kShm) return;
  auto port = UdpPort::open(config, shard_.slot);
  const std::scoped_lock guard{shard_.lock};
  if (!port) {
    refused_ = port.error();
    if (!shard_.is_primary()) return;  // it has said so
    const bool asked_for = config.transport == Transport::kUdp;
    log(asked_for ? LogLevel::kError : LogLevel::kWarn, "%s%s", refused_.c_str(),
        asked_for ? "" : "; peers on other hosts cannot be reached");
    return;
  }
  udp_ = *std::move(port);
  update_interfaces(list_interfaces());
  if (shard_.seals.active()) {
    udp_->sender().seal_with(shard_.seals);
    udp_->receiver().open_with(shard_.seals);
  }
  shard_.exchange.set_udp(udp_->sender(), udp_->receiver(), udp_->room());
  shard_.watcher.watch_socket(udp_->receiver().fd());
}

const char* Network::why_no_udp() const {
  return shard_.config.transport == Transport::kShm ? "the transport is set to shm"
                                                    : refused_.c_str();
}

void Network::update_interfaces(const std::vector<Interface>& interfaces) {
  if (!udp_) return;
  udp_->sender().forget_interfaces();
  for (const Interface& interface : interfaces) {
    for (const wire::Gid& gid : interface.addresses) {
      udp_->sender().set_interface(gid, interface.index);
    }
  }
}

std::vector<Network::JoinedGroup> Network::wanted_groups() const {
  std::vector<JoinedGroup> wanted;
  for (const Adapter::State* adapter : shard_.adapters) {
    if (adapter->interface_index == 0) continue;
    for (const wire::Gid& group : adapter->nic.multicast_groups()) {
      wanted.push_back({.group = group, .interface = adapter->interface_index});
    }
  }
  return wanted;
}

int Network::follow_groups() {
  const std::vector<JoinedGroup> wanted = wanted_groups();
  if (shard_.left_to_parent || wanted == groups_) return 0;
  if (!udp_) {
    log(LogLevel::kWarn, "multicast needs udp, which is not available: %s", why_no_udp());
    return EOPNOTSUPP;
  }
  const bool is_new = udp_->multicast() == nullptr;
  link::UdpReceiver* const receiver = udp_->read_multicast();
  if (receiver == nullptr) return errno;
  if (is_new) shard_.watcher.watch_aside(receiver->fd());
  std::erase_if(groups_, [&](const JoinedGroup& known) {
    if (std::ranges::find(wanted, known) != wanted.end()) return false;
    (void)receiver->leave(known.group, known.interface);
    return true;
  });
  int refused = 0;
  for (const JoinedGroup& group : wanted) {
    if (std::ranges::find(groups_, group) != groups_.end()) continue;
    const int error = receiver->join(group.group, group.interface);
    if (error == 0) {
      groups_.push_back(group);
    } else {
      refused = error;
    }
  }
  return refused;
}

PortSpace* Network::use_cm() {
  const std::scoped_lock one_at_a_time{opening_};
  if (ports_) return ports_.get();
  auto found = PortSpace::open(shard_.slot);
  if (!found) {
    const int why = errno;
    log(LogLevel::kError, "%s", found.error().c_str());
    errno = why;
    return nullptr;
  }
  const std::scoped_lock guard{shard_.lock};
  ports_ = std::move(found->ports);
  shard_.exchange.set_ports(*ports_);
  if (udp_) {
    using Unread = link::UdpReceiver::Unread;
    const auto unread = found->made ? Unread::kDiscard : Unread::kKeep;
    shard_.watcher.watch_aside(udp_->read_management(unread).fd());
  }
  return ports_.get();
}

void Network::leave() {
  new (&opening_) std::mutex;
  if (ports_) ports_->leave();
}

}  // namespace nerve::host
