#include "rdmacm/registry.h"

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace nerve::rdmacm {

Registry& Registry::current() {
  // In the child of a fork the parent's registry is abandoned: its locks may be held forever.
  static std::mutex making;
  static std::atomic<Registry*> made{};
  static std::atomic<std::uint32_t> made_in{};
  const std::uint32_t generation = host::generation();
  if (Registry* registry = made; registry != nullptr && made_in == generation) return *registry;
  const std::scoped_lock guard{making};
  if (made == nullptr || made_in != generation) {
    made = new Registry;
    made_in = generation;
  }
  return *made;
}

int Registry::open_channel() {
  auto channel = std::make_shared<Channel>();
  const int fd = channel->events.fd();
  if (fd < 0) return -1;
  const std::scoped_lock guard{lock};
  channels_[fd] = std::move(channel);
  return fd;
}

std::shared_ptr<Channel> Registry::channel(int fd) {
  const std::scoped_lock guard{lock};
  const auto it = channels_.find(fd);
  return it != channels_.end() ? it->second : nullptr;
}

bool Registry::close_channel(int fd) {
  std::vector<std::shared_ptr<Identifier>> left;
  std::shared_ptr<Channel> closed;
  {
    const std::scoped_lock guard{lock};
    const auto it = channels_.find(fd);
    if (it == channels_.end()) return false;
    closed = std::move(it->second);
    channels_.erase(it);
    for (const auto& [number, id] : ids.all()) {
      if (id->channel == closed.get()) left.push_back(id);
    }
  }
  for (const auto& id : left) (void)destroy(*this, id);
  return true;
}

Result<std::shared_ptr<Identifier>, int> Registry::find(const Channel& channel,
                                                        std::uint32_t number) {
  const std::scoped_lock guard{lock};
  auto id = ids.find(number);
  if (!id) return Unexpected{ENOENT};
  if (id->channel != &channel) return Unexpected{EINVAL};
  return id;
}

void Registry::listen_to(const std::shared_ptr<host::Adapter>& adapter) {
  const auto same = [&](const auto& receiver) { return receiver->adapter == adapter; };
  if (std::ranges::any_of(receivers_, same)) return;
  receivers_.push_back(std::make_unique<CmReceiver>(*this, adapter));
  adapter->listen_cm(receivers_.back().get());
}

bool Registry::find_open_device(const wire::Gid& address, LocalPort& port) const {
  for (const auto& receiver : receivers_) {
    const host::Adapter::Session session{*receiver->adapter, host::Adapter::Session::For::kControl};
    for (std::uint32_t i = 0;; ++i) {
      const auto gid = session->query_gid(i);
      if (!gid) break;
      if (*gid != address) continue;
      port = {.adapter = receiver->adapter, .gid = address};
      return true;
    }
  }
  return false;
}

int Registry::find_port(const Endpoint& at, LocalPort& port) {
  const std::scoped_lock one_at_a_time{making_};
  // Listing the machine's interfaces takes longer than the rest of a connection, so try known
  // devices first.
  if (at.scope == 0 && find_open_device(at.address, port)) return 0;
  host::Host& host = host::Host::current();
  const auto devices = host.devices();
  const auto serve = [&](const host::Device& device, const wire::Gid& gid) {
    auto adapter = host.open(device);
    if (!adapter) return errno;
    if (!adapter->has_address(gid)) return ENODEV;
    listen_to(adapter);
    port = {.adapter = std::move(adapter), .gid = gid};
    return 0;
  };
  for (const host::Device& device : devices) {
    const bool there = at.scope == 0 || at.scope == device.interface_index;
    if (there && std::ranges::find(device.gids, at.address) != device.gids.end()) {
      return serve(device, at.address);
    }
  }
  if (!at.is_loopback()) return ENODEV;
  // The loopback interface need not be a device. A loopback address means this machine, so any
  // device will do.
  for (const host::Device& device : devices) {
    const auto same_family = std::ranges::find_if(
        device.gids, [&](const wire::Gid& gid) { return gid.is_ipv4() == at.address.is_ipv4(); });
    if (device.up && same_family != device.gids.end()) return serve(device, *same_family);
  }
  return ENODEV;
}

std::vector<LocalPort> Registry::all_ports() {
  const std::scoped_lock one_at_a_time{making_};
  host::Host& host = host::Host::current();
  std::vector<LocalPort> ports;
  for (const host::Device& device : host.devices()) {
    auto adapter = host.open(device);
    if (!adapter) continue;
    listen_to(adapter);
    ports.push_back({.adapter = std::move(adapter)});
  }
  return ports;
}

host::PortSpace* Registry::port_space() {
  host::PortSpace* const ports = host::Host::current().use_cm();
  if (ports != nullptr) host::Host::current().listen_devices(*this);
  return ports;
}

void Registry::know(const Identifier& id, const host::Adapter* adapter, nic::CommHandle comm) {
  by_comm_[{adapter, comm.index, comm.generation}] = id.number;
}

void Registry::forget(const host::Adapter* adapter, nic::CommHandle comm) {
  by_comm_.erase({adapter, comm.index, comm.generation});
}

Identifier* Registry::id_of(const host::Adapter* adapter, nic::CommHandle comm) const {
  const auto it = by_comm_.find({adapter, comm.index, comm.generation});
  return it != by_comm_.end() ? ids.find(it->second).get() : nullptr;
}

}  // namespace nerve::rdmacm
