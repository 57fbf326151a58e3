// Receives posted to a QP or an SRQ.
//
// A receive is taken when the first packet of a message arrives and released when the message ends.
// QPs that share the queue release theirs in any order, so slots have a free list in addition to
// the FIFO order in which they are taken.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "base/fixed_array.h"
#include "nic/error.h"
#include "nic/work.h"

namespace nerve::nic {

struct Receive {
  std::uint64_t wr_id{};
  std::uint32_t sge_count{};
  std::uint64_t capacity{};  // total length of the list
};

class ReceiveQueue {
 public:
  ReceiveQueue() = default;
  ReceiveQueue(std::uint32_t max_wr, std::uint32_t max_sge)
      : receives_{max_wr},
        sges_{max_wr * max_sge},
        free_{max_wr},
        waiting_{std::bit_ceil(max_wr)},
        max_sge_{max_sge} {
    clear();
  }

  [[nodiscard]] bool full() const { return free_count_ == 0; }
  [[nodiscard]] std::uint32_t size() const { return tail_ - head_; }
  [[nodiscard]] bool empty() const { return head_ == tail_; }
  // The number of receives held by messages in progress.
  [[nodiscard]] std::uint32_t taken() const { return max_wr() - free_count_ - size(); }
  [[nodiscard]] std::uint32_t max_sge() const { return max_sge_; }
  [[nodiscard]] std::uint32_t max_wr() const { return receives_.size(); }

  [[nodiscard]] Status check(const RecvWr& wr) const {
    if (wr.sges.size() > max_sge_) {
      return refuse(ErrorCode::kInvalid, "post receive: too many scatter/gather entries",
                    wr.sges.size(), max_sge_);
    }
    if (full()) return refuse(ErrorCode::kQueueFull, "post receive: queue full", 0, max_wr());
    return Done{};
  }
  // The caller has called check().
  void post(const RecvWr& wr) {
    const std::uint32_t slot = free_[--free_count_];
    Receive& receive = receives_[slot];
    receive = {.wr_id = wr.wr_id, .sge_count = static_cast<std::uint32_t>(wr.sges.size())};
    Sge* list = sges_.data() + std::size_t{slot} * max_sge_;
    for (const Sge& sge : wr.sges) {
      *list++ = sge;
      receive.capacity += sge.length;
    }
    waiting_[tail_++ & (waiting_.size() - 1)] = slot;
  }
  std::uint32_t take(bool newest = false) {
    CHECK(!empty());
    if (newest) return waiting_[--tail_ & (waiting_.size() - 1)];
    return waiting_[head_++ & (waiting_.size() - 1)];
  }
  void give_back(std::uint32_t slot) { free_[free_count_++] = slot; }

  [[nodiscard]] const Receive& at(std::uint32_t slot) const { return receives_[slot]; }
  [[nodiscard]] std::span<const Sge> sges_of(std::uint32_t slot) const {
    return {sges_.data() + std::size_t{slot} * max_sge_, receives_[slot].sge_count};
  }

  void clear() {
    head_ = tail_ = 0;
    free_count_ = receives_.size();
    for (std::uint32_t i = 0; i < free_count_; ++i) free_[i] = free_count_ - 1 - i;
  }

 private:
  FixedArray<Receive> receives_;
  FixedArray<Sge> sges_;
  FixedArray<std::uint32_t> free_;     // a stack of slots
  FixedArray<std::uint32_t> waiting_;  // a ring of slots
  std::uint32_t max_sge_{};
  std::uint32_t free_count_{};
  std::uint32_t head_{};
  std::uint32_t tail_{};
};

}  // namespace nerve::nic
