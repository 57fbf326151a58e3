// Two engines connected in memory: the shortest test of every operation.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "nic/nic.h"
#include "tests/nic/pair.h"

namespace nerve::nic {
namespace {

TEST(Nic, CarriesEachOperation) {
  test::Pair pair;
  pair.connect();
  test::End& a = pair.a;
  test::End& b = pair.b;
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
  pair.exchange();
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
  EXPECT_EQ(got[0].bytes, 5000U);
  EXPECT_EQ(got[0].immediate, 42U);
  EXPECT_FALSE(a.nic.next_deadline());
}

}  // namespace
}  // namespace nerve::nic
