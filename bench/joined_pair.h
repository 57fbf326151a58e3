// Two engines in one thread, connected in memory: bursts of one are passed to the other unchanged.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "nic/nic.h"
#include "tests/qp_ladder.h"

namespace nerve::bench {

class JoinedPair {
 public:
  struct End {
    explicit End(std::uint8_t number)
        : nic{config(number)}, gid{wire::Gid::ipv4(10, 0, 0, number)}, memory(kMemory) {
      CHECK(nic.set_gid(0, gid).has_value());
      pd = *nic.alloc_pd();
      cq = *nic.create_cq({.depth = 4096});
      using nic::Access;
      const auto base = reinterpret_cast<std::uint64_t>(memory.data());
      const auto mr = *nic.register_mr({.pd = pd,
                                        .address = base,
                                        .length = memory.size(),
                                        .iova = base,
                                        .access = Access::kLocalWrite | Access::kRemoteWrite |
                                                  Access::kRemoteRead | Access::kRemoteAtomic});
      keys = *nic.keys_of(mr);
    }
    static nic::NicConfig config(std::uint8_t number) {
      nic::NicConfig config;
      config.key_secret = {number, 7};
      return config;
    }
    [[nodiscard]] std::uint64_t address(std::uint64_t offset = 0) const {
      return reinterpret_cast<std::uint64_t>(memory.data()) + offset;
    }
    nic::QpHandle make_qp() {
      return *nic.create_qp({.type = nic::QpType::kRc,
                             .pd = pd,
                             .send_cq = cq,
                             .recv_cq = cq,
                             .caps = {.max_send_wr = 256, .max_recv_wr = 256, .max_inline = 64}});
    }

    static constexpr std::size_t kMemory = 4 << 20;
    nic::Nic nic;
    wire::Gid gid;
    std::vector<std::byte> memory;
    nic::PdHandle pd;
    nic::CqHandle cq;
    nic::MrKeys keys;
  };

  struct Connection {
    nic::QpHandle a, b;
  };

  Connection connect() {
    const Connection pair{a.make_qp(), b.make_qp()};
    join(a, pair.a, b, pair.b);
    join(b, pair.b, a, pair.a);
    return pair;
  }

  // One round of frames in each direction. Returns whether any frame was sent.
  bool exchange() {
    const std::uint32_t there = a.nic.transmit(burst_, now_);
    if (there > 0) b.nic.receive(burst_.frames(), now_);
    const std::uint32_t back = b.nic.transmit(burst_, now_);
    if (back > 0) a.nic.receive(burst_.frames(), now_);
    now_ += std::chrono::nanoseconds{100};
    return there + back > 0;
  }

  End a{1};
  End b{2};

 private:
  static void join(End& end, nic::QpHandle qp, End& peer, nic::QpHandle peer_qp) {
    using nic::Access;
    const nic::QpAttributes attributes{.access = Access::kRemoteWrite | Access::kRemoteRead,
                                       .path = {.destination = peer.gid},
                                       .path_mtu = nic::Mtu::k4096,
                                       .dest_qp = peer.nic.query_qp(peer_qp)->qpn,
                                       .max_dest_read = 16,
                                       .max_read = 16,
                                       .min_rnr_timer = 1,
                                       .timeout = 14,
                                       .retry_count = 7,
                                       .rnr_retry = 7};
    CHECK(test::bring_qp_to(end.nic, qp, nic::QpState::kRts, attributes).has_value());
  }

  nic::TxBurst burst_{64};
  Time now_{};
};

}  // namespace nerve::bench
