#include "host/adapter.h"

#include <sys/random.h>
#include <time.h>

#include "host/shared.h"

namespace nerve::host {
namespace {

nic::NicConfig config_for(const Config& chosen) {
  nic::NicConfig config;
  config.gid_table_size = kGidTableSize;
  config.max_mtu = nic::Mtu::k4096;
  config.flow_control.algorithm = chosen.congestion;
  (void)::getrandom(&config.key_secret, sizeof config.key_secret, 0);
  return config;
}

}  // namespace

Time now() {
  timespec at{};
  ::clock_gettime(CLOCK_MONOTONIC, &at);
  return Time{std::chrono::seconds{at.tv_sec} + std::chrono::nanoseconds{at.tv_nsec}};
}

Adapter::State::State(Host::Shared& host, const Device& given)
    : shared{host}, device{given}, nic{config_for(host.config)} {
  for (std::uint32_t i = 0; i < device.gids.size(); ++i) (void)nic.set_gid(i, device.gids[i]);
  nic.set_port_active(device.up);
  while (nic.next_event()) {
  }
}

void Adapter::State::deliver(std::span<const wire::Frame> frames, Time at) {
  nic.receive(frames, at);
}

void Adapter::State::drive() {
  const Time at = now();
  shared.loopback.receive(*this, 256, at);
  if (const auto deadline = nic.next_deadline(); deadline && *deadline <= at) nic.expire(at);
  transmit(at);
}

void Adapter::State::transmit(Time at) {
  while (nic.transmit(burst, at) > 0) shared.loopback.send(burst.frames(), at);
}

void Adapter::State::tell_events() {
  while (const auto event = nic.next_event()) {
    if (event->cookie != 0) {
      reinterpret_cast<EventTarget*>(event->cookie)->on_event(*event);
    } else {
      for (EventTarget* listener : listeners) listener->on_event(*event);
    }
  }
}

Adapter::Adapter(Host& host, const Device& device)
    : state_{std::make_unique<State>(*host.shared_, device)} {}
Adapter::~Adapter() = default;

const Device& Adapter::device() const { return state_->device; }

void Adapter::listen(EventTarget& target) {
  const std::scoped_lock guard{state_->shared.lock};
  state_->listeners.push_back(&target);
}

void Adapter::unlisten(EventTarget& target) {
  const std::scoped_lock guard{state_->shared.lock};
  std::erase(state_->listeners, &target);
}

void Adapter::reach(const wire::Gid& /*peer*/, Qpn /*qpn*/) {}

Adapter::Session::Session(Adapter& adapter) : state_{*adapter.state_} { state_.shared.lock.lock(); }

Adapter::Session::~Session() {
  state_.tell_events();
  state_.shared.lock.unlock();
}

nic::Nic& Adapter::Session::nic() const { return state_.nic; }
void Adapter::Session::posted() { state_.transmit(now()); }
void Adapter::Session::drive() { state_.drive(); }

}  // namespace nerve::host
