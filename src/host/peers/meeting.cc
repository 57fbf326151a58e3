// How this process meets others: by calling them and by being called.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "host/diagnostics/log.h"
#include "host/diagnostics/report.h"
#include "host/shared.h"

namespace nerve::host {

Descriptor open_spare() { return Descriptor{::open("/dev/null", O_RDONLY | O_CLOEXEC)}; }

bool Host::Shared::take_call(int listener) {
  Descriptor connection = accept_from(listener);
  if (connection) {
    answer_call(std::move(connection));
    return true;
  }
  if (errno == EMFILE || errno == ENFILE) return refuse_call(listener);
  return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;  // he thought better of it
}

void Host::Shared::answer_call(Descriptor connection) {
  constexpr std::chrono::milliseconds kPatience{100};
  const std::optional<pid_t> pid = own_peer(connection.get());
  if (!pid) return;
  const auto message = receive_message(connection.get(), kPatience);
  const auto request = message ? Request::decode(message->octets) : std::nullopt;
  if (!request) return;
  const int fd = connection.get();
  switch (request->kind) {
    case RequestKind::kRing: {
      auto ring = IncomingRing::accept(std::move(connection), *request, *message);
      if (!ring) return;
      const std::scoped_lock guard{lock};
      exchange.add(std::move(ring));
      watcher.watch_connection(fd);
      (void)send_message(fd, encode_answer(), watcher.mailbox().descriptors());
      return;
    }
    case RequestKind::kPort: {
      const std::scoped_lock guard{lock};
      (void)send_message(fd, encode_answer(), udp ? udp->group().fds() : std::vector<int>{});
      return;
    }
    case RequestKind::kPorts: {
      const std::scoped_lock guard{lock};
      (void)send_message(fd, encode_answer(),
                         ports ? std::vector{ports->descriptor()} : std::vector<int>{});
      return;
    }
    case RequestKind::kReport:
      // The primary shard reports for all.
      (void)send_message(fd, encode_answer(primary == this ? report(*this) : ""), {});
      return;
  }
}

bool Host::Shared::refuse_call(int listener) {
  // A call that is not taken would wake us again at once, for ever. The caller hears that nobody
  // has time for him: the connection closes.
  if (!std::exchange(told_of_refusal, true)) {
    log(LogLevel::kWarn,
        "a process cannot be met: %s; raise the limit with ulimit -n or close descriptors",
        std::strerror(EMFILE));
  }
  spare = Descriptor{};
  const bool refused = static_cast<bool>(accept_from(listener));
  spare = open_spare();
  // Not even that, when a thread of the program's was quicker, or its limit is below what it has
  // open already.
  return refused;
}

void Host::Shared::reach(const wire::Gid& peer, Qpn qpn) {
  reach_slot(peer, slot_of(qpn), config.transport != Transport::kUdp);
}

void Host::Shared::reach_service(const wire::Gid& peer, wire::ServiceId service) {
  std::optional<std::uint32_t> to;
  {
    const std::scoped_lock guard{lock};
    if (ports) to = ports->owner(service);
  }
  reach_slot(peer, to.value_or(slot), true);
}

void Host::Shared::reach_comm(const wire::Gid& peer, wire::CommId id) {
  // Also where all goes by UDP: whoever reads the datagram there passes it on by a ring, and that
  // may be us.
  reach_slot(peer, slot_of(id), true);
}

void Host::Shared::reach_slot(const wire::Gid& peer, std::uint32_t to, bool by_ring) {
  bool local = false;
  {
    const std::scoped_lock guard{lock};
    local = exchange.is_local(peer);
    if (local && (to == slot || exchange.has_ring_to(to))) return;
  }
  const std::scoped_lock one_at_a_time{making};
  if (local && by_ring) open_ring(to);
  if (!local && !udp) {
    log(LogLevel::kWarn, "no way to a peer on another host: %s", why_no_udp());
  }
}

const char* Host::Shared::why_no_udp() const {
  return config.transport == Transport::kShm ? "the transport is shm" : udp_refused.c_str();
}

void Host::Shared::open_ring(std::uint32_t to) {
  constexpr std::chrono::milliseconds kPatience{1000};
  if (to == 0) return;
  {
    const std::scoped_lock guard{lock};
    if (exchange.has_ring_to(to)) return;  // whoever was before us in the queue has made it
  }
  auto offer = RingOffer::make(to, slot, ring_size(config.ring_size));
  const char* why = offer ? "it does not answer" : std::strerror(errno);
  auto ring = offer ? std::move(*offer).conclude(kPatience) : nullptr;
  if (!ring && udp) {
    log(LogLevel::kInfo, "no shared memory to the process in slot %u: %s", to, why);
  } else if (!ring) {
    log(LogLevel::kWarn, "no way to the process in slot %u: shared memory: %s; udp: %s", to, why,
        why_no_udp());
  }
  if (!ring) return;
  const std::scoped_lock guard{lock};
  const int connection = ring->connection();
  if (exchange.add(std::move(ring), now())) watcher.watch_connection(connection);
}

void Host::Shared::offer_wanted() {
  // One at a time: packets from the network say what is wanted, and may say anything.
  const auto to = exchange.take_wanted();
  if (to && *to != 0 && !exchange.has_ring_to(*to)) offer_ring(*to);
}

void Host::Shared::offer_ring(std::uint32_t to, std::optional<pid_t> owner) {
  if (std::ranges::find(offers, to, &RingOffer::slot) != offers.end()) return;
  auto offer = RingOffer::make(to, slot, ring_size(config.ring_size));
  // A slot that became free may have been taken by another process at once.
  const bool gone = offer ? owner && offer->pid() != *owner : errno == ECONNREFUSED;
  if (gone) return nobody_in(to);
  if (!offer) return exchange.no_ring_to(to);
  watcher.watch_connection(offer->connection());
  offers.push_back(std::move(*offer));
}

bool Host::Shared::conclude_offer(int connection) {
  const auto offer = std::ranges::find(offers, connection, &RingOffer::connection);
  if (offer == offers.end()) return false;
  const std::uint32_t to = offer->slot();
  const pid_t owner = offer->pid();
  auto ring = std::move(*offer).conclude(std::chrono::milliseconds{0});
  offers.erase(offer);
  if (ring) {
    if (exchange.add(std::move(ring), now())) watcher.watch_connection(connection);
    return true;
  }
  const Descriptor again = call(name_of_slot(to));
  const bool gone = again ? own_peer(again.get()) != owner : errno == ECONNREFUSED;
  if (gone) {
    nobody_in(to);  // it died before it answered
  } else {
    exchange.no_ring_to(to);
  }
  return true;
}

void Host::Shared::open_udp() {
  if (udp || !udp_refused.empty() || config.transport == Transport::kShm) return;
  auto port = UdpPort::open(config, slot);
  if (!port) {
    udp_refused = port.error();
    const bool asked_for = config.transport == Transport::kUdp;
    log(asked_for ? LogLevel::kError : LogLevel::kInfo, "%s", udp_refused.c_str());
    return;
  }
  const std::scoped_lock guard{lock};
  udp = *std::move(port);
  tell_interfaces(list_interfaces());
  exchange.set_udp(udp->sender(), udp->receiver(), udp->room());
  watcher.watch_socket(udp->receiver().fd());
}

PortSpace* Host::Shared::use_cm() {
  if (ports) return ports.get();
  auto found = PortSpace::open(slot);
  if (!found) {
    const int why = errno;
    log(LogLevel::kError, "%s", found.error().c_str());
    errno = why;
    return nullptr;
  }
  const std::scoped_lock guard{lock};
  ports = std::move(found->ports);
  exchange.set_ports(*ports);
  if (udp) {
    using Unread = link::UdpReceiver::Unread;
    const auto unread = found->made ? Unread::kDiscard : Unread::kKeep;
    watcher.watch_management(udp->read_management(unread).fd());
  }
  return ports.get();
}

void Host::Shared::tell_interfaces(const std::vector<Interface>& interfaces) {
  if (!udp) return;
  udp->sender().forget_interfaces();
  for (const Interface& interface : interfaces) {
    for (const wire::Gid& gid : interface.addresses) {
      udp->sender().set_interface(gid, interface.index);
    }
  }
}

}  // namespace nerve::host
