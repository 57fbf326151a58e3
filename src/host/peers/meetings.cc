#include "host/peers/meetings.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "host/diagnostics/log.h"
#include "host/diagnostics/report.h"
#include "host/network/own_flows.h"
#include "host/shard.h"
#include "nic/connection/connection_manager.h"

namespace nerve::host {
namespace {

Descriptor open_spare() { return Descriptor{::open("/dev/null", O_RDONLY | O_CLOEXEC)}; }

}  // namespace

Meetings::Meetings(Shard& shard) : shard_{shard}, spare_{open_spare()} {}

TakenCall Meetings::take_call(int listener) {
  Descriptor connection = accept_from(listener);
  if (connection) {
    const std::optional<pid_t> pid = own_peer(connection.get());
    if (!pid) return TakenCall::kStranger;
    answer_call(std::move(connection), *pid);
    return TakenCall::kAnswered;
  }
  if (errno == EMFILE || errno == ENFILE) {
    return refuse_call(listener) ? TakenCall::kAnswered : TakenCall::kPending;
  }
  const bool none = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
  return none ? TakenCall::kNone : TakenCall::kPending;  // the caller may have given up
}

void Meetings::answer_call(Descriptor connection, pid_t pid) {
  constexpr std::chrono::milliseconds kPatience{100};
  const auto message = receive_message(connection.get(), kPatience);
  const auto request = message ? Request::decode(message->bytes) : std::nullopt;
  if (!request) return;
  const int fd = connection.get();
  switch (request->kind) {
    case RequestKind::kRing: {
      // The slot decides for which QPs we accept its frames.
      if (!holds_slot(pid, request->slot)) {
        return log(LogLevel::kInfo, "process %d offers a ring for slot %u, which it does not have",
                   pid, request->slot);
      }
      auto ring = IncomingRing::accept(std::move(connection), *request, *message);
      if (!ring) return;
      const std::scoped_lock guard{shard_.lock};
      shard_.exchange.add(std::move(ring));
      shard_.watcher.watch_connection(fd);
      const bool udp_only = shard_.config.transport == Transport::kUdp;
      (void)send_message(fd, encode_answer(udp_only ? kUdpOnly : ""),
                         shard_.watcher.mailbox().descriptors());
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
    case RequestKind::kStatistics: {
      const Statistics* const statistics = shard_.shards.statistics();
      (void)send_message(
          fd, encode_answer(),
          statistics != nullptr ? std::vector{statistics->descriptor()} : std::vector<int>{});
      return;
    }
    case RequestKind::kReport:
      // The primary shard reports for all.
      (void)send_message(fd, encode_answer(shard_.is_primary() ? report(shard_) : ""), {});
      return;
    case RequestKind::kFlows:
      (void)send_flows(fd, flows_of(shard_));
      return;
    case RequestKind::kSteer:
      if (const auto orders = decode_orders(message->bytes)) {
        (void)send_message(fd, encode_result(steer(shard_, *orders)), {});
      }
      return;
  }
}

bool Meetings::refuse_call(int listener) {
  // A pending connection that is not accepted would wake us again at once, forever. Close the spare
  // descriptor to accept it, and close it: the caller sees that the connection is refused.
  if (!std::exchange(refusal_logged_, true)) {
    log(LogLevel::kWarn,
        "cannot accept a connection from another process: %s; raise the limit with ulimit -n or "
        "close descriptors",
        std::strerror(EMFILE));
  }
  spare_ = Descriptor{};
  const bool refused = static_cast<bool>(accept_from(listener));
  spare_ = open_spare();
  // Accepting fails again if a thread of the program took the descriptor first, or the limit is
  // below the number of open descriptors.
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
  // Also if all traffic uses UDP: the process that reads the datagram from the socket forwards it
  // by a ring, and that process may be this one.
  reach_slot(peer, slot_of(id), true);
}

void Meetings::reach_slot(const wire::Gid& peer, std::uint32_t to, bool by_ring) {
  {
    const std::scoped_lock guard{shard_.lock};
    if (!shard_.exchange.is_local(peer)) {
      if (shard_.network.udp() != nullptr) return;
      return log(LogLevel::kWarn, "a peer on another host cannot be reached: udp: %s",
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
    if (shard_.exchange.has_ring_to(to)) return;  // created while we waited for opening_
  }
  auto offer = RingOffer::make(to, shard_.slot, ring_size(shard_.config.ring_size));
  const char* why = offer ? "it does not answer" : std::strerror(errno);
  auto ring = offer ? std::move(*offer).conclude(kPatience) : nullptr;
  const std::scoped_lock guard{shard_.lock};
  if (ring) {
    if (ring->peer_is_udp_only() && shard_.network.udp() == nullptr) {
      log(LogLevel::kWarn,
          "process %d sends with --transport udp, which this process cannot receive: %s. Use the "
          "same --transport at both ends",
          ring->pid(), shard_.network.why_no_udp());
    }
    const int connection = ring->connection();
    if (shard_.exchange.add(std::move(ring), now())) shard_.watcher.watch_connection(connection);
  } else if (shard_.network.udp() != nullptr) {
    log(LogLevel::kInfo, "no shared memory ring to the process in slot %u: %s; udp is used", to,
        why);
  } else {
    log(LogLevel::kWarn, "the process in slot %u cannot be reached: shared memory: %s; udp: %s", to,
        why, shard_.network.why_no_udp());
  }
}

void Meetings::offer_wanted() {
  // One at a time: the requests come from packets off the network, which may contain anything.
  const auto to = shard_.exchange.take_wanted();
  if (to && *to != 0 && !shard_.exchange.has_ring_to(*to)) offer_ring(*to);
}

void Meetings::offer_ring(std::uint32_t to, std::optional<pid_t> owner) {
  if (std::ranges::find(offers_, to, &RingOffer::slot) != offers_.end()) return;
  auto offer = RingOffer::make(to, shard_.slot, ring_size(shard_.config.ring_size));
  // A freed slot may have been taken by another process at once.
  const bool gone = offer ? owner && offer->pid() != *owner : errno == ECONNREFUSED;
  if (!offer) shard_.exchange.remember_nobody(to, now());
  if (gone) return handle_dead_slot(to);
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
    handle_dead_slot(to);  // it died before it answered
  } else {
    shard_.exchange.no_ring_to(to);
  }
  return true;
}

void Meetings::connection_closed(int connection) {
  if (conclude_offer(connection)) return;
  const std::optional<pid_t> owner = own_peer(connection);
  shard_.exchange.drain(connection, shard_.taps->sink(), now());
  const auto silent = shard_.exchange.remove_connection(connection);
  // Connecting to the slot shows whether its process is dead. There is no other notification for
  // the CM connections with that process.
  if (silent && shard_.network.ports() != nullptr) offer_ring(*silent, owner);
  shard_.transmit(now());
}

void Meetings::handle_dead_slot(std::uint32_t empty) {
  // Each direction has its own connection. The one whose closing reveals the death may not be the
  // one over which the last frames came, so drain both.
  shard_.exchange.drain_slot(empty, shard_.taps->sink(), now());
  shard_.exchange.deliver_waiting(empty, shard_, now());
  const wire::CommId one_of_its{empty << nic::kCommIdBits};
  for (Adapter::State* adapter : shard_.adapters) {
    adapter->nic.cm().lose_peer(one_of_its, shard_.exchange.local(), now());
  }
  shard_.transmit(now());
}

void Meetings::leave() { new (&opening_) std::mutex; }

}  // namespace nerve::host
