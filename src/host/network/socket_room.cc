#include "host/network/socket_room.h"

#include <algorithm>
#include <utility>

namespace nerve::host {
namespace {

// Approximate overhead that the kernel charges for a packet beside its payload. It may be twice as
// much for a large packet that arrives alone; the share that a sender takes leaves room for that.
constexpr std::uint64_t kOverhead = 1024;
constexpr std::uint64_t kLargest = 4096 + kOverhead;

// A sender takes one part in this many of the free space, so that several can send at once.
constexpr std::uint64_t kPart = 8;

constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

// A share expires after this time: other senders may have filled the socket.
constexpr Duration kShareLasts = std::chrono::microseconds{50};

// The delay before a full socket is checked again: the first one, and the longest.
constexpr Duration kFirstSocketLook = std::chrono::microseconds{20};
constexpr Duration kLastLook = std::chrono::milliseconds{1};

// A process that has read nothing for this long is stopped or hangs. Longer than for rings
// (exchange.cc), because no reliable QP, with its retransmission timer, waits here.
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
  // A full socket is not checked again before next_look.
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
  // A waiting QP checks every millisecond. If none has checked for a while, the socket may have
  // been drained and filled again by others, so the time restarts. A receiver that was already
  // considered stuck remains so until its socket has room.
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
    // If the socket is not full, only the share of a burst was used up, and the next burst checks
    // again.
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
