#include "host/shared.h"

#include <algorithm>

namespace nerve::host {
namespace {

// Frames taken in before the engines may answer: enough to be worth it, few enough that an
// answer does not wait long.
constexpr std::size_t kBudget = 256;

// When QPs wait for room in a ring, somebody looks at least this often.
constexpr Duration kLookForRoom = std::chrono::milliseconds{1};

std::vector<wire::Gid> addresses_of_this_machine() {
  std::vector<wire::Gid> gids;
  for (const Interface& interface : list_interfaces()) {
    gids.insert(gids.end(), interface.addresses.begin(), interface.addresses.end());
  }
  return gids;
}

}  // namespace

Host::Shared::Shared(Config settings, Membership joined, Mailbox mailbox)
    : config{std::move(settings)},
      slot{joined.slot},
      exchange{config.transport, joined.slot},
      watcher{*this, lock, std::move(mailbox), std::move(joined.listener)} {
  exchange.set_local(addresses_of_this_machine());
  exchange.set_own(OwnRing::make({}));
}

void Host::Shared::deliver(std::span<const wire::Frame> frames, Time at) {
  const auto ours = [&](const wire::Frame& frame) {
    const std::uint32_t qpn = frame.headers.bth.dest_qp.value();
    return slot_of(frame.headers.bth.dest_qp) == slot || qpn <= 1 || qpn == Qpn::kMask;
  };
  const auto belong = [&](const wire::Frame& a, const wire::Frame& b) {
    return a.flow.destination == b.flow.destination && ours(a) == ours(b);
  };
  while (!frames.empty()) {
    std::size_t run = 1;
    while (run < frames.size() && belong(frames[0], frames[run])) ++run;
    const auto some = frames.first(run);
    frames = frames.subspan(run);
    if (!ours(some[0])) {
      exchange.forward(some, at);
      continue;
    }
    const wire::Gid& to = some[0].flow.destination;
    for (Adapter::State* adapter : adapters) {
      if (adapters.size() == 1 || to.is_multicast() || adapter->owns(to)) {
        adapter->nic.receive(some, at);
      }
    }
  }
}

bool Host::Shared::drive(Time at) {
  const bool arrived = exchange.receive(*this, kBudget, at) > 0;
  for (Adapter::State* adapter : adapters) {
    const std::optional<Time> deadline = adapter->nic.next_deadline();
    if (deadline && *deadline <= at) adapter->nic.expire(at);
  }
  transmit(at);
  return arrived;
}

void Host::Shared::transmit(Time at) {
  if (exchange.room_again()) {
    for (Adapter::State* adapter : adapters) adapter->nic.resume();
  }
  for (Adapter::State* adapter : adapters) {
    adapter->transmit(at);
    adapter->tell_events();
  }
}

std::optional<Time> Host::Shared::next_wake() {
  std::optional<Time> earliest;
  const auto consider = [&](std::optional<Time> t) {
    if (t && (!earliest || *t < *earliest)) earliest = t;
  };
  for (Adapter::State* adapter : adapters) {
    consider(adapter->nic.next_deadline());
    if (adapter->nic.any_parked()) consider(now() + kLookForRoom);
  }
  return earliest;
}

void Host::Shared::hang_up(int connection) {
  while (exchange.receive(*this, kBudget, now()) > 0) {
  }
  exchange.hang_up(connection);
  transmit(now());
}

void Host::Shared::take_call(int listener) {
  constexpr std::chrono::milliseconds kPatience{100};
  Descriptor connection = accept_from(listener);
  const std::optional<pid_t> pid = connection ? own_peer(connection.get()) : std::nullopt;
  if (!pid) return;
  const auto message = receive_message(connection.get(), kPatience);
  const auto request = message ? Request::decode(message->octets) : std::nullopt;
  if (!request) return;
  const int fd = connection.get();
  const auto answer = encode_answer();
  switch (request->kind) {
    case RequestKind::kRing: {
      auto ring = IncomingRing::accept(std::move(connection), *pid, *request, *message);
      if (!ring) return;
      const std::array shared{watcher.mailbox().memory(), watcher.mailbox().event()};
      const std::scoped_lock guard{lock};
      exchange.add(std::move(ring));
      watcher.watch_connection(fd);
      (void)send_message(fd, answer, shared);
      return;
    }
    case RequestKind::kPort:
    case RequestKind::kReport:
      return;
  }
}

void Host::Shared::reach(const wire::Gid& peer, Qpn qpn) {
  const std::uint32_t to = slot_of(qpn);
  if (config.transport == Transport::kUdp || to == slot || to == 0) return;
  const std::scoped_lock one_at_a_time{making};
  {
    const std::scoped_lock guard{lock};
    if (exchange.has_ring_to(to) || !exchange.is_local(peer)) return;
  }
  auto ring = OutgoingRing::open(to, slot, {});
  if (!ring) return;
  const std::scoped_lock guard{lock};
  watcher.watch_connection(ring->connection());
  exchange.add(std::move(ring));
}

}  // namespace nerve::host
