// The send queue: work requests from post_send() until they complete, in order.
//
//     head               cursor              tail
//      │ sent, unanswered │ not (fully) sent  │ free
//
// `head` is the oldest request that has not completed, `cursor` the one the requester sends from.
// All three run freely and are masked on use. A retransmission moves the cursor back to the head.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/fetch_lines.h"
#include "base/fixed_array.h"
#include "base/ids.h"
#include "nic/attributes.h"
#include "nic/work.h"

namespace nerve::nic {

// What atomics, FLUSHes, binds, datagrams and requests on XRC QPs need besides a SendWqe.
struct SendExtra {
  // The operands of atomics.
  struct Word {
    std::uint64_t compare_or_add{};
    std::uint64_t swap{};
  };
  // The destination of a datagram.
  struct Destination {
    AhHandle ah{};
    Qpn qpn{};
    std::uint32_t qkey{};
    std::uint16_t pkey_index{};
  };
  struct Flush {
    std::uint8_t placement{};
    std::uint8_t selectivity{};
  };

  SendExtra() : word{} {}

  std::uint32_t remote_srq{};  // XRC
  union {                      // by operation and type of the QP
    Word word;
    Destination to;
    Flush flush;
    MwBind bind;
  };
};

// One cache line.
struct alignas(64) SendWqe {
  std::uint64_t wr_id{};
  std::uint64_t remote_address{};
  Sge sge{};                // the list, if it has one element
  std::uint32_t length{};   // bytes of the message
  std::uint32_t packets{};  // PSNs it takes; zero for local operations
  Psn first_psn{};
  std::uint32_t sequence{};  // SSN (IBTA 9.7.7.2): the message number for end-to-end credits
  RKey rkey{};
  std::uint32_t immediate{};
  SendOp op{};
  SendFlags flags{};
  std::uint8_t sge_count{};
  bool started{};    // it has PSNs assigned
  bool placed{};     // its payload was copied by the direct path
  WcStatus fault{};  // found while sending; reported when it becomes the oldest

  [[nodiscard]] Psn end_psn() const { return first_psn + packets; }
  // Answered by data instead of an ACK, and limited by max_rd_atomic.
  [[nodiscard]] bool wants_response() const {
    return op == SendOp::kRead || op == SendOp::kCompareSwap || op == SendOp::kFetchAdd ||
           op == SendOp::kAtomicWrite || op == SendOp::kFlush;
  }
  [[nodiscard]] bool is_local() const {
    return op == SendOp::kLocalInvalidate || op == SendOp::kBindMw;
  }
  // Takes a receive at the peer, and therefore an end-to-end credit.
  [[nodiscard]] bool consumes_receive() const {
    return op == SendOp::kSend || op == SendOp::kSendImm || op == SendOp::kSendInvalidate ||
           op == SendOp::kWriteImm;
  }
};
static_assert(sizeof(SendWqe) == 64);

class SendQueue {
 public:
  SendQueue() = default;
  // A plain one takes requests that need no SendExtra.
  explicit SendQueue(const QpCaps& caps, bool plain = false)
      : depth_{caps.max_send_wr},
        wqes_{std::bit_ceil(caps.max_send_wr)},
        extras_{plain ? 0 : wqes_.size()},
        max_sge_{caps.max_send_sge},
        max_inline_{caps.max_inline},
        sges_{caps.max_send_sge > 1 ? wqes_.size() * caps.max_send_sge : 0},
        inline_bytes_{wqes_.size() * caps.max_inline} {}

  [[nodiscard]] std::uint32_t depth() const { return depth_; }
  [[nodiscard]] bool full() const { return tail - head == depth_; }
  [[nodiscard]] bool empty() const { return tail == head; }
  [[nodiscard]] std::uint32_t max_sge() const { return max_sge_; }
  [[nodiscard]] std::uint32_t max_inline() const { return max_inline_; }
  [[nodiscard]] bool all_sent() const { return cursor == tail; }

  SendWqe& at(std::uint32_t i) { return wqes_[slot(i)]; }
  SendWqe& oldest() { return at(head); }
  SendWqe& current() { return at(cursor); }

  [[nodiscard]] bool plain() const { return extras_.size() == 0; }
  SendExtra& extra_of(const SendWqe& wqe) {
    return extras_[static_cast<std::size_t>(&wqe - wqes_.data())];
  }
  [[nodiscard]] const SendExtra& extra_of(const SendWqe& wqe) const {
    return const_cast<SendQueue*>(this)->extra_of(wqe);  // it changes nothing
  }

  // A request's scatter/gather list, of as many elements as its sge_count.
  std::span<Sge> list_at(std::uint32_t i) {
    SendWqe& wqe = at(i);
    if (wqe.sge_count <= 1) return {&wqe.sge, wqe.sge_count};
    return {sges_.data() + std::size_t{slot(i)} * max_sge_, wqe.sge_count};
  }
  [[nodiscard]] std::span<const Sge> list_at(std::uint32_t i) const {
    return const_cast<SendQueue*>(this)->list_at(i);  // it changes nothing
  }
  // The storage of its inline bytes.
  std::byte* inline_at(std::uint32_t i) {
    return inline_bytes_.data() + std::size_t{slot(i)} * max_inline_;
  }

  // Prefetches the request being sent.
  void fetch() const { fetch_line(wqes_.data() + slot(cursor)); }

  void clear() { head = cursor = tail = 0; }

  std::uint32_t head{};
  std::uint32_t cursor{};
  std::uint32_t tail{};

 private:
  [[nodiscard]] std::uint32_t slot(std::uint32_t i) const { return i & (wqes_.size() - 1); }

  std::uint32_t depth_{};
  FixedArray<SendWqe> wqes_;
  FixedArray<SendExtra> extras_;
  std::uint32_t max_sge_{};
  std::uint32_t max_inline_{};
  FixedArray<Sge> sges_;
  FixedArray<std::byte> inline_bytes_;
};

}  // namespace nerve::nic
