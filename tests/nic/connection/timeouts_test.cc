// A silent peer, in each state in which we wait for it; and one that asks for more time.
#include "tests/nic/connection/cm_pair.h"

namespace nerve::nic {
namespace {

using test::CmEnd;
using test::CmPair;
using test::CmProbe;
using test::kMillisecond;
using test::kSecond;
using wire::CmAttribute;
using Kinds = std::vector<CmEventKind>;

// 4.096 us * 2^n.
constexpr Duration exponent(unsigned n) { return Duration{4'096'000LL << n}; }
// The values that both sides agree on by CmEnd::to(): response timeout 20, ACK timeout 17, 15
// retries.
constexpr Duration kResponse = exponent(20) + exponent(17);
constexpr Duration kPatience = 16 * kResponse;

bool nothing(const test::SeenMad&) { return true; }

TEST(CmTimeouts, AnUnansweredReqGivesUp) {
  CmPair pair;
  pair.lose = nothing;
  pair.active = *pair.a.cm().connect(pair.a.to(pair.b));
  pair.exchange();
  pair.wait(kPatience - kMillisecond);
  EXPECT_EQ(pair.a.events(), Kinds{});
  pair.wait(kMillisecond);
  (void)pair.a.expect(CmEventKind::kUnreachable);
  // Never slower than the standard requires.
  for (std::size_t i = 1; i + 1 < pair.seen.size(); ++i) {
    EXPECT_LE(pair.seen[i].when - pair.seen[i - 1].when, kResponse);
  }
  EXPECT_GE(pair.seen.size(), 16U);
  // A peer that may have received it gets a REJ, and finds us by our GUID.
  const auto& rej = std::get<wire::CmRej>(pair.seen.back().mad.message);
  EXPECT_EQ(rej.reason, wire::RejectReason::kTimeout);
  EXPECT_EQ(rej.subject, wire::CmSubject::kReq);
  ASSERT_EQ(rej.info().size(), 8U);
  EXPECT_EQ(load_be<8>(rej.info(), 0), pair.a.guid);
  ASSERT_TRUE(pair.a.cm().destroy(pair.active));
  pair.wait(kSecond);
  EXPECT_EQ(pair.a.cm().size(), 0U);
}

// perftest -R invites its client and starts to listen a moment later.
TEST(CmTimeouts, AListenerThatIsAlmostThereIsWaitedFor) {
  CmPair pair{{.refusal_patience = 100 * kMillisecond}};
  pair.active = *pair.a.cm().connect(pair.a.to(pair.b));
  pair.exchange();
  pair.wait(35 * kMillisecond);
  EXPECT_EQ(pair.said(), "a:REQ b:REJ a:REQ b:REJ a:REQ b:REJ a:REQ b:REJ");
  EXPECT_EQ(pair.a.events(), Kinds{});
  pair.listener = *pair.b.cm().listen({.service = test::kService});
  pair.wait(10 * kMillisecond);
  (void)pair.b.expect(CmEventKind::kRequest);
}

TEST(CmTimeouts, AMissingListenerIsNotWaitedForLong) {
  CmPair pair{{.refusal_patience = 100 * kMillisecond}};
  pair.active = *pair.a.cm().connect(pair.a.to(pair.b));
  pair.exchange();
  pair.wait(99 * kMillisecond);
  EXPECT_EQ(pair.a.events(), Kinds{});
  pair.wait(11 * kMillisecond);
  (void)pair.a.expect(CmEventKind::kRejected);
}

TEST(CmTimeouts, FewRetriesAreSoonOver) {
  CmPair pair;
  pair.lose = nothing;
  CmConnect connect = pair.a.to(pair.b);
  connect.route.response_timeout = 14;  // 67 ms
  connect.route.max_retries = 1;
  connect.local_ack_timeout = 10;
  pair.active = *pair.a.cm().connect(connect);
  pair.wait(2 * (exponent(14) + exponent(10)));
  (void)pair.a.expect(CmEventKind::kUnreachable);
  EXPECT_EQ(pair.said(), "a:REQ a:REQ a:REJ");
}

TEST(CmTimeouts, ARepWithoutAnRtu) {
  CmPair pair;
  pair.open();
  ASSERT_TRUE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  pair.exchange();
  (void)pair.a.expect(CmEventKind::kReply);
  pair.wait(kPatience - kMillisecond);  // the active side sends nothing
  EXPECT_EQ(pair.b.events(), Kinds{});
  pair.wait(kMillisecond);
  (void)pair.b.expect(CmEventKind::kUnreachable);
  const CmEvent rejected = pair.a.expect(CmEventKind::kRejected);
  EXPECT_EQ(std::get<wire::CmRej>(rejected.message).reason, wire::RejectReason::kTimeout);
  EXPECT_FALSE(pair.a.cm().confirm(pair.active, {}));
}

TEST(CmTimeouts, AnRtuThatNeverArrives) {
  CmPair pair;
  pair.lose = [](const test::SeenMad& mad) { return mad.attribute() == CmAttribute::kRtu; };
  pair.open();
  ASSERT_TRUE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  pair.exchange();
  ASSERT_TRUE(pair.a.cm().confirm(pair.active, {}));
  pair.wait(kPatience + kMillisecond);
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kUnreachable});
  // The active side considered the connection established until now.
  EXPECT_EQ(pair.a.events(), (Kinds{CmEventKind::kReply, CmEventKind::kDisconnected}));
}

TEST(CmTimeouts, AnUnansweredDreqEndsInTimewait) {
  CmPair pair;
  pair.establish();
  pair.lose = nothing;
  ASSERT_TRUE(pair.a.cm().disconnect(pair.active, {}));
  pair.exchange();
  pair.wait(kPatience - kMillisecond);
  EXPECT_EQ(pair.a.events(), Kinds{});
  pair.wait(kMillisecond);
  EXPECT_EQ(pair.a.events(), Kinds{CmEventKind::kDisconnected});
  pair.wait(exponent(17) - kMillisecond);
  EXPECT_EQ(pair.a.events(), Kinds{});
  pair.wait(kMillisecond);
  EXPECT_EQ(pair.a.events(), Kinds{CmEventKind::kTimewaitOver});
}

TEST(CmTimeouts, AnMraStretchesTheReq) {
  CmPair pair;
  pair.open();
  ASSERT_TRUE(pair.b.cm().delay(pair.passive, 22));  // 17 s
  pair.exchange();
  (void)pair.said();
  pair.wait(exponent(22) + kResponse - kMillisecond);
  EXPECT_EQ(pair.said(), "");  // no retransmissions
  pair.wait(kPatience - kResponse);
  EXPECT_EQ(pair.a.events(), Kinds{});
  pair.wait(kMillisecond);
  EXPECT_EQ(pair.a.events(), Kinds{CmEventKind::kUnreachable});
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kRejected});
}

TEST(CmTimeouts, AnMraStretchesTheRep) {
  CmPair pair;
  pair.open();
  ASSERT_TRUE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  pair.exchange();
  ASSERT_TRUE(pair.a.cm().delay(pair.active, 22));
  pair.exchange();
  (void)pair.said();
  pair.wait(exponent(22));
  EXPECT_EQ(pair.said(), "");
  ASSERT_TRUE(pair.a.cm().confirm(pair.active, {}));
  pair.exchange();
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kEstablished});
}

TEST(CmTimeouts, MrasDoNotAddUp) {
  CmProbe probe;
  CmEnd peer{9};
  ASSERT_TRUE(probe.end.cm().connect(probe.end.to(peer)));
  const auto said = probe.listen();
  ASSERT_EQ(said.size(), 1U);
  const wire::CmMra mra{.local_comm_id = wire::CommId{1},
                        .remote_comm_id = std::get<wire::CmReq>(said[0].mad.message).local_comm_id,
                        .service_timeout = 31};  // two and a half hours
  for (int i = 0; i < 100; ++i) (void)probe.hear(mra);
  probe.wait(kPatience + exponent(24));
  (void)probe.end.expect(CmEventKind::kUnreachable);
}

TEST(CmTimeouts, RunOnAPortThatIsDown) {
  CmPair pair;
  pair.a.nic.set_port_active(false);
  pair.active = *pair.a.cm().connect(pair.a.to(pair.b));
  pair.exchange();
  pair.wait(kPatience);
  EXPECT_EQ(pair.a.events(), Kinds{CmEventKind::kUnreachable});
  EXPECT_EQ(pair.said(), "");
  EXPECT_FALSE(pair.a.nic.wants_to_send());
}

TEST(CmTimeouts, APortThatComesBackInTime) {
  CmPair pair;
  pair.a.nic.set_port_active(false);
  pair.listener = *pair.b.cm().listen({.service = test::kService});
  pair.active = *pair.a.cm().connect(pair.a.to(pair.b));
  pair.wait(10 * kSecond);
  pair.a.nic.set_port_active(true);
  pair.wait(10 * kSecond);
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kRequest});
}

TEST(CmTimeouts, AnEngineThatSleptForLongBeginsItsTimersWhenItSpeaks) {
  CmPair pair;
  pair.now += 3600 * kSecond;  // the engine was not called meanwhile
  pair.lose = nothing;
  pair.active = *pair.a.cm().connect(pair.a.to(pair.b));
  pair.exchange();
  ASSERT_TRUE(pair.a.nic.next_deadline());
  EXPECT_EQ(*pair.a.nic.next_deadline(), pair.now + 100 * kMillisecond);
}

}  // namespace
}  // namespace nerve::nic
