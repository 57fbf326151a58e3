// This process as a host of RDMA devices: the devices, the engines in use, and the threads, sockets
// and shared memory that they share.
//
// There is one Host per process. It is created when a program first asks for devices, and created
// again in the child of a fork(), which cannot use anything of its parent's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "host/adapter.h"
#include "host/config/config.h"
#include "host/devices/device.h"
#include "host/peers/port_space.h"

namespace nerve::host {

// The number of forks between the first process that used the library and this one. Objects of
// another generation belong to an ancestor process.
[[nodiscard]] std::uint32_t generation();

// The devices that a process with this configuration has, given the machine's interfaces now.
[[nodiscard]] std::vector<Device> devices_of(const Config& config,
                                             std::span<const Device> in_use = {});

// Called when interfaces or addresses have changed, after the adapters are updated. Runs on the
// background thread, without the host's lock.
class DeviceListener {
 public:
  virtual ~DeviceListener() = default;
  virtual void on_devices_changed() = 0;
};

class Shard;

class Host {
 public:
  // The host of the calling process.
  static Host& current();

  // The devices, given the machine's interfaces now.
  [[nodiscard]] std::vector<Device> devices();

  // Returns the adapter of a device, created on first use and shared afterwards. Null, with errno,
  // if this process cannot become a host now (no descriptors or memory left).
  [[nodiscard]] std::shared_ptr<Adapter> open(const Device& device);

  // Makes this process take part in the host's connection management: it reads the datagrams to QP1
  // and shares the port table. Returns the table; null, with errno, on failure.
  [[nodiscard]] PortSpace* use_cm();

  // Sets the process's only listener, which must live as long as the process.
  void listen_devices(DeviceListener& listener);

 private:
  friend class Adapter;
  static Shard* primary_of_current();
  static void finish_current();
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();
  Host() = default;
  ~Host() = delete;
  // Null, with errno, on failure; a later call may succeed.
  [[nodiscard]] Shard* primary();
  // False, with errno, if the background thread cannot be started.
  [[nodiscard]] static bool start(Shard& primary);
  std::atomic<Shard*> primary_{};  // never deleted
};

}  // namespace nerve::host
