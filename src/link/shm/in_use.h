// How a target waits for placements under way before it frees or changes the memory they access.
//
// Each requester has one word in memory that it writes and its targets read; it is odd while the
// requester places.
//
//    requester: makes the word odd (seq_cst)    target: removes the entry (seq_cst)
//               looks up the entry (seq_cst)            reads the word (seq_cst)
//               places                                  if odd, waits until it has changed
//               makes the word even (release)           (acquire)
//
// The four seq_cst operations have a total order, so either the requester does not find the entry,
// or the target sees the word odd and waits. If the word has changed, even to another odd number,
// that later placement began after the removal and cannot have seen the entry.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

namespace nerve::link::shm {

// Exists while a requester looks up rights and places. One at a time for each word.
class Placing {
 public:
  explicit Placing(std::atomic<std::uint64_t>& in_use) : in_use_{in_use} {
    in_use_.store(in_use_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  }
  ~Placing() {
    in_use_.store(in_use_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  Placing(const Placing&) = delete;
  Placing& operator=(const Placing&) = delete;

 private:
  std::atomic<std::uint64_t>& in_use_;
};

// A placement under way, as its target sees it.
class Placement {
 public:
  // The placement that this word announces, if any. Call it after the entry was removed.
  [[nodiscard]] static std::optional<Placement> under_way(const std::atomic<std::uint64_t>& in_use);

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] bool is_over() const { return in_use_->load(std::memory_order_acquire) != number_; }
  // Returns when the placement is over, or when `alive` returns false: a dead process places
  // nothing. `alive` is called repeatedly, so the caller may also use it to give up on a stopped
  // requester.
  void wait(const std::function<bool()>& alive) const;

 private:
  Placement(const std::atomic<std::uint64_t>& in_use, std::uint64_t number)
      : in_use_{&in_use}, number_{number} {}

  const std::atomic<std::uint64_t>* in_use_;
  std::uint64_t number_;
};

}  // namespace nerve::link::shm
