// Goal: a QP is created only with all the objects it needs and within every limit; an error names
// the cause and leaves nothing behind.
#include <gtest/gtest.h>

#include <vector>

#include "nic/nic.h"
#include "tests/nic/pair.h"

namespace nerve::nic {
namespace {

using test::said;

struct CreateQp : ::testing::Test {
  static NicConfig small() {
    NicConfig config;
    config.limits.max_qp = 3;
    config.limits.max_qp_wr = 8;
    config.limits.max_sge = 4;
    config.limits.max_inline = 32;
    config.limits.max_srq = 2;
    config.limits.max_srq_wr = 8;
    config.limits.max_xrcd = 1;
    config.limits.max_ah = 1;
    return config;
  }
  Nic nic{small()};
  PdHandle pd = *nic.alloc_pd();
  CqHandle cq = *nic.create_cq({.depth = 4});
  XrcdHandle xrcd = *nic.alloc_xrcd();
  QpInit good{.type = QpType::kRc, .pd = pd, .send_cq = cq, .recv_cq = cq};

  // The error for `good` after `change`, which must leave nothing behind.
  template <class Change>
  std::string with(Change change) {
    QpInit init = good;
    change(init);
    const std::string answer = said(nic.create_qp(init));
    EXPECT_NE(answer, "done");
    EXPECT_TRUE(nic.dealloc_pd(pd)) << "a refused QP holds its protection domain";
    pd = good.pd = *nic.alloc_pd();
    return answer;
  }
};

TEST_F(CreateQp, StartsInResetWithWhatWasAsked) {
  good.caps = {
      .max_send_wr = 8, .max_recv_wr = 7, .max_send_sge = 4, .max_recv_sge = 3, .max_inline = 32};
  const QpHandle qp = *nic.create_qp(good);
  const QpQuery query = *nic.query_qp(qp);
  EXPECT_EQ(query.state, QpState::kReset);
  EXPECT_EQ(query.caps, good.caps);
  EXPECT_EQ(query.type, QpType::kRc);
  EXPECT_EQ(query.qpn, Qpn{0x11});
}

TEST_F(CreateQp, RefusesCapsBeyondTheLimits) {
  const std::string work = "invalid: create qp: too many work requests";
  const std::string sges = "invalid: create qp: too many scatter/gather entries";
  EXPECT_EQ(with([](QpInit& i) { i.caps.max_send_wr = 9; }), work);
  EXPECT_EQ(with([](QpInit& i) { i.caps.max_recv_wr = 9; }), work);
  EXPECT_EQ(with([](QpInit& i) { i.caps.max_send_sge = 5; }), sges);
  EXPECT_EQ(with([](QpInit& i) { i.caps.max_recv_sge = 5; }), sges);
  EXPECT_EQ(with([](QpInit& i) { i.caps.max_inline = 33; }),
            "invalid: create qp: too much inline data");
}

TEST_F(CreateQp, RefusesMissingObjects) {
  EXPECT_EQ(with([](QpInit& i) { i.pd = {}; }),
            "no such object: create qp: no such protection domain");
  EXPECT_EQ(with([](QpInit& i) { i.send_cq = {}; }), "no such object: create qp: no such send CQ");
  EXPECT_EQ(with([](QpInit& i) { i.recv_cq = {}; }),
            "no such object: create qp: no such receive CQ");
  EXPECT_EQ(with([](QpInit& i) { i.srq = {.index = 5, .generation = 1}; }),
            "no such object: create qp: no such SRQ");
}

TEST_F(CreateQp, RefusesAnSrqOfTheWrongKind) {
  const std::string refusal = "invalid: create qp: this SRQ does not go with this QP type";
  const PdHandle other = *nic.alloc_pd();
  const SrqHandle basic = *nic.create_srq({.pd = other});
  const SrqHandle xrc =
      *nic.create_srq({.pd = other, .type = SrqType::kXrc, .xrcd = xrcd, .cq = cq});
  EXPECT_EQ(with([&](QpInit& i) { i.srq = xrc; }), refusal);
  for (const QpType type : {QpType::kXrcSend, QpType::kXrcRecv, QpType::kGsi}) {
    EXPECT_EQ(with([&](QpInit& i) {
                i.type = type;
                i.xrcd = xrcd;
                i.srq = basic;
              }),
              refusal);
  }
  good.srq = basic;
  const QpHandle qp = *nic.create_qp(good);
  EXPECT_EQ(nic.query_qp(qp)->caps.max_recv_wr, 0U) << "it has no receive queue of its own";
}

TEST_F(CreateQp, HasOneGsiQpAtATime) {
  good.type = QpType::kGsi;
  const QpHandle gsi = *nic.create_qp(good);
  EXPECT_EQ(nic.query_qp(gsi)->qpn, Qpn{1});
  EXPECT_EQ(said(nic.create_qp(good)), "busy: create qp: the GSI QP exists already");
  ASSERT_TRUE(nic.destroy_qp(gsi));
  EXPECT_EQ(said(nic.create_qp(good)), "done");
}

TEST_F(CreateQp, GivesAnXrcSenderNoReceiveQueue) {
  good.type = QpType::kXrcSend;
  good.recv_cq = {};
  const QpHandle qp = *nic.create_qp(good);
  EXPECT_EQ(nic.query_qp(qp)->caps.max_recv_wr, 0U);
  ASSERT_TRUE(nic.destroy_qp(qp));
  EXPECT_EQ(with([](QpInit& i) { i.send_cq = {}; }), "no such object: create qp: no such send CQ");
}

TEST_F(CreateQp, GivesAnXrcTargetNothingButItsDomain) {
  const QpInit target{.type = QpType::kXrcRecv, .xrcd = xrcd};
  const QpHandle qp = *nic.create_qp(target);
  EXPECT_EQ(nic.query_qp(qp)->caps, (QpCaps{0, 0, 0, 0, 0}));
  EXPECT_EQ(with([](QpInit& i) { i.type = QpType::kXrcRecv; }),
            "no such object: create qp: no such XRC domain");
}

TEST_F(CreateQp, StopsAtTheLimitOfTheDevice) {
  std::vector<QpHandle> qps;
  for (int i = 0; i < 3; ++i) qps.push_back(*nic.create_qp(good));
  EXPECT_EQ(said(nic.create_qp(good)), "limit: create qp: too many");
  ASSERT_TRUE(nic.destroy_qp(qps[1]));
  EXPECT_EQ(said(nic.create_qp(good)), "done");
}

// A frame in flight to a destroyed QP must not reach its successor, and a peer that remembers a
// connection with the number would reject a new one.
TEST(QpNumbers, AreReusedAsLateAsPossible) {
  NicConfig config;
  config.limits.max_qp = 200;
  config.first_qpn = Qpn{0x400};
  Nic nic{config};
  const QpInit init{.type = QpType::kRc,
                    .pd = *nic.alloc_pd(),
                    .send_cq = *nic.create_cq({.depth = 1}),
                    .recv_cq = *nic.create_cq({.depth = 1})};
  std::vector<std::uint32_t> numbers;
  for (int i = 0; i < 600; ++i) {
    const QpHandle qp = *nic.create_qp(init);
    numbers.push_back(nic.query_qp(qp)->qpn.value());
    ASSERT_TRUE(nic.destroy_qp(qp));
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(numbers[i], 0x400 + i % 200) << "each number comes again only after all the others";
  }
}

// A stranger that knows one number, because it is a peer of that QP, must not guess others.
TEST(QpNumbers, FollowEachOtherInASecretOrder) {
  NicConfig config;
  config.limits.max_qp = 16384;
  config.first_qpn = Qpn{5 << 14};
  config.scatter_numbers = true;
  config.key_secret = {7, 8};
  const auto numbers_of = [](const NicConfig& of, int count) {
    Nic nic{of};
    const QpInit init{.type = QpType::kRc,
                      .pd = *nic.alloc_pd(),
                      .send_cq = *nic.create_cq({.depth = 1}),
                      .recv_cq = *nic.create_cq({.depth = 1})};
    std::vector<std::uint32_t> numbers;
    for (int i = 0; i < count; ++i) {
      const QpHandle qp = *nic.create_qp(init);
      numbers.push_back(nic.query_qp(qp)->qpn.value());
      EXPECT_TRUE(nic.route_of(Qpn{numbers.back()})) << "it is found by its number";
      if (i % 3 == 0) continue;
      EXPECT_TRUE(nic.destroy_qp(qp));
    }
    return numbers;
  };
  const auto numbers = numbers_of(config, 16384);
  EXPECT_EQ(numbers, numbers_of(config, 16384)) << "the same secret, the same order";
  std::vector<bool> seen(16384);
  int guessed = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(numbers[i] >> 14U, 5U) << "the process stays recognisable";
    ASSERT_FALSE(seen[numbers[i] & 0x3fffU]) << "again before all the others";
    seen[numbers[i] & 0x3fffU] = true;
    if (i < 2) continue;
    const bool next = numbers[i] == numbers[i - 1] + 1;
    const bool same_step = numbers[i] - numbers[i - 1] == numbers[i - 1] - numbers[i - 2];
    guessed += next || same_step ? 1 : 0;
  }
  EXPECT_LT(guessed, 12) << "chance alone gives two";
  config.key_secret = {7, 9};
  EXPECT_NE(numbers, numbers_of(config, 16384));
}

// The last number of all stands for multicast groups.
TEST(QpNumbers, DoNotIncludeThatOfMulticast) {
  for (const bool scatter : {false, true}) {
    NicConfig config;
    config.limits.max_qp = 16;
    config.first_qpn = Qpn{0xff'fff0};
    config.scatter_numbers = scatter;
    Nic nic{config};
    const QpInit init{.type = QpType::kRc,
                      .pd = *nic.alloc_pd(),
                      .send_cq = *nic.create_cq({.depth = 1}),
                      .recv_cq = *nic.create_cq({.depth = 1})};
    for (int i = 0; i < 15; ++i) {
      const auto qp = nic.create_qp(init);
      ASSERT_TRUE(qp);
      EXPECT_NE(nic.query_qp(*qp)->qpn, Qpn{0xff'ffff});
    }
    EXPECT_EQ(said(nic.create_qp(init)), "limit: create qp: too many");
  }
}

// Numbers in use are skipped, and all can be used.
TEST(QpNumbers, InASecretOrderAreAllUsed) {
  NicConfig config;
  config.limits.max_qp = 12;
  config.scatter_numbers = true;
  config.key_secret = {1, 2};
  Nic nic{config};
  const QpInit init{.type = QpType::kRc,
                    .pd = *nic.alloc_pd(),
                    .send_cq = *nic.create_cq({.depth = 1}),
                    .recv_cq = *nic.create_cq({.depth = 1})};
  std::vector<QpHandle> qps;
  for (int i = 0; i < 12; ++i) qps.push_back(*nic.create_qp(init));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(nic.create_qp(init));
    QpHandle& one = qps[static_cast<std::size_t>(i * 7 % 12)];
    const Qpn number = nic.query_qp(one)->qpn;
    ASSERT_TRUE(nic.destroy_qp(one));
    one = *nic.create_qp(init);
    EXPECT_EQ(nic.query_qp(one)->qpn, number) << "the only free one";
  }
}

TEST_F(CreateQp, SharedObjectsHaveLimitsToo) {
  EXPECT_EQ(said(nic.alloc_xrcd()), "limit: alloc xrcd: too many");
  EXPECT_EQ(said(nic.create_srq({.pd = pd, .max_wr = 0})),
            "invalid: create srq: max_wr out of range");
  EXPECT_EQ(said(nic.create_srq({.pd = pd, .max_wr = 9})),
            "invalid: create srq: max_wr out of range");
  EXPECT_EQ(said(nic.create_srq({.pd = pd, .max_sge = 5})),
            "invalid: create srq: too many scatter/gather entries");
  EXPECT_EQ(said(nic.create_srq({.pd = pd, .max_wr = 4, .limit = 5})),
            "invalid: create srq: limit above max_wr");
  EXPECT_EQ(said(nic.create_srq({})), "no such object: create srq: no such protection domain");
  EXPECT_EQ(said(nic.create_srq({.pd = pd, .type = SrqType::kXrc, .cq = cq})),
            "no such object: create srq: no such XRC domain");
  EXPECT_EQ(said(nic.create_srq({.pd = pd, .type = SrqType::kXrc, .xrcd = xrcd})),
            "no such object: create srq: no such CQ");
  ASSERT_TRUE(nic.create_srq({.pd = pd}));
  ASSERT_TRUE(nic.create_srq({.pd = pd}));
  EXPECT_EQ(said(nic.create_srq({.pd = pd})), "limit: create srq: too many");

  ASSERT_TRUE(nic.set_gid(0, test::gid_of(1, false)));
  const AddressVector to{.destination = test::gid_of(2, false)};
  EXPECT_EQ(said(nic.create_ah(pd, {})), "invalid: address: no GID given");
  EXPECT_EQ(said(nic.create_ah({}, to)), "no such object: create ah: no such protection domain");
  ASSERT_TRUE(nic.create_ah(pd, to));
  EXPECT_EQ(said(nic.create_ah(pd, to)), "limit: create ah: too many");
}

}  // namespace
}  // namespace nerve::nic
