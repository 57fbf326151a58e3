// Goal: after a right is revoked or reduced, no placement uses the old one. Method: a ring from
// this process to itself, over which a placement is under way.
#include "host/peers/peer_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "host/peers/membership.h"

namespace nerve::host {
namespace {

constexpr wire::Gid kHere = wire::Gid::ipv4(127, 0, 0, 1);
constexpr Qpn kQpn{0x1234};

// Both ends of a ring, as two processes would have them.
class Ring {
 public:
  explicit Ring(Exchange& target) {
    auto joined = join_host();
    EXPECT_TRUE(joined);
    EXPECT_TRUE(listen_to_calls(joined->listener.get()));
    auto offer = RingOffer::make(joined->slot, 1, {});
    EXPECT_TRUE(offer);
    Descriptor connection;
    do {  // processes of other tests may connect as well
      connection = accept_from(joined->listener.get());
    } while (own_peer(connection.get()) != ::getpid());
    const auto message = receive_message(connection.get(), std::chrono::seconds{1});
    const auto request = Request::decode(message->bytes);
    const int fd = connection.get();
    target.add(IncomingRing::accept(std::move(connection), *request, *message));
    EXPECT_TRUE(send_message(fd, encode_answer(), mailbox.descriptors()));
    requester = std::move(*offer).conclude(std::chrono::seconds{1});
    EXPECT_NE(requester, nullptr);
  }
  Mailbox mailbox = *Mailbox::make();
  std::unique_ptr<OutgoingRing> requester;
};

class Rights : public testing::Test {
 protected:
  Rights() { exchange.set_local({kHere}); }

  void allow(nic::Access access) {
    memory.offer(kQpn, nic::DirectPath::Connection{.flow = {.source = kHere, .destination = kHere},
                                                   .peer = Qpn{0x99},
                                                   .access = access,
                                                   .pd = {}});
  }
  // Calls `change` while a placement is under way; returns whether that had ended when it returned.
  template <class Change>
  bool waits(Change change) {
    std::atomic<bool> placing{};
    std::atomic<bool> ended{};
    std::thread requester{[&] {
      const link::shm::Placing now{ring.requester->in_use()};
      placing = true;
      std::this_thread::sleep_for(std::chrono::milliseconds{30});
      ended = true;
    }};
    while (!placing) std::this_thread::yield();
    change();
    const bool waited = ended;
    requester.join();
    return waited;
  }

  Exchange exchange{Transport::kShm, 2};
  Ring ring{exchange};
  GpuMemory gpu;
  PeerMemory memory{exchange, ring.mailbox.rights(), gpu};
};

constexpr nic::Access kAll = nic::Access::kRemoteWrite | nic::Access::kRemoteRead;

TEST_F(Rights, ReducingTheRightsOfAQpWaitsForPlacements) {
  allow(kAll);
  EXPECT_TRUE(waits([&] { allow(nic::Access::kRemoteRead); }));
  EXPECT_EQ(ring.mailbox.rights().find(kQpn)->rights, link::shm::Rights::kRead);
}

TEST_F(Rights, RepublishingARegionWaitsForPlacements) {
  const auto offer = [&](std::uint64_t address) {
    memory.offer(RKey{7}, nic::DirectPath::Region{
                              .start = 0, .length = 64, .address = address, .access = kAll});
  };
  offer(0x1000);
  EXPECT_TRUE(waits([&] { offer(0x2000); }));
  EXPECT_EQ(ring.mailbox.rights().find(RKey{7})->address, 0x2000U);
}

TEST_F(Rights, RevokingWaitsForPlacements) {
  allow(kAll);
  EXPECT_TRUE(waits([&] { memory.withdraw(kQpn); }));
  EXPECT_FALSE(ring.mailbox.rights().find(kQpn));
}

// A verb waits for them only after it has released the lock.
TEST_F(Rights, DeferredWaitsAreLeftToTheCaller) {
  allow(kAll);
  using enum PeerMemory::Withdrawn;
  std::vector<PendingPlacement> pending;
  const auto withdraw = [&] {
    memory.begin_deferring();
    memory.withdraw(kQpn);
    EXPECT_EQ(memory.end_deferring(), kQp);
    memory.add_placements(pending);
  };
  EXPECT_FALSE(waits(withdraw));
  ASSERT_EQ(pending.size(), 1U);
  pending.clear();
  allow(kAll);
  EXPECT_TRUE(waits([&] {
    withdraw();
    wait_for(pending);
  }));
  EXPECT_EQ(memory.end_deferring(), kNothing);
}

TEST_F(Rights, RevokingAKeyWaitsInAllShards) {
  memory.offer(RKey{7}, nic::DirectPath::Region{
                            .start = 0, .length = 64, .address = 0x1000, .access = kAll});
  EXPECT_FALSE(waits([&] {
    memory.begin_deferring();
    memory.withdraw(RKey{7});
    EXPECT_EQ(memory.end_deferring(), PeerMemory::Withdrawn::kKey);
  }));
}

TEST_F(Rights, RevokingWhatWasNotPublishedDoesNotWait) {
  EXPECT_FALSE(waits([&] { memory.withdraw(kQpn); }));
}

// The transition from RTR to RTS revokes nothing, so it does not wait.
TEST_F(Rights, PublishingTheSameRightsDoesNotWait) {
  allow(kAll);
  std::atomic<std::uint64_t>& under_way = ring.requester->in_use();
  under_way = 1;
  allow(kAll);
  EXPECT_EQ(under_way.load(), 1U);
  EXPECT_EQ(ring.mailbox.rights().find(kQpn)->peer, Qpn{0x99});
}

}  // namespace
}  // namespace nerve::host
