// A stranger who forges the source of its MADs: it cannot end connections, and what it makes this
// host keep and send is bounded.
#include "nic/connection/timing.h"
#include "tests/nic/connection/cm_pair.h"

namespace nerve::nic {
namespace {

using test::CmPair;
using test::CmProbe;
using test::kMillisecond;
using test::kSecond;
using test::SeenMad;
using wire::CmAttribute;
using wire::RejectReason;
using Kinds = std::vector<CmEventKind>;

std::size_t count(const std::vector<SeenMad>& seen, CmAttribute attribute) {
  std::size_t number = 0;
  for (const SeenMad& mad : seen) number += mad.attribute() == attribute ? 1 : 0;
  return number;
}

// A connection between A and B, and MADs that B takes for A's.
class CmStranger : public ::testing::Test {
 protected:
  void SetUp() override {
    pair.establish();
    req = std::get<wire::CmReq>(pair.seen[0].mad.message);
    b_id = std::get<wire::CmRep>(pair.seen[1].mad.message).local_comm_id;
    pair.seen.clear();
  }
  void forge(const wire::CmMessage& message) {
    CmProbe writer;
    writer.peer = pair.a.gid;
    wire::Frame frame = writer.frame_of({.transaction_id = 1, .message = message});
    frame.flow.destination = pair.b.gid;
    pair.b.nic.receive({&frame, 1}, pair.now);
    pair.exchange();
  }
  // It knows the QP and the GUID of A, and says that A uses the QP for another connection.
  void forge_stale_request() {
    req.local_comm_id = wire::CommId{req.local_comm_id.value() + 1000};
    forge(req);
  }
  void expect_connected() {
    EXPECT_EQ(pair.a.events(), Kinds{});
    EXPECT_EQ(pair.b.events(), Kinds{});
    ASSERT_TRUE(pair.a.cm().disconnect(pair.active, {}));
    pair.exchange();
    EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kDisconnectRequested});
  }

  CmPair pair;
  wire::CmReq req{};
  wire::CommId b_id{};
};

TEST_F(CmStranger, DoesNotEndAConnectionByAStaleRequest) {
  forge_stale_request();
  pair.wait(100 * kSecond);
  expect_connected();
}

// A is asked a few times whether it has the connection, however many requests are forged.
TEST_F(CmStranger, MakesNoFloodOfChallenges) {
  for (int i = 0; i < 1000; ++i) {
    forge_stale_request();
    pair.wait(3 * kMillisecond);
  }
  pair.wait(10 * kSecond);
  EXPECT_LE(count(pair.seen, CmAttribute::kDreq), 2U * kChallenges);
  for (const SeenMad& mad : pair.seen) {
    const auto* dreq = std::get_if<wire::CmDreq>(&mad.mad.message);
    EXPECT_TRUE(dreq == nullptr || dreq->remote_qpn == Qpn{0}) << "a DREQ that ends it";
  }
  expect_connected();
}

// The challenge is repeated until a peer that has lost the connection gets it.
TEST_F(CmStranger, IsToldApartFromAPeerThatHasLostTheConnection) {
  NicConfig config;
  config.begin_comm_ids_at = 1000;
  test::CmEnd reborn{1, config};
  forge_stale_request();
  EXPECT_EQ(pair.b.events(), Kinds{});
  TxBurst burst{8};
  const Time end = pair.now + 10 * kSecond;
  for (int turn = 0; pair.now < end && pair.b.nic.next_deadline(); ++turn) {
    pair.now = *pair.b.nic.next_deadline();
    pair.b.nic.expire(pair.now);
    pair.b.nic.transmit(burst, pair.now);
    if (turn < 2) continue;  // two are lost
    reborn.nic.receive(burst.frames(), pair.now);
    reborn.nic.transmit(burst, pair.now);
    pair.b.nic.receive(burst.frames(), pair.now);
    break;
  }
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kDisconnected});
}

// Only a peer whose request is unanswered does not know our ID.
TEST_F(CmStranger, DoesNotEndAConnectionByATimeoutWithoutAnId) {
  wire::CmRej rej{.local_comm_id = req.local_comm_id, .reason = RejectReason::kTimeout};
  rej.info_length = 8;
  store_be<8>(rej.info_field, 0, pair.a.guid);
  forge(rej);
  expect_connected();
}

TEST_F(CmStranger, DoesNotEndAConnectionByADrepThatNobodyAskedFor) {
  forge(wire::CmDrep{.local_comm_id = req.local_comm_id, .remote_comm_id = b_id});
  expect_connected();
}

// --- Requests with forged sources.

wire::CmReq request(const CmProbe& probe, std::uint32_t number) {
  wire::CmReq req = probe.req();
  req.local_comm_id = wire::CommId{0x10'0000 + number};
  req.local_qpn = Qpn{0x1000 + number};
  return req;
}

// Accepts every request that has arrived, like a server that knows no better.
std::vector<CommHandle> accept_all(CmProbe& probe) {
  std::vector<CommHandle> ids;
  while (const auto event = probe.end.cm().next_event()) {
    if (event->kind == CmEventKind::kRequest) {
      EXPECT_TRUE(probe.end.cm().accept(event->id, probe.end.offer(), {}));
      ids.push_back(event->id);
    } else {
      EXPECT_TRUE(probe.end.cm().destroy(event->id));
    }
  }
  return ids;
}

std::vector<SeenMad> watch(CmProbe& probe, Duration time) {
  const Time until = probe.now + time;
  std::vector<SeenMad> all = probe.listen();
  while (const auto due = probe.end.nic.next_deadline()) {
    if (*due > until) break;
    if (*due > probe.now) probe.now = *due;
    probe.end.nic.expire(probe.now);
    for (SeenMad& mad : probe.listen()) all.push_back(std::move(mad));
  }
  probe.now = until;
  return all;
}

TEST(CmHalfOpen, TheSenderDoesNotChooseHowLong) {
  CmProbe probe;
  ASSERT_TRUE(probe.end.cm().listen({.service = test::kService}));
  wire::CmReq req = request(probe, 1);
  req.local_cm_response_timeout = 31;
  req.max_cm_retries = 15;
  req.primary.local_ack_timeout = 31;
  (void)probe.hear(req);
  ASSERT_EQ(accept_all(probe).size(), 1U);
  const auto seen = watch(probe, std::chrono::seconds{78});
  (void)probe.end.expect(CmEventKind::kUnreachable);
  EXPECT_EQ(count(seen, CmAttribute::kRep), 1U + kReplyRepeats);
  EXPECT_EQ(count(seen, CmAttribute::kRej), 1U);
  EXPECT_EQ(seen.size(), 7U);
}

// The copies are spread, so that a peer that was unreachable for half a minute is reached.
TEST(CmHalfOpen, IsConfirmedAfterALongOutage) {
  CmPair pair;
  pair.open();
  ASSERT_TRUE(pair.b.cm().accept(pair.passive, pair.b.offer(), {}));
  const Time up = pair.now + 20 * kSecond;
  // The peer does not ask again.
  pair.lose = [&](const SeenMad& mad) {
    return mad.when < up || mad.attribute() == CmAttribute::kReq;
  };
  pair.wait(40 * kSecond);
  (void)pair.a.expect(CmEventKind::kReply);
  ASSERT_TRUE(pair.a.cm().confirm(pair.active, {}));
  pair.exchange();
  EXPECT_EQ(pair.b.events(), Kinds{CmEventKind::kEstablished});
}

// A server with few QPs, whose table fills with requests that nobody confirms.
class CmShortOfQps : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kQps = 64;

  void SetUp() override { ASSERT_TRUE(probe.end.cm().listen({.service = test::kService})); }
  static NicConfig few_qps() {
    NicConfig config;
    config.limits.max_qp = kQps;
    return config;
  }
  CommHandle ask() {
    (void)probe.hear(request(probe, asked++));
    for (const CommHandle id : accept_all(probe)) open.push_back(id);
    (void)probe.listen();
    return open.back();
  }
  void confirm(CommHandle id, std::uint32_t number) {
    ASSERT_TRUE(probe.end.cm().set_cookie(id, number));
    ASSERT_TRUE(probe.end.cm().established(id));
    (void)probe.end.expect(CmEventKind::kEstablished);
  }

  CmProbe probe{few_qps()};
  std::uint32_t asked{};
  std::vector<CommHandle> open;
};

TEST_F(CmShortOfQps, TheOldestUnconfirmedGivesWay) {
  for (std::uint32_t i = 0; i < kQps - kQps / 8; ++i) (void)ask();
  probe.now += 2 * kSecond;
  (void)probe.hear(request(probe, asked++));
  const auto event = probe.end.cm().next_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, CmEventKind::kUnreachable);
  EXPECT_EQ(event->id, open.front());
  (void)probe.end.expect(CmEventKind::kRequest);
}

// A job that connects thousands of QPs at once is not attacked by itself.
TEST_F(CmShortOfQps, YoungOnesStay) {
  for (std::uint32_t i = 0; i < 4 * kQps; ++i) {
    (void)ask();
    probe.now += kMillisecond;
  }
  EXPECT_EQ(open.size(), 4 * kQps);
  EXPECT_EQ(probe.end.events(), Kinds{});
}

TEST_F(CmShortOfQps, EstablishedOnesStay) {
  for (std::uint32_t i = 0; i < kQps; ++i) confirm(ask(), i);
  probe.now += 100 * kSecond;
  for (std::uint32_t i = 0; i < 2 * kQps; ++i) {
    (void)ask();
    probe.now += 2 * kSecond;
  }
  for (std::uint32_t i = 0; i < kQps; ++i) {
    EXPECT_TRUE(probe.end.cm().disconnect(open[i], {})) << i;
  }
}

TEST_F(CmShortOfQps, OnesWithRoomStay) {
  (void)ask();
  probe.now += 50 * kSecond;
  (void)ask();
  EXPECT_EQ(probe.end.events(), Kinds{});
}

// --- Guesses.

// A stranger that tries the communication IDs of a peer whose request is being answered.
TEST(CmGuesses, OfIdsAreLimited) {
  CmProbe probe;
  ASSERT_TRUE(probe.end.cm().listen({.service = test::kService}));
  (void)probe.hear(probe.req());
  (void)probe.end.expect(CmEventKind::kRequest);
  wire::CmRej rej{.reason = RejectReason::kTimeout};
  rej.info_length = 8;
  store_be<8>(rej.info_field, 0, probe.peer_guid);
  for (std::uint32_t i = 0; i < kUnmatchedBurst; ++i) {
    rej.local_comm_id = wire::CommId{0x1000 + i};
    (void)probe.hear(rej);
  }
  rej.local_comm_id = probe.req().local_comm_id;  // the right one, but too late
  (void)probe.hear(rej);
  EXPECT_EQ(probe.end.events(), Kinds{});
  EXPECT_EQ(probe.end.nic.counters().mads_dropped, 1U);
  probe.now += kSecond;
  (void)probe.hear(rej);
  EXPECT_EQ(probe.end.events(), Kinds{CmEventKind::kRejected});
}

TEST(CmGuesses, OfServicesAreAnsweredAtALimitedRate) {
  CmProbe probe;
  wire::CmReq req = probe.req();
  std::size_t answers = 0;
  for (std::uint32_t i = 0; i < 3 * kUnmatchedBurst; ++i) {
    req.service_id = wire::ServiceId{i};
    req.local_comm_id = wire::CommId{0x1000 + i};
    answers += probe.hear(req).size();
  }
  EXPECT_EQ(answers, kUnmatchedBurst);
  probe.now += kSecond / 2;
  answers = 0;
  for (std::uint32_t i = 0; i < kUnmatchedBurst; ++i) {
    answers +=
        probe.hear(wire::CmSidrReq{.request_id = wire::CommId{i}, .service_id = wire::ServiceId{1}})
            .size();
  }
  EXPECT_EQ(answers, kUnmatchedBurst / 2);
}

// A request that is refused for a reason of its own does not touch the connection of the QP that it
// names.
TEST(CmGuesses, OfQpsNeedAListener) {
  CmPair pair;
  pair.establish();
  const auto req = std::get<wire::CmReq>(pair.seen[0].mad.message);
  ASSERT_TRUE(pair.b.cm().destroy(pair.listener));
  CmProbe writer;
  writer.peer = pair.a.gid;
  wire::CmReq forged = req;
  forged.local_comm_id = wire::CommId{77};
  wire::Frame frame = writer.frame_of({.message = forged});
  frame.flow.destination = pair.b.gid;
  pair.seen.clear();
  pair.b.nic.receive({&frame, 1}, pair.now);
  pair.wait(10 * kSecond);
  ASSERT_EQ(pair.seen.size(), 1U);
  EXPECT_EQ(std::get<wire::CmRej>(pair.seen[0].mad.message).reason,
            RejectReason::kInvalidServiceId);
}

TEST(CmGuesses, OfTheNextIdAreNoBetterThanChance) {
  NicConfig config;
  config.scatter_numbers = true;
  config.key_secret = {5, 6};
  CmProbe probe{config};
  test::CmEnd peer{9};
  std::vector<std::uint32_t> ids;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(probe.end.cm().connect(probe.end.to(peer)));
    ids.push_back(std::get<wire::CmReq>(probe.listen()[0].mad.message).local_comm_id.value());
    EXPECT_EQ(ids.back() >> kCommIdBits, 1U) << "the process stays recognisable";
  }
  int guessed = 0;
  for (std::size_t i = 2; i < ids.size(); ++i) {
    guessed += ids[i] == ids[i - 1] + 1 || ids[i] - ids[i - 1] == ids[i - 1] - ids[i - 2] ? 1 : 0;
  }
  EXPECT_EQ(guessed, 0);
}

}  // namespace
}  // namespace nerve::nic
