// What the adapters of a process have in common. Everything here is behind the one lock.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "host/config.h"
#include "host/host.h"
#include "link/loopback.h"

namespace nerve::host {

struct Host::Shared {
  const Config config{load_process_config()};
  std::mutex lock;
  std::vector<std::weak_ptr<Adapter>> adapters;
  link::Loopback loopback;
};

struct Adapter::State final : link::FrameSink {
  State(Host::Shared& host, const Device& given);

  void deliver(std::span<const wire::Frame> frames, Time at) override;
  void drive();
  void transmit(Time at);
  void tell_events();

  Host::Shared& shared;
  Device device;
  nic::Nic nic;
  nic::TxBurst burst{256};
  std::vector<EventTarget*> listeners;
};

}  // namespace nerve::host
