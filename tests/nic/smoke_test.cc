// Two engines joined by memory: the shortest path through everything.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "nic/nic.h"

namespace nerve::nic {
namespace {

struct Side {
  explicit Side(std::uint8_t last) : nic{NicConfig{}}, gid{wire::Gid::ipv4(10, 0, 0, last)} {
    EXPECT_TRUE(nic.set_gid(0, gid));
    pd = *nic.alloc_pd();
    cq = *nic.create_cq({.depth = 64});
    qp = *nic.create_qp({.type = QpType::kRc,
                         .pd = pd,
                         .send_cq = cq,
                         .recv_cq = cq,
                         .caps = {.max_send_wr = 16, .max_recv_wr = 16}});
    memory.resize(1 << 20);
    mr = *nic.register_mr({.pd = pd,
                           .address = reinterpret_cast<std::uint64_t>(memory.data()),
                           .length = memory.size(),
                           .iova = reinterpret_cast<std::uint64_t>(memory.data()),
                           .access = Access::kLocalWrite | Access::kRemoteWrite |
                                     Access::kRemoteRead | Access::kRemoteAtomic});
    keys = *nic.keys_of(mr);
  }
  void connect(Side& peer) {
    QpAttributes a{.access = Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic,
                   .path = {.destination = peer.gid},
                   .path_mtu = Mtu::k1024,
                   .dest_qp = nic_qpn(peer),
                   .max_dest_read = 4,
                   .max_read = 4,
                   .min_rnr_timer = 1,
                   .timeout = 10,
                   .retry_count = 7,
                   .rnr_retry = 7};
    using enum QpAttrs;
    const auto step = [&](QpState to, QpAttrs given) {
      const Status s = nic.modify_qp(qp, to, given, a);
      EXPECT_TRUE(s) << (s ? "" : s.error().reason);
    };
    step(QpState::kInit, kPkeyIndex | kPort | kAccess);
    step(QpState::kRtr, kPath | kPathMtu | kDestQp | kRqPsn | kMaxDestRead | kMinRnrTimer);
    step(QpState::kRts, kSqPsn | kTimeout | kRetryCount | kRnrRetry | kMaxRead);
  }
  static Qpn nic_qpn(Side& s) { return s.nic.query_qp(s.qp)->qpn; }
  [[nodiscard]] std::uint64_t at(std::size_t offset) {
    return reinterpret_cast<std::uint64_t>(memory.data()) + offset;
  }

  Nic nic;
  wire::Gid gid;
  PdHandle pd;
  CqHandle cq;
  QpHandle qp;
  MrHandle mr;
  MrKeys keys;
  std::vector<std::byte> memory;
};

void exchange(Side& a, Side& b) {
  TxBurst burst{64};
  const Time now{Duration{1}};
  for (bool busy = true; busy;) {
    busy = a.nic.transmit(burst, now) > 0;
    b.nic.receive(burst.frames(), now);
    const bool back = b.nic.transmit(burst, now) > 0;
    a.nic.receive(burst.frames(), now);
    busy = busy || back;
  }
}

TEST(Nic, CarriesEachOperation) {
  Side a{1};
  Side b{2};
  a.connect(b);
  b.connect(a);
  for (std::size_t i = 0; i < a.memory.size(); ++i) a.memory[i] = static_cast<std::byte>(i * 7);

  const Sge to{b.at(0), 8192, b.keys.lkey};
  ASSERT_TRUE(b.nic.post_recv(b.qp, {.wr_id = 77, .sges = {&to, 1}}));
  const Sge from{a.at(100), 5000, a.keys.lkey};
  ASSERT_TRUE(a.nic.post_send(a.qp, {.wr_id = 1,
                                     .op = SendOp::kSendImm,
                                     .flags = SendFlags::kSignaled,
                                     .sges = {&from, 1},
                                     .immediate = 42}));
  ASSERT_TRUE(a.nic.post_send(a.qp, {.wr_id = 2,
                                     .op = SendOp::kWrite,
                                     .flags = SendFlags::kSignaled,
                                     .sges = {&from, 1},
                                     .remote_address = b.at(10000),
                                     .rkey = b.keys.rkey}));
  const Sge back{a.at(50000), 5000, a.keys.lkey};
  ASSERT_TRUE(a.nic.post_send(a.qp, {.wr_id = 3,
                                     .op = SendOp::kRead,
                                     .flags = SendFlags::kSignaled,
                                     .sges = {&back, 1},
                                     .remote_address = b.at(10000),
                                     .rkey = b.keys.rkey}));
  const Sge word{a.at(80000), 8, a.keys.lkey};
  ASSERT_TRUE(a.nic.post_send(a.qp, {.wr_id = 4,
                                     .op = SendOp::kFetchAdd,
                                     .flags = SendFlags::kSignaled,
                                     .sges = {&word, 1},
                                     .remote_address = b.at(800 * 8),
                                     .rkey = b.keys.rkey,
                                     .compare_or_add = 5}));
  exchange(a, b);
  EXPECT_EQ(0, std::memcmp(b.memory.data(), a.memory.data() + 100, 5000));
  EXPECT_EQ(0, std::memcmp(b.memory.data() + 10000, a.memory.data() + 100, 5000));
  EXPECT_EQ(0, std::memcmp(a.memory.data() + 50000, a.memory.data() + 100, 5000));
  std::array<Completion, 16> got{};
  ASSERT_EQ(*a.nic.poll_cq(a.cq, got), 4U);
  for (std::uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(got[i].wr_id, i + 1);
    EXPECT_EQ(got[i].status, WcStatus::kSuccess);
  }
  ASSERT_EQ(*b.nic.poll_cq(b.cq, got), 1U);
  EXPECT_EQ(got[0].wr_id, 77U);
  EXPECT_EQ(got[0].octets, 5000U);
  EXPECT_EQ(got[0].immediate, 42U);
  EXPECT_FALSE(a.nic.next_deadline());
}

}  // namespace
}  // namespace nerve::nic
