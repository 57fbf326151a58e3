// Goal: channels behave like descriptors of a kernel device: with epoll, threads, fork, and while
// identifiers move between them or are destroyed.
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "rdmacm/registry.h"
#include "tests/host/process.h"
#include "tests/rdmacm/connection.h"

namespace rdmacm_test {
namespace {

using nerve::rdmacm::Registry;
using nerve::test::Line;
using nerve::test::Process;

void bind_and_resolve(Channel& channel, std::uint32_t id) {
  ASSERT_EQ(channel.bind(id, "127.0.0.1", 0), 0);
  ASSERT_EQ(channel.resolve(id, "127.0.0.1", 7), 0);
}

int migrate(Channel& to, const Channel& from, std::uint32_t id, rdma_ucm_migrate_resp& moved) {
  const rdma_ucm_migrate_id body{
      .response = 0, .id = id, .fd = static_cast<std::uint32_t>(from.fd())};
  return to.call(RDMA_USER_CM_CMD_MIGRATE_ID, body, moved);
}

TEST(Channels, HoldAThousandIdentifiers) {
  constexpr std::uint64_t kMany = 1000;
  const std::size_t before = Registry::current().ids.all().size();
  Channel channel;
  std::vector<std::uint32_t> ids;
  for (std::uint64_t uid = 1; uid <= kMany; ++uid) {
    ids.push_back(channel.create(uid));
    bind_and_resolve(channel, ids.back());
  }
  for (std::uint64_t uid = 1; uid <= kMany; ++uid) {
    EXPECT_EQ(channel.expect(EventKind::kAddressResolved).uid, uid);
  }
  EXPECT_FALSE(channel.readable());
  for (const std::uint32_t id : ids) {
    std::uint32_t events = 0;
    EXPECT_EQ(channel.destroy(id, &events), 0);
    EXPECT_EQ(events, 1U);
  }
  EXPECT_EQ(Registry::current().ids.all().size(), before);
}

TEST(Channels, AreReadableWhileEventsWait) {
  Channel channel;
  const int watch = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event wish{.events = EPOLLIN, .data = {}};
  ASSERT_EQ(::epoll_ctl(watch, EPOLL_CTL_ADD, channel.fd(), &wish), 0);
  epoll_event seen{};
  EXPECT_EQ(::epoll_wait(watch, &seen, 1, 0), 0);
  for (std::uint64_t uid = 1; uid <= 2; ++uid) bind_and_resolve(channel, channel.create(uid));
  for (int left = 2; left > 0; --left) {
    EXPECT_EQ(::epoll_wait(watch, &seen, 1, 1000), 1);
    (void)channel.event();
  }
  EXPECT_EQ(::epoll_wait(watch, &seen, 1, 0), 0);
  ::close(watch);
}

TEST(Channels, ReturnEachEventToOneThread) {
  constexpr std::uint64_t kEvents = 400;
  Channel channel;
  std::array<std::set<std::uint64_t>, 2> seen;
  std::atomic<std::uint64_t> fetched{};
  std::vector<std::thread> threads;
  for (auto& mine : seen) {
    threads.emplace_back([&] {
      // One event per thread more than is asked for, so that neither waits in vain.
      while (fetched++ < kEvents + 2) {
        if (!mine.insert(channel.event().uid).second) ADD_FAILURE() << "twice";
        if (fetched >= kEvents + 2) break;
      }
    });
  }
  for (std::uint64_t uid = 1; uid <= kEvents + 2; ++uid) {
    bind_and_resolve(channel, channel.create(uid));
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::uint64_t uid : seen[0]) EXPECT_FALSE(seen[1].contains(uid)) << uid;
}

TEST(Channels, MigrationKeepsTheOrderOfEvents) {
  Channel from, to;
  const std::uint32_t id = from.create(1);
  const std::uint32_t other = from.create(2);
  bind_and_resolve(from, id);
  bind_and_resolve(from, other);
  ASSERT_EQ(from.resolve_route(id), 0);
  rdma_ucm_migrate_resp moved{};
  ASSERT_EQ(migrate(to, from, id, moved), 0);
  EXPECT_EQ(moved.events_reported, 0U);
  EXPECT_EQ(to.expect(EventKind::kAddressResolved).uid, 1U);
  EXPECT_EQ(to.expect(EventKind::kRouteResolved).uid, 1U);
  EXPECT_FALSE(to.readable());
  EXPECT_EQ(from.expect(EventKind::kAddressResolved).uid, 2U);
  EXPECT_FALSE(from.readable());
  EXPECT_EQ(migrate(to, from, id, moved), EINVAL);  // it is not there any more
  ASSERT_EQ(migrate(from, to, id, moved), 0);
  EXPECT_EQ(moved.events_reported, 2U);
}

TEST_F(Connection, MigratesWithItsListener) {
  active = client.create(kActiveUid);
  ASSERT_EQ(client.resolve(active, "127.0.0.1", port), 0);
  client.expect(EventKind::kAddressResolved);
  ASSERT_EQ(client.resolve_route(active), 0);
  client.expect(EventKind::kRouteResolved);
  ASSERT_EQ(client.connect(active, active_qpn), 0);
  ASSERT_TRUE(server.readable(10'000));
  Channel other;
  rdma_ucm_migrate_resp moved{};
  ASSERT_EQ(migrate(other, server, listener, moved), 0);
  EXPECT_FALSE(server.readable());
  const auto asked = other.expect(EventKind::kConnectRequest);
  ASSERT_EQ(other.accept(asked.id, kPassiveUid, passive_qpn), 0);
  client.expect(EventKind::kConnectResponse);
}

TEST(Channels, AForkedChildDoesNotInheritChannels) {
  Channel channel;
  const std::uint32_t id = channel.create(1);
  bind_and_resolve(channel, id);
  {
    const Process child{[&](Line line) {
      EXPECT_EQ(channel.bind(id, "127.0.0.1", 0), EBADF);
      nerve::rdmacm::close_device(channel.fd());
      EXPECT_EQ(::fcntl(channel.fd(), F_GETFD), -1);  // the descriptor is closed
      Channel own;
      EXPECT_EQ(own.create(5), 1U);
      line.say('d');
    }};
    EXPECT_EQ(child.line().hear<char>(), 'd');
  }
  channel.expect(EventKind::kAddressResolved);
  EXPECT_EQ(channel.resolve_route(id), 0);
  channel.expect(EventKind::kRouteResolved);
}

TEST(Channels, ClosingDestroysTheirIdentifiers) {
  const std::size_t before = Registry::current().ids.all().size();
  std::uint16_t port = 0;
  {
    Channel channel;
    const std::uint32_t listener = channel.create(1);
    ASSERT_EQ(channel.bind(listener, "127.0.0.1", 0), 0);
    ASSERT_EQ(channel.listen(listener), 0);
    port = channel.port_of(listener);
    const std::uint32_t member = channel.create(2, RDMA_PS_UDP, 4);
    ASSERT_EQ(channel.bind(member, "127.0.0.1", 0), 0);
    rdma_ucm_create_id_resp made{};
    const rdma_ucm_join_ip_mcast body{
        .response = 0, .uid = 9, .addr = address("239.1.2.3", 0), .id = member};
    ASSERT_EQ(channel.call(RDMA_USER_CM_CMD_JOIN_IP_MCAST, body, made), 0);
  }
  EXPECT_EQ(Registry::current().ids.all().size(), before);
  EXPECT_TRUE(Registry::current().memberships.all().empty());
  Channel next;
  EXPECT_EQ(next.bind(next.create(1), "127.0.0.1", port), 0);
}

// rping's event thread is still handling its last event when the program closes the channel. It
// then goes back to waiting, forever, and gets no error.
TEST(Channels, ClosingLeavesAWaitingThreadWaiting) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "a descriptor that is closed while another thread reads it is a race to it";
#endif
  // On a busy machine the thread may not arrive within the moment that close waits for it. Such an
  // attempt shows nothing, and is repeated.
  enum : char { kWaits = 'w', kFailed = 'f', kTooLate = 'l' };
  const auto attempt = [] {
    const Process process{[](Line line) {
      Channel channel;
      bind_and_resolve(channel, channel.create(1));
      std::atomic<bool> has_event{};
      std::atomic<bool> calls{};
      std::atomic<bool> failed{};
      std::thread waiter{[&] {
        channel.expect(EventKind::kAddressResolved);
        has_event = true;
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
        calls = true;
        rdma_ucm_event_resp answer{};
        (void)channel.call(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, answer);
        failed = true;
      }};
      while (!has_event) std::this_thread::yield();
      nerve::rdmacm::prepare_close(channel.fd());
      const bool in_time = calls;
      nerve::rdmacm::close_device(channel.fd());
      std::this_thread::sleep_for(std::chrono::milliseconds{30});
      const char failed_now = in_time ? kFailed : kTooLate;
      line.say(failed ? failed_now : char{kWaits});
      waiter.detach();
    }};
    return process.line().hear<char>();
  };
  char seen = kTooLate;
  for (int tries = 0; seen == kTooLate && tries < 100; ++tries) seen = attempt();
  EXPECT_EQ(seen, kWaits);
}

TEST(Channels, CarryUserEvents) {
  Channel channel;
  const std::uint32_t id = channel.create(7);
  struct {
    std::uint32_t id, reserved, event, status;
    std::uint64_t arg;
  } body{id, 0, 18, 5, 0x1234'5678'9abc'def0};
  ASSERT_EQ(channel.call(24, body), 0);
  const auto event = channel.expect(EventKind::kUser);
  EXPECT_EQ(event.uid, 7U);
  EXPECT_EQ(event.status, 5U);
  EXPECT_EQ(std::memcmp(&event.param, &body.arg, sizeof body.arg), 0);
  body.event = 9;  // established: not for programs to write
  EXPECT_EQ(channel.call(24, body), EINVAL);
}

}  // namespace
}  // namespace rdmacm_test
