// SIDR: requests that are answered, repeated, rejected, or sent to a missing server.
#include "tests/nic/connection/cm_pair.h"

namespace nerve::nic {
namespace {

using test::CmPair;
using test::kMillisecond;
using test::kSecond;
using wire::CmAttribute;
using wire::SidrStatus;
using Kinds = std::vector<CmEventKind>;

class CmResolution : public ::testing::Test {
 protected:
  void ask() {
    listener = *pair.b.cm().listen({.service = test::kService, .cookie = 5});
    const auto question = test::text("who");
    id = *pair.a.cm().resolve({.route = {.local = pair.a.gid, .remote = pair.b.gid},
                               .service = test::kService,
                               .private_data = question,
                               .cookie = 6});
    pair.exchange();
    const CmEvent event = pair.b.expect(CmEventKind::kResolveRequest);
    EXPECT_EQ(event.cookie, 5U);
    EXPECT_EQ(event.flow.source, pair.a.gid);
    EXPECT_EQ(std::get<wire::CmSidrReq>(event.message).private_data[0], std::byte{'w'});
    asked = event.id;
  }
  Status answer() {
    return pair.b.cm().resolved(asked, {.qpn = Qpn{0x123}, .qkey = 0x456, .private_data = words});
  }
  void expect_nothing_left() {
    (void)pair.a.cm().destroy(id);
    (void)pair.b.cm().destroy(asked);
    (void)pair.b.cm().destroy(listener);
    pair.wait(2 * kSecond);
    EXPECT_EQ(pair.a.cm().size(), 0U);
    EXPECT_EQ(pair.b.cm().size(), 0U);
  }

  CmPair pair;
  std::vector<std::byte> words = test::text("me");
  CommHandle listener{};
  CommHandle id{};
  CommHandle asked{};
};

TEST_F(CmResolution, FindsTheQp) {
  ask();
  ASSERT_TRUE(answer());
  pair.exchange();
  const CmEvent event = pair.a.expect(CmEventKind::kResolved);
  EXPECT_EQ(event.cookie, 6U);
  const auto& rep = std::get<wire::CmSidrRep>(event.message);
  EXPECT_EQ(rep.status, SidrStatus::kValid);
  EXPECT_EQ(rep.qpn, Qpn{0x123});
  EXPECT_EQ(rep.qkey, 0x456U);
  EXPECT_EQ(rep.service_id, test::kService);
  EXPECT_EQ(rep.private_data[0], std::byte{'m'});
  EXPECT_EQ(pair.said(), "a:SIDR_REQ b:SIDR_REP");
  EXPECT_FALSE(answer());
  expect_nothing_left();
}

TEST_F(CmResolution, WaitsForAListenerThatIsAlmostThere) {
  CmPair patient{{.refusal_patience = 100 * kMillisecond}};
  (void)*patient.a.cm().resolve(
      {.route = {.local = patient.a.gid, .remote = patient.b.gid}, .service = test::kService});
  patient.exchange();
  patient.wait(15 * kMillisecond);
  EXPECT_EQ(patient.said(), "a:SIDR_REQ b:SIDR_REP a:SIDR_REQ b:SIDR_REP");
  EXPECT_EQ(patient.a.events(), Kinds{});
  (void)*patient.b.cm().listen({.service = test::kService});
  patient.wait(10 * kMillisecond);
  (void)patient.b.expect(CmEventKind::kResolveRequest);
}

TEST_F(CmResolution, IsAnsweredAgain) {
  ask();
  int lost = 0;
  pair.lose = [&](const test::SeenMad& mad) {
    return mad.attribute() == CmAttribute::kSidrRep && lost++ < 2;
  };
  ASSERT_TRUE(answer());
  ASSERT_TRUE(pair.b.cm().destroy(asked));
  pair.wait(400 * kMillisecond);
  EXPECT_EQ(pair.said(), "a:SIDR_REQ b:SIDR_REP a:SIDR_REQ b:SIDR_REP a:SIDR_REQ b:SIDR_REP");
  EXPECT_EQ(pair.a.events(), Kinds{CmEventKind::kResolved});
  EXPECT_EQ(pair.b.events(), Kinds{});
  expect_nothing_left();
}

TEST_F(CmResolution, IsAskedOnce) {
  ask();
  pair.wait(kSecond);
  EXPECT_EQ(pair.b.events(), Kinds{});
  EXPECT_GE(pair.b.nic.counters().mads_duplicate, 3U);
  expect_nothing_left();
}

TEST_F(CmResolution, IsRejectedWhenItsRequestIsDestroyed) {
  ask();
  ASSERT_TRUE(pair.b.cm().destroy(asked));
  pair.exchange();
  const CmEvent event = pair.a.expect(CmEventKind::kResolved);
  EXPECT_EQ(std::get<wire::CmSidrRep>(event.message).status, SidrStatus::kRejected);
  expect_nothing_left();
}

TEST_F(CmResolution, OfAnUnknownServiceIsRejected) {
  id = *pair.a.cm().resolve({.route = {.local = pair.a.gid, .remote = pair.b.gid}});
  pair.exchange();
  const CmEvent event = pair.a.expect(CmEventKind::kResolved);
  EXPECT_EQ(std::get<wire::CmSidrRep>(event.message).status, SidrStatus::kUnsupportedService);
  expect_nothing_left();
}

TEST_F(CmResolution, OfAnUnreachableHostTimesOut) {
  pair.lose = [](const test::SeenMad&) { return true; };
  CmRoute route{.local = pair.a.gid, .remote = pair.b.gid};
  route.response_timeout = 16;
  route.max_retries = 3;
  id = *pair.a.cm().resolve({.route = route});
  pair.wait(4 * kSecond);
  EXPECT_EQ(pair.a.events(), Kinds{CmEventKind::kUnreachable});
  expect_nothing_left();
}

}  // namespace
}  // namespace nerve::nic
