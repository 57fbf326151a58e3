// The engine in the place of one side of a conversation, with sufficient memory.
#pragma once

#include <memory>
#include <vector>

#include "nic/nic.h"
#include "tests/golden/replay.h"

namespace nerve::golden {

class ReplayEngine {
 public:
  struct Side {
    wire::Gid own{};
    wire::Gid peer{};
    Qpn qpn{};
    Qpn peer_qpn{};
    std::uint32_t mtu{};
    Psn receives{};
    Psn sends{};
    nic::Access access{};
    std::uint8_t rnr_timer{};
  };
  // `base` and `size`: the address range of the conversation.
  ReplayEngine(const Side& side, std::uint64_t base, std::uint64_t size);

  [[nodiscard]] nic::Nic& nic() { return nic_; }
  [[nodiscard]] nic::QpHandle qp() const { return qp_; }
  [[nodiscard]] nic::CqHandle cq() const { return cq_; }
  [[nodiscard]] nic::MrKeys keys() const { return keys_; }
  // The bytes behind an address of the region.
  [[nodiscard]] std::byte* at(std::uint64_t address) { return memory_.data() + (address - base_); }
  [[nodiscard]] bool covers(std::uint64_t address, std::uint64_t length) const {
    return address >= base_ && address + length <= base_ + memory_.size();
  }

  // Posts a receive of `length` bytes, outside the region.
  void post_receive(std::uint32_t length);
  void feed(const CapturedFrame& frame);
  // Advances the clock and collects the frames that the engine sends.
  void collect(std::vector<CapturedFrame>& into);

 private:
  static constexpr std::size_t kInbox = 1U << 16U;

  std::uint64_t base_;
  std::vector<std::byte> memory_;
  std::vector<std::byte> inbox_;
  nic::Nic nic_;
  nic::TxBurst burst_{64};
  nic::CqHandle cq_{};
  nic::QpHandle qp_{};
  nic::MrKeys keys_{};
  LKey inbox_key_{};
  Time now_{Duration{1}};
};

}  // namespace nerve::golden
