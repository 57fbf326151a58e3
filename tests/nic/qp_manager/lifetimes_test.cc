// Goal: no object can be destroyed while another depends on it, every object can once none does,
// and a stale handle finds nothing, whatever the call.
#include <gtest/gtest.h>

#include "nic/nic.h"
#include "tests/nic/pair.h"

namespace nerve::nic {
namespace {

using test::gid_of;
using test::said;

struct Lifetimes : ::testing::Test {
  Nic nic{NicConfig{}};
  PdHandle pd = *nic.alloc_pd();
  CqHandle cq = *nic.create_cq({.depth = 4});
  std::byte bytes[64]{};
  MrInit region{.pd = pd,
                .address = reinterpret_cast<std::uint64_t>(bytes),
                .length = sizeof bytes,
                .iova = 0,
                .access = Access::kLocalWrite};
  void SetUp() override { ASSERT_TRUE(nic.set_gid(0, gid_of(1, false))); }
  Expected<QpHandle> make_qp(QpType type = QpType::kRc, SrqHandle srq = {}) {
    return nic.create_qp({.type = type, .pd = pd, .send_cq = cq, .recv_cq = cq, .srq = srq});
  }
};

std::string code_of(const Status& status) {
  const std::string all = said(status);
  return all.substr(0, all.find(':'));
}

TEST_F(Lifetimes, ADomainOutlivesAllThatBelongsToIt) {
  const auto busy = [&] { return code_of(nic.dealloc_pd(pd)); };
  const MrHandle mr = *nic.register_mr(region);
  EXPECT_EQ(busy(), "busy");
  ASSERT_TRUE(nic.deregister_mr(mr));
  const MwHandle mw = *nic.alloc_mw(pd, MwType::kType2);
  EXPECT_EQ(busy(), "busy");
  ASSERT_TRUE(nic.dealloc_mw(mw));
  const QpHandle qp = *make_qp();
  EXPECT_EQ(busy(), "busy");
  ASSERT_TRUE(nic.destroy_qp(qp));
  const SrqHandle srq = *nic.create_srq({.pd = pd});
  EXPECT_EQ(busy(), "busy");
  ASSERT_TRUE(nic.destroy_srq(srq));
  const AhHandle ah = *nic.create_ah(pd, {.destination = gid_of(2, false)});
  EXPECT_EQ(busy(), "busy");
  ASSERT_TRUE(nic.destroy_ah(ah));
  EXPECT_EQ(said(nic.dealloc_pd(pd)), "done");
}

TEST_F(Lifetimes, ACqOutlivesTheQueuesThatCompleteThere) {
  const auto busy = [&] { return said(nic.destroy_cq(cq)); };
  const CqHandle other = *nic.create_cq({.depth = 4});
  const QpInit sends{.type = QpType::kRc, .pd = pd, .send_cq = cq, .recv_cq = other};
  const QpInit receives{.type = QpType::kRc, .pd = pd, .send_cq = other, .recv_cq = cq};
  for (const QpInit& init : {sends, receives}) {
    const QpHandle qp = *nic.create_qp(init);
    EXPECT_EQ(busy(), "busy: destroy cq: still used");
    ASSERT_TRUE(nic.destroy_qp(qp));
  }
  const XrcdHandle xrcd = *nic.alloc_xrcd();
  const SrqHandle srq = *nic.create_srq({.pd = pd, .type = SrqType::kXrc, .xrcd = xrcd, .cq = cq});
  EXPECT_EQ(busy(), "busy: destroy cq: still used");
  ASSERT_TRUE(nic.destroy_srq(srq));
  EXPECT_EQ(busy(), "done");
}

TEST_F(Lifetimes, AnSrqOutlivesItsQps) {
  const SrqHandle srq = *nic.create_srq({.pd = pd});
  const QpHandle qp = *make_qp(QpType::kRc, srq);
  EXPECT_EQ(said(nic.destroy_srq(srq)), "busy: destroy srq: used by QPs");
  ASSERT_TRUE(nic.destroy_qp(qp));
  EXPECT_EQ(said(nic.destroy_srq(srq)), "done");
}

TEST_F(Lifetimes, AnXrcDomainOutlivesItsQpsAndSrqs) {
  const XrcdHandle xrcd = *nic.alloc_xrcd();
  const QpHandle qp = *nic.create_qp({.type = QpType::kXrcRecv, .xrcd = xrcd});
  EXPECT_EQ(said(nic.dealloc_xrcd(xrcd)), "busy: dealloc xrcd: in use");
  ASSERT_TRUE(nic.destroy_qp(qp));
  const SrqHandle srq = *nic.create_srq({.pd = pd, .type = SrqType::kXrc, .xrcd = xrcd, .cq = cq});
  EXPECT_EQ(said(nic.dealloc_xrcd(xrcd)), "busy: dealloc xrcd: in use");
  ASSERT_TRUE(nic.destroy_srq(srq));
  EXPECT_EQ(said(nic.dealloc_xrcd(xrcd)), "done");
}

TEST_F(Lifetimes, AStaleHandleFindsNothing) {
  const std::string none = "no such object";
  const MrHandle mr = *nic.register_mr(region);
  const MwHandle mw = *nic.alloc_mw(pd, MwType::kType1);
  const SrqHandle srq = *nic.create_srq({.pd = pd});
  const XrcdHandle xrcd = *nic.alloc_xrcd();
  const AhHandle ah = *nic.create_ah(pd, {.destination = gid_of(2, false)});
  const QpHandle qp = *make_qp(QpType::kUd);
  ASSERT_TRUE(nic.destroy_qp(qp));
  ASSERT_TRUE(nic.destroy_ah(ah));
  ASSERT_TRUE(nic.destroy_srq(srq));
  ASSERT_TRUE(nic.dealloc_xrcd(xrcd));
  ASSERT_TRUE(nic.dealloc_mw(mw));
  ASSERT_TRUE(nic.deregister_mr(mr));
  ASSERT_TRUE(nic.destroy_cq(cq));
  ASSERT_TRUE(nic.dealloc_pd(pd));
  const auto is_none = [&](const auto& result) {
    const std::string all = said(result);
    return all.substr(0, none.size()) == none;
  };
  EXPECT_TRUE(is_none(nic.dealloc_pd(pd)));
  EXPECT_TRUE(is_none(nic.register_mr(region)));
  EXPECT_TRUE(is_none(nic.alloc_mw(pd, MwType::kType1)));
  EXPECT_TRUE(is_none(nic.reregister_mr(mr, MrChange::kAccess, region)));
  EXPECT_TRUE(is_none(nic.deregister_mr(mr)));
  EXPECT_TRUE(is_none(nic.keys_of(mr)));
  EXPECT_TRUE(is_none(nic.dealloc_mw(mw)));
  EXPECT_TRUE(is_none(nic.rkey_of(mw)));
  EXPECT_TRUE(is_none(nic.resize_cq(cq, 8)));
  EXPECT_TRUE(is_none(nic.moderate_cq(cq, 1, Duration{})));
  EXPECT_TRUE(is_none(nic.arm_cq(cq, false)));
  EXPECT_TRUE(is_none(nic.destroy_cq(cq)));
  EXPECT_TRUE(is_none(nic.poll_cq(cq, {})));
  EXPECT_TRUE(is_none(nic.dealloc_xrcd(xrcd)));
  EXPECT_TRUE(is_none(nic.set_srq_limit(srq, 1)));
  EXPECT_TRUE(is_none(nic.query_srq(srq)));
  EXPECT_TRUE(is_none(nic.destroy_srq(srq)));
  EXPECT_TRUE(is_none(nic.post_srq_recv(srq, {})));
  EXPECT_TRUE(is_none(nic.destroy_ah(ah)));
  EXPECT_TRUE(is_none(nic.modify_qp(qp, QpState::kErr, {}, {})));
  EXPECT_TRUE(is_none(nic.query_qp(qp)));
  EXPECT_TRUE(is_none(nic.destroy_qp(qp)));
  EXPECT_TRUE(is_none(nic.attach_mcast(qp, wire::Gid::ipv4(224, 0, 0, 5))));
  EXPECT_TRUE(is_none(nic.detach_mcast(qp, wire::Gid::ipv4(224, 0, 0, 5))));
  EXPECT_TRUE(is_none(nic.post_send(qp, {})));
  EXPECT_TRUE(is_none(nic.post_recv(qp, {})));
}

// The slot is reused by another object, which the old handle must not find.
TEST_F(Lifetimes, AStaleHandleDoesNotFindTheSuccessor) {
  NicConfig config;
  config.limits.max_qp = 1;
  Nic small{config};
  const QpInit init{.type = QpType::kRc,
                    .pd = *small.alloc_pd(),
                    .send_cq = *small.create_cq({.depth = 1}),
                    .recv_cq = *small.create_cq({.depth = 1})};
  const QpHandle old = *small.create_qp(init);
  ASSERT_TRUE(small.destroy_qp(old));
  const QpHandle young = *small.create_qp(init);
  EXPECT_EQ(young.index, old.index);
  EXPECT_EQ(said(small.query_qp(old)), "no such object: query qp: no such QP");
}

TEST(QpDestruction, RemovesItsEventsAndCompletions) {
  test::Pair pair;
  pair.connect();
  ASSERT_TRUE(pair.a.post_receive(1, 0, 64));
  pair.a.step(QpState::kErr);  // flushes the receive
  ASSERT_TRUE(pair.a.nic.destroy_qp(pair.a.qp));
  EXPECT_TRUE(pair.a.completions().empty());
  EXPECT_TRUE(pair.a.events().empty());
}

}  // namespace
}  // namespace nerve::nic
