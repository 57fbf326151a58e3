// The rings between this process and the others of its user: to them, from them, and to itself.
//
// A ring is one-way and made by its writer. Both ends keep the connection over which it was agreed;
// when the other side dies, however it dies, the kernel closes it and the ring goes.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/time.h"
#include "host/peers/greeting.h"
#include "host/peers/mapping.h"
#include "host/peers/shared_memory.h"
#include "host/peers/unix_socket.h"
#include "link/shm/in_use.h"
#include "link/shm/rights_table.h"
#include "link/shm/ring_reader.h"
#include "link/shm/ring_writer.h"

namespace nerve::host {

// What the configuration asks for, brought to the nearest that works.
[[nodiscard]] link::shm::RingSize ring_size(std::uint64_t bytes);

// Where others leave word that they wrote to us: a flag that says whether we sleep, and what wakes
// us. One for each shard, whatever the number of its rings.
class Mailbox {
 public:
  // With the table of rights of `first`, where that is the process's first mailbox.
  [[nodiscard]] static std::optional<Mailbox> make(const Mailbox* first = nullptr);

  // What another process gets, in the order in which it expects them.
  [[nodiscard]] std::array<int, 3> descriptors() const {
    return {memory_.descriptor.get(), event_.get(), rights_->memory.descriptor.get()};
  }
  [[nodiscard]] int event() const { return event_.get(); }
  // What others may do to our memory, told in memory that only we write.
  [[nodiscard]] link::shm::RightsPublisher& rights() { return rights_->publisher; }
  // To be called before the last look at the rings, and after waking (link/shm/doorbell.h). False
  // when a bell may go unheard, because the kernel has taken back what it offered: then do not
  // sleep for long.
  [[nodiscard]] bool fall_asleep();
  void wake_up();

 private:
  struct OwnRights {
    SharedMemory memory;
    link::shm::RightsPublisher publisher{memory.mapping.bytes()};
  };

  SharedMemory memory_;
  Descriptor event_;
  bool fences_{};
  std::shared_ptr<OwnRights> rights_;
};

class OutgoingRing;

// A ring that was offered to the process in a slot, which has not answered yet.
class RingOffer {
 public:
  // Nothing, and errno, when nobody of our own user is there, or no memory or descriptor is left.
  [[nodiscard]] static std::optional<RingOffer> make(std::uint32_t slot, std::uint32_t own_slot,
                                                     const link::shm::RingSize& size);

  [[nodiscard]] std::uint32_t slot() const { return slot_; }
  [[nodiscard]] pid_t pid() const { return pid_; }  // of the process to which it was made
  [[nodiscard]] int connection() const { return connection_.get(); }
  // The ring, if the answer comes within that time and is a good one.
  [[nodiscard]] std::unique_ptr<OutgoingRing> conclude(std::chrono::milliseconds patience) &&;

 private:
  RingOffer() = default;
  std::uint32_t slot_{};
  pid_t pid_{};
  link::shm::RingSize size_{};
  bool fences_{};
  Descriptor connection_;
  SharedMemory memory_;
};

class OutgoingRing {
 public:
  [[nodiscard]] std::uint32_t slot() const { return slot_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int connection() const { return connection_.get(); }
  [[nodiscard]] link::shm::RingWriter& writer() { return *writer_; }
  // Since when the ring has been full; nothing when it was not, at the last look.
  std::optional<Time> full_since;
  // The other's rights table; null when the kernel does not let us act on it.
  [[nodiscard]] const link::shm::RightsView* rights() const { return view_ ? &*view_ : nullptr; }
  // Our word that a placement is under way, which the other side sees (link/shm/in_use.h).
  [[nodiscard]] std::atomic<std::uint64_t>& in_use() const;

 private:
  friend class RingOffer;
  OutgoingRing() = default;
  std::uint32_t slot_{};
  pid_t pid_{};
  Descriptor connection_;
  Descriptor event_;
  Mapping memory_;
  Mapping mailbox_;
  Mapping rights_;
  std::optional<link::shm::RightsView> view_;
  std::optional<link::shm::RingWriter> writer_;
};

class IncomingRing {
 public:
  // Takes the ring that came with a request, once the caller is known to be our own user's.
  [[nodiscard]] static std::unique_ptr<IncomingRing> accept(Descriptor connection,
                                                            const Request& request,
                                                            const Message& message);

  [[nodiscard]] std::uint32_t slot() const { return slot_; }
  [[nodiscard]] int connection() const { return connection_.get(); }
  [[nodiscard]] link::shm::RingReader& reader() { return *reader_; }
  // The writer's placement in our memory that is under way, if any (link/shm/in_use.h).
  [[nodiscard]] std::optional<link::shm::Placement> placement() const;
  // A placement that was waited for in vain, because its process is stopped, is not waited for
  // again. Called with and without the host's lock.
  void give_up(std::uint64_t placement) { given_up_ = placement; }
  [[nodiscard]] bool gave_up(std::uint64_t placement) const { return given_up_ == placement; }

 private:
  IncomingRing() = default;
  std::uint32_t slot_{};
  Descriptor connection_;
  Mapping memory_;
  std::optional<link::shm::RingReader> reader_;
  std::atomic<std::uint64_t> given_up_{};
};

// From this process to itself: nobody else sees the memory.
class OwnRing {
 public:
  [[nodiscard]] static std::unique_ptr<OwnRing> make(const link::shm::RingSize& size);
  [[nodiscard]] link::shm::RingWriter& writer() { return *writer_; }
  [[nodiscard]] link::shm::RingReader& reader() { return *reader_; }

 private:
  OwnRing() = default;
  SharedMemory memory_;
  std::optional<link::shm::RingWriter> writer_;
  std::optional<link::shm::RingReader> reader_;
};

}  // namespace nerve::host
