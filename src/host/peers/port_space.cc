#include "host/peers/port_space.h"

#include <sys/random.h>
#include <unistd.h>

#include <bitset>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "host/diagnostics/log.h"
#include "host/peers/ask_all.h"
#include "host/peers/membership.h"

namespace nerve::host {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kPorts = 1U << 16;
constexpr std::size_t kEntries = std::size_t{PortSpace::kSpaces} * kPorts;
constexpr std::size_t kPidsAt = kEntries * sizeof(std::uint16_t);
constexpr std::uint16_t kLingers = 1U << 15;
static_assert(kSlots <= kLingers);
constexpr std::size_t kTableSize = kPidsAt + kSlots * sizeof(std::uint32_t);

constexpr milliseconds kPatience{300};  // for other processes to answer
constexpr milliseconds kPatienceWithMaker{3000};
constexpr milliseconds kPause{10};

static_assert(std::atomic<std::uint16_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace

std::optional<PortSpace::Space> space_of(wire::IpService service) {
  constexpr wire::PortSpace kIb{0x3f};  // RDMA_PS_IB: defined by Linux, not by annex A11
  if (service.space == wire::PortSpace::kTcp) return PortSpace::Space::kTcp;
  if (service.space == wire::PortSpace::kUdp) return PortSpace::Space::kUdp;
  if (service.space == kIb) return PortSpace::Space::kIb;
  return std::nullopt;
}

PortSpace::PortSpace(Descriptor descriptor, Mapping mapping, std::uint32_t own_slot)
    : descriptor_{std::move(descriptor)},
      mapping_{std::move(mapping)},
      own_slot_{static_cast<std::uint16_t>(own_slot)} {
  take_over_slot();
}

PortSpace::Entry& PortSpace::entry(Space space, std::uint16_t port) const {
  const std::size_t at = static_cast<std::size_t>(space) * kPorts + port;
  return reinterpret_cast<Entry*>(mapping_.bytes().data())[at];
}

PortSpace::Pid& PortSpace::pid_in(std::uint32_t slot) const {
  return reinterpret_cast<Pid*>(mapping_.bytes().data() + kPidsAt)[slot];
}

void PortSpace::take_over_slot() {
  Pid& pid = pid_in(own_slot_);
  const auto own = static_cast<std::uint32_t>(::getpid());
  const std::uint32_t before = pid.load();
  if (before == own) return;
  // This process owns the slot now, so its previous owner is dead and the ports of that owner are
  // free. Other processes may be taking some of them over at this moment.
  for (std::size_t at = 0; before != 0 && at < kEntries; ++at) {
    Entry& port = reinterpret_cast<Entry*>(mapping_.bytes().data())[at];
    std::uint16_t has = port.load(std::memory_order_relaxed);
    if ((has & ~kLingers) == own_slot_) (void)port.compare_exchange_strong(has, 0);
  }
  pid.store(own);
}

std::unique_ptr<PortSpace> PortSpace::ask_for(std::uint32_t own_slot, bool& silence) {
  std::unique_ptr<PortSpace> found;
  const auto take = [&](Message& answer) {
    if (answer.descriptors.size() != 1) return false;
    auto mapping =
        map_shared_memory(answer.descriptors[0].get(), kTableSize, kTableSize, Others::kWrite);
    if (!mapping) return false;
    found.reset(new PortSpace{std::move(answer.descriptors[0]), *std::move(mapping), own_slot});
    return true;
  };
  silence = ask_all(own_slot, RequestKind::kPorts, kPatience, take) == Asked::kSilence;
  return found;
}

Result<PortSpace::Opened, std::string> PortSpace::open(std::uint32_t own_slot) {
  const auto give_up = std::chrono::steady_clock::now() + kPatienceWithMaker;
  bool silence = false;
  Turn making;
  for (;;) {
    if (auto ports = ask_for(own_slot, silence)) return Opened{std::move(ports), false, {}};
    making = Turn::take(TurnTo::kMakePorts);
    // Another process is creating the table and will hand it on soon. If its turn does not end in
    // time, it may be a foreign process, and is ignored.
    if (making || std::chrono::steady_clock::now() >= give_up) break;
    std::this_thread::sleep_for(kPause);
  }
  // It may have been created since we asked.
  if (auto ports = ask_for(own_slot, silence)) return Opened{std::move(ports), false, {}};
  if (silence) {
    log(LogLevel::kWarn,
        "a process of this host does not answer: its rdma_cm ports may be bound twice; end stopped "
        "programs");
  }
  auto memory = make_shared_memory(kTableSize, Others::kWrite);
  if (!memory) {
    return Unexpected{std::string{"cannot create the table of rdma_cm ports: "} +
                      std::strerror(errno)};
  }
  std::unique_ptr<PortSpace> ports{
      new PortSpace{std::move(memory->descriptor), std::move(memory->mapping), own_slot}};
  return Opened{std::move(ports), true, std::move(making)};
}

bool PortSpace::is_alive(std::uint32_t slot) const {
  const Descriptor connection = call(name_of_slot(slot));
  // A process whose queue of connections is full is busy, but alive.
  if (!connection) return errno != ECONNREFUSED;
  const std::optional<pid_t> pid = own_peer(connection.get());
  // SO_PEERCRED reports a process in another pid namespace as pid 0.
  return pid && (*pid == 0 || static_cast<std::uint32_t>(*pid) == pid_in(slot).load());
}

int PortSpace::bind(Space space, std::uint16_t port) {
  if (port == 0) return EINVAL;
  if (left_) return ENODEV;
  Entry& wanted = entry(space, port);
  std::uint16_t has = wanted.load();
  while (has != own_slot_) {
    const bool free = has == 0 || (has & kLingers) != 0 || has >= kSlots;
    if (!free && is_alive(has)) return EADDRINUSE;
    if (wanted.compare_exchange_strong(has, own_slot_)) break;
  }
  return 0;
}

std::optional<std::uint16_t> PortSpace::bind_any(Space space, Range range) {
  if (left_ || range.first == 0 || range.last < range.first) return std::nullopt;
  std::uint32_t start = 0;
  (void)!::getrandom(&start, sizeof start, 0);
  const std::uint32_t count = range.last - range.first + 1U;
  const auto port_at = [&](std::uint32_t i) {
    return static_cast<std::uint16_t>(range.first + (start % count + i) % count);
  };
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint16_t free = 0;
    if (entry(space, port_at(i)).compare_exchange_strong(free, own_slot_)) return port_at(i);
  }
  // No port is free. Some owners may be dead, which bind() finds out by connecting to them.
  std::bitset<kSlots> alive;
  alive.set(own_slot_);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint16_t has = entry(space, port_at(i)).load();
    if (has < kSlots && alive[has]) continue;
    if (bind(space, port_at(i)) == 0) return port_at(i);
    if (has < kSlots) alive.set(has);
  }
  return std::nullopt;
}

void PortSpace::release(Space space, std::uint16_t port) {
  if (left_) return;
  std::uint16_t has = entry(space, port).load();
  if ((has & ~kLingers) == own_slot_) (void)entry(space, port).compare_exchange_strong(has, 0);
}

void PortSpace::linger(Space space, std::uint16_t port) {
  std::uint16_t own = own_slot_;
  if (!left_) (void)entry(space, port).compare_exchange_strong(own, own_slot_ | kLingers);
}

std::optional<std::uint32_t> PortSpace::owner(Space space, std::uint16_t port) const {
  const std::uint16_t slot = entry(space, port).load() & ~kLingers;
  if (slot == 0 || slot >= kSlots) return std::nullopt;
  return slot;
}

std::optional<std::uint32_t> PortSpace::owner(wire::ServiceId service) const {
  const auto ip = wire::ip_service(service);
  const auto space = ip ? space_of(*ip) : std::nullopt;
  return space ? owner(*space, ip->port) : std::nullopt;
}

}  // namespace nerve::host
