// How a target waits for placements that are under way, before the memory they act on goes away.
//
// Each requester has one word in memory that it writes and its targets read: odd while it places.
//
//    requester: word becomes odd (seq_cst)      target: entry is withdrawn (seq_cst)
//               looks the entry up (seq_cst)            looks at the word (seq_cst)
//               places                                  odd: waits until it is another number
//               word becomes even (release)             (acquire)
//
// In the one order of the four either the requester does not find the entry, or the target finds
// the word odd and waits. A word that has changed, even to another odd number, belongs to a
// placement that began after the withdrawal and cannot have seen the entry.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

namespace nerve::link::shm {

// Lives while a requester looks up rights and places. One at a time for each word.
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

// A placement that is under way, as its target sees it.
class Placement {
 public:
  // The one that this word tells of, if any. To be asked after the entry is withdrawn.
  [[nodiscard]] static std::optional<Placement> under_way(const std::atomic<std::uint64_t>& in_use);

  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] bool is_over() const { return in_use_->load(std::memory_order_acquire) != number_; }
  // Returns when it is over, or when `alive` says no: what is dead places no more. That is asked
  // now and then, so the caller may also use it to give up on a requester that was stopped.
  void wait(const std::function<bool()>& alive) const;

 private:
  Placement(const std::atomic<std::uint64_t>& in_use, std::uint64_t number)
      : in_use_{&in_use}, number_{number} {}

  const std::atomic<std::uint64_t>* in_use_;
  std::uint64_t number_;
};

}  // namespace nerve::link::shm
