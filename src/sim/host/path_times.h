// What a job waited for: the times of the messages and timers that followed each other, each sent
// or set in the handling of the event before it, from the start of the job to an event.
//
// A program acts when the last thing that it waited for has happened, so the path of the event that
// ends a job is its critical path. The three times add up to the time since the job's start.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace nerve::sim {

struct PathTimes {
  Duration compute{};                // timers
  Duration server{};                 // messages within a server
  Duration network{};                // messages between servers
  std::uint64_t bytes{};             // of the latter
  std::uint32_t messages{};          // between servers
  std::uint32_t acknowledgements{};  // of them, waited for until they were acknowledged
  std::uint32_t server_messages{};

  friend bool operator==(const PathTimes&, const PathTimes&) = default;

  void add_timer(Duration time) { compute += time; }
  void add_message(Duration time, std::uint64_t length, bool within_server, bool acknowledged) {
    if (within_server) {
      server += time;
      ++server_messages;
      return;
    }
    network += time;
    bytes += length;
    ++messages;
    if (acknowledged) ++acknowledgements;
  }
};

}  // namespace nerve::sim
