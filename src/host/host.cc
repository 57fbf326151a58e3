#include "host/host.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "host/diagnostics/log.h"
#include "host/diagnostics/summary.h"
#include "host/shard.h"
#include "link/descriptor.h"

namespace nerve::host {
namespace {

std::atomic<Host*> current_host{};
// Hosts abandoned by children of fork(). Kept reachable, so that a leak checker does not report
// them.
std::array<Host*, 16> abandoned_hosts{};
std::mutex making_host;
std::atomic<std::uint32_t> forks;

// Logs why devices cannot be opened, once for each errno: a program that finds no device may retry
// in a loop.
void log_open_failure(int code) {
  static std::atomic<int> logged;
  if (logged.exchange(code) == code) return;
  const char* advice = "";
  if (code == EMFILE) advice = "; raise the limit with ulimit -n";
  if (code == EAGAIN) advice = "; no thread can be started, raise the limit with ulimit -u";
  if (code == EADDRINUSE) advice = "; all 1023 slots are taken, end programs that use devices";
  log(LogLevel::kError, "devices cannot be opened by this process: %s%s", std::strerror(code),
      advice);
}

}  // namespace

std::uint32_t generation() { return forks.load(std::memory_order_relaxed); }

Shard* Host::primary_of_current() {
  const Host* const host = current_host;
  return host != nullptr ? host->primary_.load() : nullptr;
}

// The forking thread takes all locks first. The child then inherits consistent engines and locks
// whose owner is the one thread that still exists there.
void Host::before_fork() {
  Shard* const primary = primary_of_current();
  if (primary != nullptr) primary->shards.lock_for_fork();
}

void Host::after_fork_in_parent() {
  Shard* const primary = primary_of_current();
  if (primary != nullptr) primary->shards.unlock_after_fork();
}

// In the child of a fork() the parent's host is unusable: its thread does not exist there, and its
// peers talk to the parent. It is not destroyed, because the program's objects point to it and may
// be destroyed later. It neither sends nor receives, because the rings belong to the parent. Its
// descriptors are closed, or peers would not notice when the parent exits.
void Host::after_fork_in_child() {
  Shard* const primary = primary_of_current();
  ++forks;
  abandoned_hosts[forks % abandoned_hosts.size()] = current_host.exchange(nullptr);
  new (&making_host) std::mutex;
  if (primary != nullptr) {
    for (Shard* shard : primary->shards.locked()) shard->leave_to_parent();
  }
  link::Descriptor::close_inherited();
}

Host& Host::current() {
  if (Host* host = current_host) return *host;
  const std::scoped_lock guard{making_host};
  if (Host* host = current_host) return *host;
  static const int registered =
      ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  (void)registered;
  current_host = new Host;  // never deleted: the background thread may run during exit
  return *current_host;
}

void Host::finish_current() {
  Shard* const primary = primary_of_current();
  if (primary == nullptr) return;
  // Flush the program's own output first, so that the summary is the last line. exit() would flush
  // next.
  if (primary->config.summary) (void)std::fflush(stdout);
  if (!try_long(primary->lock)) return;
  const std::vector<Shard*> shards = primary->shards.locked();
  primary->lock.unlock();
  for (Shard* shard : shards) shard->finish();
  const bool used = !primary->adapters.empty();
  if (!primary->config.summary || !used) return;
  say("%s", summary_line(summarise(shards)).c_str());
  if (Statistics* const statistics = primary->shards.statistics())
    statistics->mark_summarised(primary->slot);
}

Shard* Host::primary() {
  if (Shard* made = primary_) return made;
  const std::scoped_lock guard{making_host};
  if (Shard* made = primary_) return made;
  auto made = Shard::make(nullptr);
  if (!made) {
    const int why = errno;
    log_open_failure(why);
    errno = why;
    return nullptr;
  }
  primary_ = made.release();
  // Functions that are registered later run earlier: libcrypto, which the shard has loaded or the
  // program uses itself, must not end before we have sealed our last packets.
  static const int at_end = std::atexit(finish_current);
  (void)at_end;
  return primary_;
}

std::vector<Device> devices_of(const Config& config, std::span<const Device> in_use) {
  std::vector<Device> devices = choose_devices(list_interfaces(), config.devices, in_use);
  if (config.mtu) {
    for (Device& device : devices) device.active_mtu = *config.mtu;
  }
  return devices;
}

std::vector<Device> Host::devices() {
  Shard* const known = primary();
  if (known == nullptr) return devices_of(Config{});
  std::vector<Device> in_use;
  {
    const std::scoped_lock guard{known->shards.making};
    for (const auto& adapter : known->shards.opened) in_use.push_back(adapter->device());
  }
  return devices_of(known->config, in_use);
}

bool Host::start(Shard& primary) {
  // Other processes may send us the same requests that we are sending them.
  const std::scoped_lock guard{primary.lock};
  if (primary.watcher.start()) return true;
  log_open_failure(EAGAIN);
  errno = EAGAIN;
  return false;
}

PortSpace* Host::use_cm() {
  Shard* const shard = primary();
  if (shard == nullptr) return nullptr;
  const std::scoped_lock guard{shard->shards.making};
  if (!start(*shard)) return nullptr;
  shard->shards.publish(*shard);
  shard->network.open();
  return shard->network.use_cm();
}

void Host::listen_devices(DeviceListener& listener) {
  if (Shard* const shard = primary()) shard->device_listener = &listener;
}

std::shared_ptr<Adapter> Host::open(const Device& device) {
  Shard* const shard = primary();
  if (shard == nullptr) return nullptr;
  ShardSet& shards = shard->shards;
  const std::scoped_lock guard{shards.making};
  // Without a device list from the user, an interface is one device, whatever name it was listed
  // under. Only the user can give one interface two device names.
  const bool named = !shard->config.devices.empty();
  for (const auto& adapter : shards.opened) {
    const Device& other = adapter->device();
    const bool same = !named || other.name == device.name;
    if (same && other.interface == device.interface) return adapter;
  }
  if (!start(*shard)) return nullptr;
  shards.publish(*shard);
  shard->network.open();
  auto adapter = std::make_shared<Adapter>(*this, device);
  shards.opened.push_back(adapter);
  return adapter;
}

}  // namespace nerve::host
