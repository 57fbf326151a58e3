// Accepts connections and hands over each one with the first message that it sends. A connection
// that sends nothing, or too much, delays no other.
#pragma once

#include <poll.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ai/sockets.h"

namespace nerve::ai {

class Reception {
 public:
  explicit Reception(const Descriptor& listener) : listener_{listener} {}

  // Waits at most this long for something to happen; calls take(Descriptor, bytes) for each
  // connection whose message is complete.
  template <class Take>
  void wait(int timeout_ms, Take take) {
    std::vector<pollfd> fds{{listener_.get(), POLLIN, 0}};
    for (const Guest& guest : guests_) fds.push_back({guest.socket.get(), POLLIN, 0});
    if (listener_.calls().poll(fds.data(), fds.size(), timeout_ms) <= 0) return;
    for (Guest& guest : guests_) {
      const PartialMessage::State state = guest.message.read_from(guest.socket);
      if (state == PartialMessage::State::kMore) continue;
      if (state == PartialMessage::State::kComplete) {
        take(std::move(guest.socket), guest.message.bytes());
      }
      guest.socket.close();
    }
    std::erase_if(guests_, [](const Guest& guest) { return !guest.socket.open(); });
    while (guests_.size() < kMostGuests) {
      Descriptor socket = accept_waiting(listener_);
      if (!socket.open()) return;
      guests_.push_back({std::move(socket), {}});
    }
  }

 private:
  struct Guest {
    Descriptor socket;
    PartialMessage message;
  };
  static constexpr std::size_t kMostGuests = 2048;

  const Descriptor& listener_;
  std::vector<Guest> guests_;
};

}  // namespace nerve::ai
