// The send queue: work requests from post_send() until they complete, in order.
//
//     head               cursor              tail
//      │ sent, unanswered │ not (fully) sent  │ free
//
// `head` is the oldest request that has not completed, `cursor` the one the requester sends from.
// All three run freely and are masked on use. A retransmission moves the cursor back to the head.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "base/fetch_lines.h"
#include "base/fixed_array.h"
#include "base/ids.h"
#include "nic/attributes.h"
#include "nic/work.h"

namespace nerve::nic {

struct SendWqe {
  std::uint64_t wr_id{};
  SendOp op{};
  SendFlags flags{};
  std::uint8_t sge_count{};
  bool started{};           // it has PSNs assigned
  bool placed{};            // its payload was copied by the direct path
  WcStatus fault{};         // found while sending; reported when it becomes the oldest
  std::uint32_t length{};   // bytes of the message
  std::uint32_t packets{};  // PSNs it takes; zero for local operations
  Psn first_psn{};
  std::uint32_t sequence{};  // SSN (IBTA 9.7.7.2): the message number for end-to-end credits
  RKey rkey{};
  std::uint64_t remote_address{};
  std::uint32_t immediate{};
  std::uint32_t remote_srq{};
  std::uint64_t compare_or_add{};
  std::uint64_t swap{};
  AhHandle ah{};
  Qpn remote_qpn{};
  std::uint32_t remote_qkey{};
  std::uint16_t pkey_index{};
  std::uint8_t flush_placement{};
  std::uint8_t flush_selectivity{};
  MwBind bind{};

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

class SendQueue {
 public:
  SendQueue() = default;
  explicit SendQueue(const QpCaps& caps)
      : wqes_{std::bit_ceil(caps.max_send_wr)},
        sges_{wqes_.size() * caps.max_send_sge},
        inline_bytes_{wqes_.size() * caps.max_inline},
        depth_{caps.max_send_wr},
        max_sge_{caps.max_send_sge},
        max_inline_{caps.max_inline} {}

  [[nodiscard]] bool full() const { return tail - head == depth_; }
  [[nodiscard]] bool empty() const { return tail == head; }
  [[nodiscard]] bool all_sent() const { return cursor == tail; }

  SendWqe& at(std::uint32_t i) { return wqes_[slot(i)]; }
  SendWqe& oldest() { return at(head); }
  SendWqe& current() { return at(cursor); }

  // The storage of a request's scatter/gather list or inline bytes.
  Sge* sges_at(std::uint32_t i) { return sges_.data() + std::size_t{slot(i)} * max_sge_; }
  [[nodiscard]] const Sge* sges_at(std::uint32_t i) const {
    return sges_.data() + std::size_t{slot(i)} * max_sge_;
  }
  std::byte* inline_at(std::uint32_t i) {
    return inline_bytes_.data() + std::size_t{slot(i)} * max_inline_;
  }

  // Prefetches the request being sent.
  void fetch() const {
    const SendWqe* const wqe = wqes_.data() + slot(cursor);
    fetch_lines(wqe, wqe + 1);
    __builtin_prefetch(sges_.data() + std::size_t{slot(cursor)} * max_sge_);
  }

  void clear() { head = cursor = tail = 0; }

  std::uint32_t head{};
  std::uint32_t cursor{};
  std::uint32_t tail{};

 private:
  [[nodiscard]] std::uint32_t slot(std::uint32_t i) const { return i & (wqes_.size() - 1); }

  FixedArray<SendWqe> wqes_;
  FixedArray<Sge> sges_;
  FixedArray<std::byte> inline_bytes_;
  std::uint32_t depth_{};
  std::uint32_t max_sge_{};
  std::uint32_t max_inline_{};
};

}  // namespace nerve::nic
