#include "host/host.h"

#include <pthread.h>

#include <atomic>
#include <mutex>

#include "host/shared.h"

namespace nerve::host {
namespace {

std::atomic<Host*> current_host{};
std::mutex making;

// The parent's host is useless in the child: its thread is gone and its peers know another pid. It
// is left where it is, for objects of the program's may still point to it.
void forget_host() {
  current_host = nullptr;
  new (&making) std::mutex;
}

}  // namespace

Host& Host::current() {
  if (Host* host = current_host) return *host;
  const std::scoped_lock guard{making};
  if (Host* host = current_host) return *host;
  static const int registered = ::pthread_atfork(nullptr, nullptr, forget_host);
  (void)registered;
  current_host = new Host;
  return *current_host;
}

Host::Host() : shared_{std::make_unique<Shared>()} {}
Host::~Host() = default;

std::vector<Device> Host::devices() {
  const Config& config = shared_->config;
  std::vector<Device> devices = choose_devices(list_interfaces(), config.devices);
  if (config.mtu) {
    for (Device& device : devices) device.active_mtu = *config.mtu;
  }
  return devices;
}

std::shared_ptr<Adapter> Host::open(const Device& device) {
  const std::scoped_lock guard{making};
  std::erase_if(shared_->adapters, [](const auto& adapter) { return adapter.expired(); });
  for (const auto& known : shared_->adapters) {
    const auto adapter = known.lock();
    if (adapter && adapter->device().name == device.name) return adapter;
  }
  auto adapter = std::make_shared<Adapter>(*this, device);
  shared_->adapters.push_back(adapter);
  return adapter;
}

}  // namespace nerve::host
