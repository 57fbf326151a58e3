// The rings between this process and the others of its user: to them, from them, and to itself.
//
// A ring is one-way and created by its writer. Both ends keep the connection over which it was
// agreed; when the other process dies, however it dies, the kernel closes the connection and the
// ring is removed.
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

// The configured size, adjusted to the nearest valid one.
[[nodiscard]] link::shm::RingSize ring_size(std::uint64_t bytes);

// How other processes wake this shard: a flag that says whether it sleeps, and an eventfd that
// wakes it. One per shard, shared by all of its rings.
class Mailbox {
 public:
  // Shares the rights table of `first`, the process's first mailbox, unless this is the first.
  [[nodiscard]] static std::optional<Mailbox> make(const Mailbox* first = nullptr);

  // The descriptors for another process, in the order in which it expects them.
  [[nodiscard]] std::array<int, 3> descriptors() const {
    return {memory_.descriptor.get(), event_.get(), rights_->memory.descriptor.get()};
  }
  [[nodiscard]] int event() const { return event_.get(); }
  // The rights of other processes on our memory, published in memory that only we can write.
  [[nodiscard]] link::shm::RightsPublisher& rights() { return rights_->publisher; }
  // Call fall_asleep() before the last check of the rings, and wake_up() after waking
  // (link/shm/doorbell.h). Returns false if a doorbell may be missed, because membarrier has
  // stopped working: sleep only briefly then.
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

// A ring offered to the process in a slot that has not answered yet.
class RingOffer {
 public:
  // Nothing, with errno, if the slot is empty or another user's, or no memory or descriptor is
  // left.
  [[nodiscard]] static std::optional<RingOffer> make(std::uint32_t slot, std::uint32_t own_slot,
                                                     const link::shm::RingSize& size);

  [[nodiscard]] std::uint32_t slot() const { return slot_; }
  [[nodiscard]] pid_t pid() const { return pid_; }  // of the process that got the offer
  [[nodiscard]] int connection() const { return connection_.get(); }
  // The ring, if a valid answer comes within that time.
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
  // The peer receives through the ring, but all that it sends goes through UDP.
  [[nodiscard]] bool peer_is_udp_only() const { return peer_is_udp_only_; }
  // Since when the ring has been full; nothing if it was not full at the last grant.
  std::optional<Time> full_since;
  // The peer's rights table; null if the kernel does not let us access its memory.
  [[nodiscard]] const link::shm::RightsView* rights() const { return view_ ? &*view_ : nullptr; }
  // Announces our placement to the peer (link/shm/in_use.h).
  [[nodiscard]] std::atomic<std::uint64_t>& in_use() const;

 private:
  friend class RingOffer;
  OutgoingRing() = default;
  std::uint32_t slot_{};
  pid_t pid_{};
  bool peer_is_udp_only_{};
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
  // Maps the ring that came with a request. The caller has checked that the sender runs under our
  // user and holds the slot that the request names.
  [[nodiscard]] static std::unique_ptr<IncomingRing> accept(Descriptor connection,
                                                            const Request& request,
                                                            const Message& message);

  [[nodiscard]] std::uint32_t slot() const { return slot_; }
  [[nodiscard]] int connection() const { return connection_.get(); }
  [[nodiscard]] link::shm::RingReader& reader() { return *reader_; }
  // The writer's placement in our memory that is under way, if any (link/shm/in_use.h).
  [[nodiscard]] std::optional<link::shm::Placement> placement() const;
  // A placement whose process is stopped is waited for only once. Called with and without the
  // host's lock.
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

// The ring from this process to itself; no other process sees its memory.
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
