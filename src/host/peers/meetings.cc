#include "host/peers/meetings.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "host/diagnostics/log.h"
#include "host/diagnostics/report.h"
#include "host/shard.h"
#include "nic/connection/connection_manager.h"

namespace nerve::host {
namespace {

Descriptor open_spare() { return Descriptor{::open("/dev/null", O_RDONLY | O_CLOEXEC)}; }

}  // namespace

Meetings::Meetings(Shard& shard) : shard_{shard}, spare_{open_spare()} {}

bool Meetings::take_call(int listener) {
  Descriptor connection = accept_from(listener);
  if (connection) {
    answer_call(std::move(connection));
    return true;
  }
  if (errno == EMFILE || errno == ENFILE) return refuse_call(listener);
  return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;  // he thought better of it
}

void Meetings::answer_call(Descriptor connection) {
  constexpr std::chrono::milliseconds kPatience{100};
  const std::optional<pid_t> pid = own_peer(connection.get());
  if (!pid) return;
  const auto message = receive_message(connection.get(), kPatience);
  const auto request = message ? Request::decode(message->bytes) : std::nullopt;
  if (!request) return;
  const int fd = connection.get();
  switch (request->kind) {
    case RequestKind::kRing: {
      auto ring = IncomingRing::accept(std::move(connection), *request, *message);
      if (!ring) return;
      const std::scoped_lock guard{shard_.lock};
      shard_.exchange.add(std::move(ring));
      shard_.watcher.watch_connection(fd);
      (void)send_message(fd, encode_answer(), shard_.watcher.mailbox().descriptors());
      return;
    }
    case RequestKind::kPort: {
      const std::scoped_lock guard{shard_.lock};
      const UdpPort* const udp = shard_.network.udp();
      (void)send_message(fd, encode_answer(),
                         udp != nullptr ? udp->group().fds() : std::vector<int>{});
      return;
    }
    case RequestKind::kPorts: {
      const std::scoped_lock guard{shard_.lock};
      const PortSpace* const ports = shard_.network.ports();
      (void)send_message(fd, encode_answer(),
                         ports != nullptr ? std::vector{ports->descriptor()} : std::vector<int>{});
      return;
    }
    case RequestKind::kReport:
      // The primary shard reports for all.
      (void)send_message(fd, encode_answer(shard_.is_primary() ? report(shard_) : ""), {});
      return;
  }
}

bool Meetings::refuse_call(int listener) {
  // A call that is not taken would wake us again at once, for ever. The caller hears that nobody
  // has time for him: the connection closes.
  if (!std::exchange(told_of_refusal_, true)) {
    log(LogLevel::kWarn,
        "a process cannot be met: %s; raise the limit with ulimit -n or close descriptors",
        std::strerror(EMFILE));
  }
  spare_ = Descriptor{};
  const bool refused = static_cast<bool>(accept_from(listener));
  spare_ = open_spare();
  // Not even that, when a thread of the program's was quicker, or its limit is below what it has
  // open already.
  return refused;
}

void Meetings::reach(const wire::Gid& peer, Qpn qpn) {
  reach_slot(peer, slot_of(qpn), shard_.config.transport != Transport::kUdp);
}

void Meetings::reach_service(const wire::Gid& peer, wire::ServiceId service) {
  std::optional<std::uint32_t> to;
  {
    const std::scoped_lock guard{shard_.lock};
    if (const PortSpace* const ports = shard_.network.ports()) to = ports->owner(service);
  }
  reach_slot(peer, to.value_or(shard_.slot), true);
}

void Meetings::reach_comm(const wire::Gid& peer, wire::CommId id) {
  // Also where all goes by UDP: whoever reads the datagram there passes it on by a ring, and that
  // may be us.
  reach_slot(peer, slot_of(id), true);
}

void Meetings::reach_slot(const wire::Gid& peer, std::uint32_t to, bool by_ring) {
  {
    const std::scoped_lock guard{shard_.lock};
    if (!shard_.exchange.is_local(peer)) {
      if (shard_.network.udp() != nullptr) return;
      return log(LogLevel::kWarn, "no way to a peer on another host: %s",
                 shard_.network.why_no_udp());
    }
    if (to == shard_.slot || shard_.exchange.has_ring_to(to)) return;
  }
  if (by_ring) open_ring(to);
}

void Meetings::open_ring(std::uint32_t to) {
  constexpr std::chrono::milliseconds kPatience{1000};
  if (to == 0) return;
  const std::scoped_lock one_at_a_time{opening_};
  {
    const std::scoped_lock guard{shard_.lock};
    if (shard_.exchange.has_ring_to(to)) return;  // whoever was before us in the queue has made it
  }
  auto offer = RingOffer::make(to, shard_.slot, ring_size(shard_.config.ring_size));
  const char* why = offer ? "it does not answer" : std::strerror(errno);
  auto ring = offer ? std::move(*offer).conclude(kPatience) : nullptr;
  const std::scoped_lock guard{shard_.lock};
  if (ring) {
    const int connection = ring->connection();
    if (shard_.exchange.add(std::move(ring), now())) shard_.watcher.watch_connection(connection);
  } else if (shard_.network.udp() != nullptr) {
    log(LogLevel::kInfo, "no shared memory to the process in slot %u: %s", to, why);
  } else {
    log(LogLevel::kWarn, "no way to the process in slot %u: shared memory: %s; udp: %s", to, why,
        shard_.network.why_no_udp());
  }
}

void Meetings::offer_wanted() {
  // One at a time: packets from the network say what is wanted, and may say anything.
  const auto to = shard_.exchange.take_wanted();
  if (to && *to != 0 && !shard_.exchange.has_ring_to(*to)) offer_ring(*to);
}

void Meetings::offer_ring(std::uint32_t to, std::optional<pid_t> owner) {
  if (std::ranges::find(offers_, to, &RingOffer::slot) != offers_.end()) return;
  auto offer = RingOffer::make(to, shard_.slot, ring_size(shard_.config.ring_size));
  // A slot that became free may have been taken by another process at once.
  const bool gone = offer ? owner && offer->pid() != *owner : errno == ECONNREFUSED;
  if (gone) return nobody_in(to);
  if (!offer) return shard_.exchange.no_ring_to(to);
  shard_.watcher.watch_connection(offer->connection());
  offers_.push_back(std::move(*offer));
}

bool Meetings::conclude_offer(int connection) {
  const auto offer = std::ranges::find(offers_, connection, &RingOffer::connection);
  if (offer == offers_.end()) return false;
  const std::uint32_t to = offer->slot();
  const pid_t owner = offer->pid();
  auto ring = std::move(*offer).conclude(std::chrono::milliseconds{0});
  offers_.erase(offer);
  if (ring) {
    if (shard_.exchange.add(std::move(ring), now())) shard_.watcher.watch_connection(connection);
    return true;
  }
  const Descriptor again = call(name_of_slot(to));
  const bool gone = again ? own_peer(again.get()) != owner : errno == ECONNREFUSED;
  if (gone) {
    nobody_in(to);  // it died before it answered
  } else {
    shard_.exchange.no_ring_to(to);
  }
  return true;
}

void Meetings::hang_up(int connection) {
  if (conclude_offer(connection)) return;
  const std::optional<pid_t> owner = own_peer(connection);
  shard_.exchange.drain(connection, shard_.taps->sink(), now());
  const auto silent = shard_.exchange.hang_up(connection);
  // Whether its process is dead shows when it is called. Nothing else tells those that have
  // connections with it.
  if (silent && shard_.network.ports() != nullptr) offer_ring(*silent, owner);
  shard_.transmit(now());
}

void Meetings::nobody_in(std::uint32_t empty) {
  // Each direction has its connection, and the one that tells of the death may not be the one over
  // which the last words came.
  shard_.exchange.drain_slot(empty, shard_.taps->sink(), now());
  shard_.exchange.nobody_in(empty, shard_, now());
  const wire::CommId one_of_its{empty << nic::kCommIdBits};
  for (Adapter::State* adapter : shard_.adapters) {
    adapter->nic.cm().lose_peer(one_of_its, shard_.exchange.local(), now());
  }
  shard_.transmit(now());
}

void Meetings::leave() { new (&opening_) std::mutex; }

}  // namespace nerve::host
