// Streams between all pairs of ranks, on which the collectives are built. Data travels in one of
// two forms:
//
// - a chunk goes into the next slot of scratch memory that the receiver registered for this sender
//   when the group was joined. The receiver returns slots as credits, half of them at a time.
// - direct data goes into the receiver's own tensor, after the receiver has announced it.
//
// Chunks from one peer are received in order, and so is direct data; there is no order between the
// two.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "ai/engine.h"
#include "ai/memory_cache.h"

namespace nerve::ai {

class Streams {
 public:
  static constexpr std::size_t kSlots = 8;
  // Data up to this length may be sent from a copy, which needs no registration.
  static constexpr std::size_t kCopied = 16384;

  struct Announced {  // as it lies in the scratch memory of the peer
    std::uint64_t address;
    std::uint64_t length;
    Keys keys;
    std::uint64_t gpu;  // 1 if it is GPU memory
  };

  explicit Streams(Engine& engine);
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams();

  // Allocates and registers the scratch memory; its place for the peers; and theirs.
  Status create();
  [[nodiscard]] std::string address() const;
  Status connect(int peer, const std::string& address);

  [[nodiscard]] std::size_t slot_bytes() const { return slot_bytes_; }
  MemoryCache& memory() { return *memory_; }

  // --- chunks
  // Waits for a credit and sends at most slot_bytes(). Without a counter the data must be a copy
  // from copy(), or at most kInline bytes.
  Status send(int peer, const std::byte* data, std::size_t length, const Registration* memory,
              std::optional<Counter> counter);
  // The slot of the next chunk of this peer, once it has arrived.
  Result<std::byte*, Error> receive(int peer);
  [[nodiscard]] bool arrived(int peer) const;
  // The oldest received slot may be overwritten.
  Status release(int peer);

  // Memory for at most kCopied bytes that several peers can be sent from without a counter. Valid
  // for sends until the next call.
  struct Copy {
    std::byte* data;
    const Registration* memory;
  };
  Result<Copy, Error> copy();

  // Whether the device copies memory of this peer while a request is posted, as Nerve does on one
  // host. Tries it.
  Result<bool, Error> copies_directly(int peer);

  // Memory for kReadArea bytes that are read from peers.
  static constexpr std::size_t kReadArea = 1U << 20;
  [[nodiscard]] Copy read_area() const {
    return {inbox(engine_.size()) + kCopies * kCopied, scratch_memory_.get()};
  }

  // --- direct data
  // Lets the peer write to this memory, until it has done so.
  Status announce(int peer, const std::byte* data, std::size_t length, const Registration& memory);
  // What the peer announced next; its length is checked by the caller.
  Result<Announced, Error> wait_announced(int peer);
  Status send_direct(int peer, const std::byte* data, std::size_t length,
                     const Registration& memory, const Announced& to, std::size_t offset,
                     Counter counter);
  // What was written to the peer's memory before has arrived there; counts as a piece.
  Status notify_direct(int peer);
  // Waits for one more piece of direct data.
  Status receive_direct(int peer);

 private:
  static constexpr std::size_t kAnnouncedEntries = 64;
  static constexpr std::size_t kAnnouncedSize = 64;  // of an entry
  static constexpr std::size_t kCopies = 2 * kSlots;

  struct Outbound {
    std::uint64_t chunks{};  // sent
    std::uint64_t free{kSlots};
    std::uint64_t direct{};
    std::uint64_t scratch{};  // of the peer, for this rank
    Keys keys{};
    [[nodiscard]] std::uint64_t consumed() const { return chunks + free - kSlots; }
  };
  struct Inbound {
    std::vector<std::uint64_t> chunks;  // arrived on each lane
    std::vector<std::uint64_t> direct;
    std::uint64_t received{};
    std::uint64_t released{};
    std::uint64_t owed{};  // credits
    std::uint64_t direct_received{};
    std::deque<std::uint32_t> ready;
  };
  // A tensor that peers know under an index.
  struct Entry {
    const std::byte* data{};
    std::size_t length{};
    const Registration* memory{};
    std::uint64_t used{};
    std::vector<bool> known;  // by which peers
  };

  [[nodiscard]] std::size_t inbox_bytes() const {
    return kAnnouncedEntries * kAnnouncedSize + kSlots * slot_bytes_;
  }
  [[nodiscard]] std::byte* inbox(int peer) const {
    return scratch_ + static_cast<std::size_t>(peer) * inbox_bytes();
  }
  [[nodiscard]] std::byte* slot(int peer, std::uint64_t sequence) const {
    return inbox(peer) + kAnnouncedEntries * kAnnouncedSize + sequence % kSlots * slot_bytes_;
  }
  [[nodiscard]] int lane_of(std::uint64_t sequence) const {
    return static_cast<int>(sequence % static_cast<std::uint64_t>(lanes_));
  }
  void handle(Notice notice, int peer, int lane, std::uint32_t value);
  void forget(const Registration& memory);
  std::size_t entry_for(const std::byte* data, std::size_t length, const Registration& memory);

  Outbound& out(int peer) { return out_[static_cast<std::size_t>(peer)]; }
  Inbound& in(int peer) { return in_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] const Inbound& in(int peer) const { return in_[static_cast<std::size_t>(peer)]; }

  Engine& engine_;
  int lanes_;
  std::size_t slot_bytes_;
  std::byte* scratch_{};
  std::size_t scratch_bytes_{};
  std::unique_ptr<Registration> scratch_memory_;
  std::unique_ptr<MemoryCache> memory_;
  std::vector<Outbound> out_;
  std::vector<Inbound> in_;
  std::vector<Entry> entries_;
  std::uint64_t clock_{};  // of `Entry::used`
  std::size_t next_copy_{};
  // For each copy and peer: the chunks sent when the copy was last sent to that peer.
  std::vector<std::vector<std::uint64_t>> copy_sent_;
};

}  // namespace nerve::ai
