// How two QPs agree on keys, over a network that loses, repeats and forges.
#include <gtest/gtest.h>

#include <vector>

#include "tests/seal/session_pair.h"
#include "tests/seal/toy_crypto.h"

namespace nerve::seal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Sessions, OpenAfterOneExchange) {
  SessionPair pair;
  pair.run_for(milliseconds{1});
  ASSERT_TRUE(pair.a().is_open());
  ASSERT_TRUE(pair.b().is_open());
  EXPECT_EQ(pair.a().suite(), Suite::kAes128Gcm);
  EXPECT_TRUE(pair.passes_both_ways());
  EXPECT_FALSE(pair.a().deadline());  // nothing more to send
  EXPECT_FALSE(pair.b().deadline());
}

TEST(Sessions, AreOpenAtOnceIfAQpIsItsOwnPeer) {
  ToyLedger ledger;
  ToyCrypto crypto{1, ledger};
  const Endpoint end{.gid = wire::Gid::ipv4(10, 0, 0, 1), .qpn = Qpn{7}};
  Session session{
      crypto,
      {.own = end, .peer = end, .credentials = Preshared{}, .suites = {Suite::kAes128Gcm}},
      Time{}};
  ASSERT_TRUE(session.is_open());
  EXPECT_FALSE(session.deadline());
  wire::Frame frame{.flow = session.flow()};
  frame.headers.bth = {.opcode = 0x04, .dest_qp = end.qpn};
  std::vector<std::byte> packet(sealed_size(frame));
  ASSERT_TRUE(session.seal(frame, Time{}, packet));
  wire::Frame opened;
  wire::Piece piece;
  EXPECT_EQ(session.receive(frame.flow, packet, Time{}, opened, piece), Opening::kGood);
}

TEST(Sessions, OpenWhenEitherSideIsLate) {
  for (const bool caller_is_late : {false, true}) {
    SessionPair pair{{.caller_starts = caller_is_late ? milliseconds{2000} : milliseconds{0},
                      .answerer_starts = caller_is_late ? milliseconds{0} : milliseconds{2000}}};
    pair.run_for(milliseconds{1999});
    EXPECT_LT(pair.packets_sent(), 20U);  // repeated less and less often
    // The late side need not wait until the other one repeats itself.
    pair.run_for(milliseconds{5});
    EXPECT_TRUE(pair.passes_both_ways()) << caller_is_late;
  }
}

TEST(Sessions, OpenAlthoughAnyPacketOfTheHandshakeIsLost) {
  for (unsigned lost = 0; lost < 64; ++lost) {
    SessionPair pair;
    pair.on_send = [&](std::uint64_t number, std::vector<std::byte>&) {
      return number >= 6 || (lost >> number & 1U) == 0;
    };
    pair.run_for(milliseconds{200});
    EXPECT_TRUE(pair.passes_both_ways()) << lost;
  }
}

TEST(Sessions, ChooseTheAnswerersFavouriteThatBothHave) {
  SessionPair pair{{.caller_suites = {Suite::kAes128Gcm, Suite::kChaCha20Poly1305},
                    .answerer_suites = {Suite::kAes256Gcm, Suite::kChaCha20Poly1305}}};
  pair.run_for(milliseconds{10});
  EXPECT_TRUE(pair.passes_both_ways());
  EXPECT_EQ(pair.a().suite(), Suite::kChaCha20Poly1305);
  EXPECT_EQ(pair.b().suite(), Suite::kChaCha20Poly1305);
}

TEST(Sessions, StayClosedWithoutACommonSuite) {
  SessionPair pair{{.caller_suites = {Suite::kAes128Gcm}, .answerer_suites = {Suite::kAes256Gcm}}};
  pair.run_for(seconds{5});
  EXPECT_FALSE(pair.a().is_open());
  EXPECT_FALSE(pair.b().is_open());
}

TEST(Sessions, StayClosedWithAnotherKey) {
  SessionPair pair{{.same_key = false}};
  pair.run_for(seconds{5});
  EXPECT_FALSE(pair.a().is_open());
  EXPECT_FALSE(pair.b().is_open());
  EXPECT_GT(pair.b().counters().refused, 0U);
}

TEST(Sessions, OpenWithPinnedKeys) {
  SessionPair pair{{.pinned = true}};
  pair.run_for(milliseconds{10});
  EXPECT_TRUE(pair.passes_both_ways());
  SessionPair other{{.same_key = false, .pinned = true}};
  other.run_for(seconds{1});
  EXPECT_FALSE(other.a().is_open() || other.b().is_open());
}

// An old call is authentic. Whoever repeats it gets an answer that he cannot use, and does not keep
// the real caller out.
TEST(Sessions, ARecordedCallDoesNotKeepTheCallerOut) {
  std::vector<std::vector<std::byte>> calls;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SessionPair earlier{{.seed = seed}};
    earlier.on_send = [&](std::uint64_t /*number*/, std::vector<std::byte>& packet) {
      const auto kind = packet[wire::Bth::kSize];
      if (kind == std::byte{0x11}) calls.push_back(packet);
      return true;
    };
    earlier.run_for(milliseconds{1});
  }
  ASSERT_GE(calls.size(), 8U);

  SessionPair pair{{.seed = 99, .caller_starts = milliseconds{10}}};
  for (int i = 0; i < 1000; ++i) {
    pair.inject_to_answerer(calls[static_cast<std::size_t>(i) % calls.size()]);
    pair.run_for(milliseconds{3});
    if (pair.b().is_open()) break;
  }
  EXPECT_TRUE(pair.passes_both_ways());
}

// Each costs an exchange of keys to refuse, if it has the number of the call.
TEST(Sessions, ForgedAnswersDoNotSpoilTheHandshake) {
  SessionPair pair{{.answerer_starts = milliseconds{20}}};
  std::uint64_t number = 0;
  pair.on_send = [&](std::uint64_t /*index*/, std::vector<std::byte>& packet) {
    const auto header =
        Header::decode(MutableBytes{packet}.subspan(wire::Bth::kSize).first<Header::kSize>());
    if (header && header->kind == Kind::kCall) number = header->counter;
    return true;
  };
  pair.run_for(milliseconds{1});
  std::vector<std::byte> forged(Session::kMaxPacket);
  wire::Bth{.opcode = kSealedOpcode}.encode(MutableBytes{forged}.first<wire::Bth::kSize>());
  const auto header_at = MutableBytes{forged}.subspan(wire::Bth::kSize).first<Header::kSize>();
  Header{.kind = Kind::kAnswer, .counter = number}.encode(header_at);
  for (int i = 0; i < 18; ++i) {
    pair.inject_to_caller(forged);
    pair.run_for(milliseconds{1});
  }
  EXPECT_GE(pair.a().counters().refused, 8U);
  EXPECT_LE(pair.a().counters().refused, 10U);  // one in two milliseconds
  // With another number they cost nothing, and do not keep the real one out.
  Header{.kind = Kind::kAnswer, .counter = number + 1}.encode(header_at);
  for (int i = 0; i < 50; ++i) {
    pair.inject_to_caller(forged);
    pair.run_for(milliseconds{1});
  }
  EXPECT_LE(pair.a().counters().refused, 10U);
  EXPECT_TRUE(pair.passes_both_ways());
}

TEST(Sessions, ForgedCallsDoNotKeepTheCallerOut) {
  SessionPair pair{{.caller_starts = milliseconds{50}}};
  pair.run_for(milliseconds{1});
  std::vector<std::byte> forged(Session::kMaxPacket);
  wire::Bth{.opcode = kSealedOpcode}.encode(MutableBytes{forged}.first<wire::Bth::kSize>());
  Header{.kind = Kind::kCall}.encode(
      MutableBytes{forged}.subspan(wire::Bth::kSize).first<Header::kSize>());
  for (int i = 0; i < 6000; ++i) {
    pair.inject_to_answerer(forged);
    pair.run_for(std::chrono::microseconds{100});
  }
  EXPECT_LE(pair.b().counters().refused, 320U);
  EXPECT_TRUE(pair.passes_both_ways());
}

TEST(Sessions, InvitationsDrawFewCalls) {
  SessionPair pair{{.answerer_starts = seconds{100}}};
  pair.run_for(seconds{3});
  const std::uint64_t before = pair.packets_sent();
  std::vector<std::byte> invitation(kClearSize);
  wire::Bth{.opcode = kSealedOpcode}.encode(MutableBytes{invitation}.first<wire::Bth::kSize>());
  Header{.kind = Kind::kInvite}.encode(
      MutableBytes{invitation}.subspan(wire::Bth::kSize).first<Header::kSize>());
  for (int i = 0; i < 10'000; ++i) {
    pair.inject_to_caller(invitation);
    pair.run_for(std::chrono::microseconds{1});
  }
  EXPECT_LE(pair.packets_sent() - before, 12U);  // in ten milliseconds
}

TEST(Sessions, IgnoreOtherAddresses) {
  SessionPair pair;
  pair.run_for(milliseconds{1});
  std::vector<std::byte> packet = pair.seal_at_caller();
  wire::Frame frame;
  wire::Piece piece;
  wire::Flow flow{.source = wire::Gid::ipv4(10, 9, 9, 9), .destination = SessionPair::kAnswererGid};
  EXPECT_EQ(pair.b().receive(flow, packet, pair.now(), frame, piece), Opening::kUnknown);
}

}  // namespace
}  // namespace nerve::seal
