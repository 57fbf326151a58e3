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
// Those that children of forks have left where they are: a leak checker finds them here.
std::array<Host*, 16> left_behind{};
std::mutex making_host;
std::atomic<std::uint32_t> forks;

// Once for each reason: programs that find no device may ask again and again.
void tell_why_not(int code) {
  static std::atomic<int> told;
  if (told.exchange(code) == code) return;
  const char* mend = "";
  if (code == EMFILE) mend = "; raise the limit with ulimit -n";
  if (code == EAGAIN) mend = "; no thread can be started, raise the limit with ulimit -u";
  if (code == EADDRINUSE) mend = "; too many processes use devices at once";
  log(LogLevel::kError, "devices cannot be opened by this process: %s%s", std::strerror(code),
      mend);
}

}  // namespace

std::uint32_t generation() { return forks.load(std::memory_order_relaxed); }

Shard* Host::primary_of_current() {
  const Host* const host = current_host;
  return host != nullptr ? host->primary_.load() : nullptr;
}

// Whoever forks takes the lock first, so that the child gets the engines whole and the lock free:
// the thread that would let go of it is not there.
void Host::before_fork() {
  Shard* const primary = primary_of_current();
  if (primary != nullptr) primary->shards.lock_for_fork();
}

void Host::after_fork_in_parent() {
  Shard* const primary = primary_of_current();
  if (primary != nullptr) primary->shards.unlock_after_fork();
}

// In the child of a fork() the parent's host is of no use: its thread is gone, and its peers talk
// to the parent. It is left where it is, for the program's objects still point to it and may be
// destroyed; but it neither sends nor receives, for the rings are the parent's. Its descriptors are
// closed, or peers would not notice the parent's end.
void Host::after_fork_in_child() {
  Shard* const primary = primary_of_current();
  ++forks;
  left_behind[forks % left_behind.size()] = current_host.exchange(nullptr);
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
  static const int at_end = std::atexit(finish_current);
  (void)registered;
  (void)at_end;
  current_host = new Host;  // for as long as the process lives: its thread may be running at exit
  return *current_host;
}

void Host::finish_current() {
  Shard* const primary = primary_of_current();
  if (primary == nullptr) return;
  // The program's last words come first, as they do on a terminal. exit() would do it next.
  if (primary->config.summary) (void)std::fflush(stdout);
  if (!try_long(primary->lock)) return;
  const std::vector<Shard*> shards = primary->shards.locked();
  primary->lock.unlock();
  for (Shard* shard : shards) shard->finish();
  const bool used = !primary->adapters.empty();
  if (primary->config.summary && used) say("%s", summary_line(summarise(shards)).c_str());
}

Shard* Host::primary() {
  if (Shard* made = primary_) return made;
  const std::scoped_lock guard{making_host};
  if (Shard* made = primary_) return made;
  auto made = Shard::make(nullptr);
  if (!made) {
    const int why = errno;
    tell_why_not(why);
    errno = why;
    return nullptr;
  }
  primary_ = made.release();
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
  // Others may ask us at this moment for what we ask them.
  const std::scoped_lock guard{primary.lock};
  if (primary.watcher.start()) return true;
  tell_why_not(EAGAIN);
  errno = EAGAIN;
  return false;
}

PortSpace* Host::use_cm() {
  Shard* const shard = primary();
  if (shard == nullptr) return nullptr;
  const std::scoped_lock guard{shard->shards.making};
  if (!start(*shard)) return nullptr;
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
  // Only the user gives one interface two names; else it is the same device, listed when others
  // were beside it.
  const bool named = !shard->config.devices.empty();
  for (const auto& adapter : shards.opened) {
    const Device& other = adapter->device();
    const bool same = !named || other.name == device.name;
    if (same && other.interface == device.interface) return adapter;
  }
  if (!start(*shard)) return nullptr;
  shard->network.open();
  auto adapter = std::make_shared<Adapter>(*this, device);
  shards.opened.push_back(adapter);
  return adapter;
}

}  // namespace nerve::host
