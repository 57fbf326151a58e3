// Memory behind a copy engine, such as a GPU's: bytes arrive some time after they were asked for.
//
// An engine has at most one late memory, which serves all its late regions
// (NicConfig::late_memory). It never waits: what it needs is fetched into host memory first, and
// what it wrote counts only after it has landed. Neither order nor speed is assumed: later fetches
// may complete first. Writes land in the order of their tickets.
//
// The memory may disappear while it is registered (freed, or its device failed). Then fetch() and
// landed() fail; nothing else happens.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory_port.h"

namespace nerve {

class LateMemory : public MemoryPort {
 public:
  enum class Progress : std::uint8_t { kDone, kLater, kFailed };

  // A part of a message that is about to be sent.
  struct Wanted {
    std::uint64_t address{};
    std::uint32_t length{};
    // Bytes behind this part, contiguous with it, that belong to the same message and will be
    // wanted next.
    std::uint64_t follow{};
    // Further parts of the same length behind it that are welcome, if they are there too.
    std::uint32_t more{};
    const void* engine{};  // that sends it
    // Identifies the message among those of the engine. Bytes may be kept for a message, to be sent
    // again, but not for another one: the program may have changed the memory in between.
    std::uint64_t message{};
  };
  struct Fetched {
    Progress progress{};
    const std::byte* bytes{};  // if done: valid until release()
    std::uint32_t parts{1};    // contiguous, at most 1 + more
  };

  // Starts to bring the part into host memory, unless it is there or on its way.
  virtual Fetched fetch(const Wanted& wanted) = 0;
  // The engine has sent the frames that refer to what it fetched before.
  virtual void release(const void* engine) = 0;

  // The number of writes so far: the ticket of the last one. write() only begins a write, and
  // copies the bytes that it is given.
  using Ticket = std::uint64_t;
  [[nodiscard]] virtual Ticket written() const = 0;
  // Whether the writes after one ticket, up to and including another, have landed. kFailed if one
  // of them never will.
  virtual Progress landed(Ticket after, Ticket last) = 0;
};

}  // namespace nerve
