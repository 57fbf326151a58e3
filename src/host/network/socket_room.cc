#include "host/network/socket_room.h"

#include <algorithm>
#include <utility>

namespace nerve::host {
namespace {

// What the kernel counts for a packet beside its payload, roughly. It may be twice as much for a
// large packet that travels alone; the part of the room that a sender takes leaves space for that.
constexpr std::uint64_t kOverhead = 1024;
constexpr std::uint64_t kLargest = 4096 + kOverhead;

// Of what is free, a sender takes this part, so that several can send at once.
constexpr std::uint64_t kPart = 8;

constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

// A share that was not used at once says nothing any more: others have sent meanwhile.
constexpr Duration kShareLasts = std::chrono::microseconds{50};

// How soon a full socket is looked at again: at first, and at last.
constexpr Duration kFirstSocketLook = std::chrono::microseconds{20};
constexpr Duration kLastLook = std::chrono::milliseconds{1};

// A process that has read nothing for so long is stopped, or hangs. Longer than for rings
// (exchange.cc): reliable QPs, which have timers to keep, do not wait here.
constexpr Duration kReceiverStuckAfter = std::chrono::seconds{1};

}  // namespace

std::uint32_t SocketRoom::grant(std::uint32_t slot, std::uint32_t frames, Time now) {
  Socket& socket = socket_of(slot);
  last_granted_ = &socket;
  const bool fresh = now >= socket.looked_at && now - socket.looked_at < kShareLasts;
  if (socket.granted == 0 && (!fresh || socket.share < kLargest) && !look(socket, now)) {
    socket.refused = any_refused_ = true;
    return 0;
  }
  const std::uint64_t left = socket.share - std::min(socket.share, socket.granted);
  const auto granted = static_cast<std::uint32_t>(std::min<std::uint64_t>(frames, left / kLargest));
  if (granted == 0) socket.refused = any_refused_ = true;
  socket.granted += granted * kLargest;
  any_granted_ = true;
  return granted;
}

bool SocketRoom::look(Socket& socket, Time now) {
  // While it is full, everything waits for the next look.
  if (socket.full_since && now < socket.next_look) {
    return now - *socket.full_since >= kReceiverStuckAfter;
  }
  const std::optional<Level> level = look_(static_cast<std::uint32_t>(&socket - sockets_.data()));
  const Time looked_before = std::exchange(socket.looked_at, now);
  const std::uint64_t free = level ? level->size - std::min(level->size, level->used) : 0;
  socket.share = std::max(level ? free / kPart : kUnlimited, kLargest);
  if (!level || free >= level->size / 4) {
    socket.full_since.reset();
    return true;
  }
  // A QP that waits looks every millisecond. When none did, the socket may have been read meanwhile
  // and filled again by others; but one that was given up stays so until it has room.
  const auto may_have_drained = [&] {
    return level->used < socket.used || (looked_before - *socket.full_since < kReceiverStuckAfter &&
                                         now - looked_before > kReceiverStuckAfter / 4);
  };
  if (!socket.full_since || may_have_drained()) socket.full_since = now;
  socket.used = level->used;
  const Duration full_for = now - *socket.full_since;
  socket.next_look = now + std::clamp(full_for / 4, kFirstSocketLook, kLastLook);
  const bool stuck = full_for >= kReceiverStuckAfter;
  socket.share = stuck ? kUnlimited : 0;
  return stuck;
}

void SocketRoom::give_back(std::uint32_t unused) {
  if (last_granted_ == nullptr) return;
  last_granted_->granted -= std::min(last_granted_->granted, unused * kLargest);
}

void SocketRoom::begin_burst() {
  last_granted_ = nullptr;
  if (!std::exchange(any_granted_, false)) return;
  for (Socket& socket : sockets_) socket.granted = 0;
}

void SocketRoom::sent(std::uint32_t slot, std::uint64_t frames, std::uint64_t bytes) {
  Socket& socket = socket_of(slot);
  socket.share -= std::min(socket.share, frames * kOverhead + bytes);
}

bool SocketRoom::room_again(Time now) {
  bool room = false;
  if (!std::exchange(any_refused_, false)) return room;
  for (Socket& socket : sockets_) {
    if (!socket.refused) continue;
    // Not full: the share of a burst was used up, and the next burst looks again.
    if (socket.full_since && !look(socket, now)) {
      any_refused_ = true;
      continue;
    }
    socket.refused = false;
    room = true;
  }
  return room;
}

std::optional<Time> SocketRoom::next_room() const {
  std::optional<Time> next;
  if (!any_refused_) return next;
  for (const Socket& socket : sockets_) {
    if (!socket.refused) continue;
    const Time at = socket.full_since ? socket.next_look : socket.looked_at;
    if (!next || at < *next) next = at;
  }
  return next;
}

}  // namespace nerve::host
