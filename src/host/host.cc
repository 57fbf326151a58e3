#include "host/host.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

#include "host/shared.h"
#include "link/descriptor.h"

namespace nerve::host {
namespace {

std::atomic<Host*> current_host{};
std::mutex making_host;

// In the child of a fork() the parent's host is of no use: its thread is gone, and its peers talk
// to the parent. It is left where it is, for the program's objects still point to it; but its
// descriptors are closed, or peers would not notice the parent's end.
void leave_host_to_parent() {
  current_host = nullptr;
  new (&making_host) std::mutex;
  link::Descriptor::close_inherited();
}

}  // namespace

Host& Host::current() {
  if (Host* host = current_host) return *host;
  const std::scoped_lock guard{making_host};
  if (Host* host = current_host) return *host;
  static const int registered = ::pthread_atfork(nullptr, nullptr, leave_host_to_parent);
  static const int at_end = std::atexit(finish_current);
  (void)registered;
  (void)at_end;
  current_host = new Host;  // for as long as the process lives: its thread may be running at exit
  return *current_host;
}

void Host::finish_current() {
  const Host* host = current_host;
  if (host != nullptr && host->shared_) host->shared_->finish();
}

Host::Host() {
  auto joined = join_host();
  auto mailbox = Mailbox::make();
  if (!joined || !mailbox) return;
  shared_ =
      std::make_unique<Shared>(load_process_config(), std::move(*joined), std::move(*mailbox));
}
Host::~Host() = default;

std::vector<Device> Host::devices() {
  const Config config = shared_ ? shared_->config : Config{};
  std::vector<Device> devices = choose_devices(list_interfaces(), config.devices);
  if (config.mtu) {
    for (Device& device : devices) device.active_mtu = *config.mtu;
  }
  return devices;
}

std::shared_ptr<Adapter> Host::open(const Device& device) {
  if (!shared_) return nullptr;
  const std::scoped_lock guard{shared_->making};
  for (const auto& adapter : shared_->opened) {
    if (adapter->device().name == device.name) return adapter;
  }
  shared_->open_udp();
  auto adapter = std::make_shared<Adapter>(*this, device);
  shared_->opened.push_back(adapter);
  return adapter;
}

}  // namespace nerve::host
