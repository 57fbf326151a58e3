// Goal: an rdma_cm port belongs to one process of the host at a time, whichever processes come and
// go.
#include "host/peers/port_space.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "host/host.h"
#include "host/peers/ask_all.h"
#include "tests/host/cm_peer.h"
#include "tests/host/process.h"

namespace nerve::host {
namespace {

using test::Line;
using test::Process;
using Space = PortSpace::Space;

const std::uint16_t kPort = test::own_port();
constexpr std::uint32_t kSlot = 777;
const PortSpace::Range kFew{.first = test::own_port(10), .last = test::own_port(13)};

PortSpace& ports() {
  PortSpace* const found = Host::current().use_cm();
  CHECK(found != nullptr);
  return *found;
}

// Binds and releases on command, and reports the results; a negative number means release.
void obey(Line line) {
  PortSpace& own = ports();
  line.say('r');
  while (const int port = line.hear<int>()) {
    if (port < 0) {
      own.release(Space::kTcp, static_cast<std::uint16_t>(-port));
      line.say(0);
    } else {
      line.say(own.bind(Space::kTcp, static_cast<std::uint16_t>(port)));
    }
  }
}

struct Obedient : Process {
  Obedient() : Process{obey} { (void)line().hear<char>(); }
  [[nodiscard]] int bind(std::uint16_t port) const { return ask(port); }
  void release(std::uint16_t port) const { EXPECT_EQ(ask(-port), 0); }
  void leave() const { line().say(0); }

 private:
  [[nodiscard]] int ask(int port) const {
    line().say(port);
    return line().hear<int>();
  }
};

// Nothing listens there any more, but a request sent before may be retransmitted.
TEST(PortSpace, ALingeringPortIsFreeAndStillReceives) {
  const Process process{[](Line line) {
    const Obedient other;  // before this process has threads
    PortSpace& own = ports();
    ASSERT_EQ(own.bind(Space::kTcp, kPort), 0);
    const auto slot = own.owner(Space::kTcp, kPort);
    own.linger(Space::kTcp, kPort);
    EXPECT_EQ(own.owner(Space::kTcp, kPort), slot);
    EXPECT_EQ(own.bind(Space::kTcp, kPort), 0);
    own.linger(Space::kTcp, kPort);
    EXPECT_EQ(other.bind(kPort), 0);
    EXPECT_NE(own.owner(Space::kTcp, kPort), slot);
    own.linger(Space::kTcp, kPort);  // it is not ours any more, so this has no effect
    own.release(Space::kTcp, kPort);
    EXPECT_EQ(own.bind(Space::kTcp, kPort), EADDRINUSE);
    other.release(kPort);
    other.leave();
    EXPECT_EQ(own.bind(Space::kTcp, kPort), 0);
    own.linger(Space::kTcp, kPort);
    own.release(Space::kTcp, kPort);
    EXPECT_FALSE(own.owner(Space::kTcp, kPort));
    line.say('d');
  }};
  EXPECT_EQ(process.line().hear<char>(), 'd');
}

TEST(PortSpace, APortBelongsToOneProcess) {
  const Obedient a;
  const Obedient b;
  EXPECT_EQ(a.bind(kPort), 0);
  EXPECT_EQ(a.bind(kPort), 0);  // a process may bind its own port again
  EXPECT_EQ(b.bind(kPort), EADDRINUSE);
  EXPECT_EQ(b.bind(kPort + 1), 0);
  b.release(kPort);  // has no effect: it is not the owner
  EXPECT_EQ(b.bind(kPort), EADDRINUSE);
  a.release(kPort);
  EXPECT_EQ(b.bind(kPort), 0);
  EXPECT_EQ(a.bind(kPort), EADDRINUSE);
  a.leave();
  b.leave();
}

TEST(PortSpace, SpacesAreIndependent) {
  const Obedient a;
  EXPECT_EQ(a.bind(kPort), 0);
  {
    const Process b{[](Line /*line*/) {
      EXPECT_EQ(ports().bind(Space::kTcp, kPort), EADDRINUSE);
      EXPECT_EQ(ports().bind(Space::kUdp, kPort), 0);
      EXPECT_EQ(ports().bind(Space::kIb, kPort), 0);
      EXPECT_EQ(ports().bind(Space::kIb, 0), EINVAL);
      const auto udp = ports().owner(Space::kUdp, kPort);
      EXPECT_TRUE(udp);
      EXPECT_NE(udp, ports().owner(Space::kTcp, kPort));
      EXPECT_EQ(udp, ports().owner(wire::ServiceId{0x0111'0000U + kPort}));
      EXPECT_EQ(udp, ports().owner(wire::ServiceId{0x013f'0000U + kPort}));
      EXPECT_FALSE(ports().owner(wire::ServiceId{0x0112'0000U + kPort}));
      EXPECT_FALSE(ports().owner(wire::ServiceId{0x1'0106'0000U + kPort}));
      EXPECT_FALSE(ports().owner(Space::kTcp, test::own_port(63)));  // no test uses this one
    }};
  }
  a.leave();
}

TEST(PortSpace, PortsOfADeadProcessAreTakenOver) {
  const Obedient b;  // keeps the table alive
  {
    Obedient a;
    EXPECT_EQ(a.bind(kPort), 0);
    a.kill();
  }
  EXPECT_EQ(b.bind(kPort), 0);
  {
    Obedient a;
    EXPECT_EQ(a.bind(kPort), EADDRINUSE);
    a.leave();
  }
  b.leave();
}

TEST(PortSpace, AStoppedOwnerKeepsItsPort) {
  const Obedient b;
  Obedient a;
  EXPECT_EQ(a.bind(kPort), 0);
  a.stop();
  EXPECT_EQ(b.bind(kPort), EADDRINUSE);
  a.kill();
  EXPECT_EQ(b.bind(kPort), 0);
  b.leave();
}

TEST(PortSpace, OutlivesTheProcessThatCreatedIt) {
  Obedient first;
  const Obedient second;
  EXPECT_EQ(second.bind(kPort), 0);
  first.kill();
  const Obedient third;
  EXPECT_EQ(third.bind(kPort), EADDRINUSE);
  second.leave();
  third.leave();
}

// Such a process shares nothing, and has no thread that could answer. Other tests run concurrently,
// and one of their processes may be silent while it exits; the one under test would be silent every
// time.
TEST(PortSpace, AProcessThatOnlyListsDevicesIsNotAsked) {
  const Process looker{[](Line line) {
    (void)Host::current().devices();
    line.say('r');
    (void)line.hear<char>();
  }};
  (void)looker.line().hear<char>();
  const Process process{[](Line line) {
    constexpr int kTries = 5;
    Asked asked = Asked::kSilence;
    for (int i = 0; i < kTries && asked == Asked::kSilence; ++i) {
      asked = ask_all(kSlot, RequestKind::kPorts, std::chrono::milliseconds{2000},
                      [](Message& /*answer*/) { return false; });
    }
    EXPECT_NE(asked, Asked::kSilence);
    line.say('r');
  }};
  (void)process.line().hear<char>();
  looker.line().say('e');
}

TEST(PortSpace, ConcurrentCreatorsCreateOne) {
  constexpr int kRounds = 5;
  constexpr int kRacers = 8;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Process> racers;
    for (int i = 0; i < kRacers; ++i) {
      racers.emplace_back([](Line line) {
        (void)line.hear<char>();
        line.say(ports().bind(Space::kTcp, kPort));
        (void)line.hear<char>();
      });
    }
    for (const Process& racer : racers) racer.line().say('g');
    int winners = 0;
    for (const Process& racer : racers) winners += racer.line().hear<int>() == 0 ? 1 : 0;
    EXPECT_EQ(winners, 1);
    for (const Process& racer : racers) racer.line().say('e');
  }
}

TEST(PortSpace, BindAnyFailsWhenTheRangeIsUsedUp) {
  Process hog{[](Line line) {
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(ports().bind_any(Space::kTcp, kFew));
    EXPECT_FALSE(ports().bind_any(Space::kTcp, kFew));  // all are in use, by itself
    line.say('r');
    (void)line.hear<char>();
  }};
  (void)hog.line().hear<char>();
  const Process other{[](Line line) {
    EXPECT_FALSE(ports().bind_any(Space::kTcp, kFew));
    EXPECT_TRUE(ports().bind_any(Space::kUdp, kFew));
    const auto any = ports().bind_any(Space::kTcp);
    EXPECT_TRUE(any && *any >= 32'768 && *any <= 60'999);
    line.say('r');
    (void)line.hear<char>();  // the owner of the other ports is dead
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(ports().bind_any(Space::kTcp, kFew));
    EXPECT_FALSE(ports().bind_any(Space::kTcp, kFew));
    ports().release(Space::kTcp, kFew.last);
    EXPECT_EQ(ports().bind_any(Space::kTcp, kFew), kFew.last);
  }};
  (void)other.line().hear<char>();
  hog.kill();
  other.line().say('g');
}

TEST(PortSpace, TheNextOwnerOfASlotInheritsNoPorts) {
  const Process keeper{[](Line line) {
    (void)ports();
    line.say('r');
    (void)line.hear<char>();
  }};
  (void)keeper.line().hear<char>();
  {
    const Process dead{[](Line /*line*/) {
      auto opened = PortSpace::open(kSlot);
      ASSERT_TRUE(opened);
      EXPECT_EQ(opened->ports->bind(Space::kIb, kPort), 0);
      EXPECT_EQ(opened->ports->owner(Space::kIb, kPort), kSlot);
    }};
  }
  {
    const Process next{[](Line /*line*/) {
      auto opened = PortSpace::open(kSlot);
      ASSERT_TRUE(opened);
      EXPECT_FALSE(opened->ports->owner(Space::kIb, kPort));
    }};
  }
  keeper.line().say('e');
}

TEST(PortSpace, AForkedChildLeavesItToItsParent) {
  const Process parent{[](Line line) {
    EXPECT_EQ(ports().bind(Space::kTcp, kPort), 0);
    PortSpace& parents = ports();
    {
      const Process child{[&](Line /*line*/) {
        parents.release(Space::kTcp, kPort);
        EXPECT_EQ(parents.bind(Space::kTcp, kPort + 1), ENODEV);
        EXPECT_FALSE(parents.bind_any(Space::kTcp));
#ifndef __SANITIZE_THREAD__  // does not let a forked child of a threaded process start a thread
        EXPECT_EQ(ports().bind(Space::kTcp, kPort), EADDRINUSE);  // under its own slot
#endif
      }};
    }
    EXPECT_TRUE(parents.owner(Space::kTcp, kPort));
    line.say('r');
  }};
  (void)parent.line().hear<char>();
}

TEST(PortSpace, InvalidEntriesAreIgnored) {
  const Process process{[](Line /*line*/) {
    // All processes share the table; this one must not be the one that other tests use.
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return;
    PortSpace& own = ports();
    const Mapping table{own.descriptor(), std::size_t{3} << 17U, PROT_READ | PROT_WRITE};
    ASSERT_TRUE(table);
    std::ranges::fill(table.bytes(), std::byte{0xff});
    EXPECT_FALSE(own.owner(Space::kTcp, kPort));
    EXPECT_EQ(own.bind(Space::kTcp, kPort), 0);
    EXPECT_TRUE(own.bind_any(Space::kUdp, kFew));
    own.release(Space::kTcp, kPort);
    EXPECT_FALSE(own.owner(Space::kTcp, kPort));
  }};
}

}  // namespace
}  // namespace nerve::host
