#include "tests/host/cm_peer.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>

#include "base/check.h"

namespace nerve::test {

using nic::CmEventKind;
using Session = host::Adapter::Session;

namespace {

wire::ServiceId service_at(std::uint16_t port) {
  return wire::service_id({.space = wire::PortSpace::kTcp, .port = port});
}

constexpr unsigned kPortsEach = 64;

// Holding the name of a block of ports reserves it, for as long as the process or a child of it
// lives.
std::uint16_t take_ports() {
  constexpr unsigned kBlocks = 480;
  const int holder = ::socket(AF_UNIX, SOCK_DGRAM, 0);
  for (unsigned i = 0; i < kBlocks; ++i) {
    const unsigned block = (static_cast<unsigned>(::getpid()) + i) % kBlocks;
    sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
    std::string{"nerve-test-ports-" + std::to_string(block)}.copy(name.sun_path + 1,
                                                                  sizeof name.sun_path - 1);
    if (::bind(holder, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0) {
      return static_cast<std::uint16_t>(1024 + block * kPortsEach);
    }
  }
  ADD_FAILURE() << "no ports for this test";
  return 0;
}

}  // namespace

std::uint16_t own_port(std::uint16_t which) {
  static const std::uint16_t first = take_ports();  // called before the first fork
  return static_cast<std::uint16_t>(first + which);
}

CmPeer::CmPeer() : ports{host::Host::current().use_cm()} {
  const auto devices = host::Host::current().devices();
  CHECK(!devices.empty() && ports != nullptr);
  adapter = host::Host::current().open(devices[0]);
  CHECK(adapter != nullptr);
  adapter->listen_cm(this);
}

CmPeer::~CmPeer() { adapter->listen_cm(nullptr); }

void CmPeer::on_cm_event(nic::Nic& /*nic*/, const nic::CmEvent& event) {
  const std::scoped_lock guard{lock_};
  events_.push_back(event);
  came_.notify_all();
}

std::optional<nic::CmEvent> CmPeer::next(std::chrono::milliseconds patience) {
  std::unique_lock guard{lock_};
  if (!came_.wait_for(guard, patience, [&] { return !events_.empty(); })) return std::nullopt;
  const nic::CmEvent event = events_.front();
  events_.pop_front();
  return event;
}

nic::CmEvent CmPeer::expect(CmEventKind kind) {
  auto event = next();
  // The end of an earlier timewait, if that was shorter than destroying the connection took.
  while (event && event->kind == CmEventKind::kTimewaitOver) event = next();
  EXPECT_TRUE(event) << "nothing came";
  if (!event) return {};
  EXPECT_EQ(event->kind, kind);
  return *event;
}

wire::Gid CmPeer::gid() {
  return *Session { *adapter } -> query_gid(0);
}

nic::CmOffer CmPeer::offer() {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  return {.qpn = Qpn{(pid << 8U | ++qpns_) & Qpn::kMask}, .psn = Psn{1}};
}

void CmPeer::listen(std::uint16_t port) {
  ASSERT_EQ(ports->bind(host::PortSpace::Space::kTcp, port), 0);
  ASSERT_TRUE(Session { *adapter } -> cm().listen({.service = service_at(port)}));
}

void CmPeer::serve(const Line* tell) {
  for (;;) {
    const auto event = next(std::chrono::hours{1});
    if (!event) continue;
    if (event->kind == CmEventKind::kRequest) {
      const auto& req = std::get<wire::CmReq>(event->message);
      if (reach_back == Reach::kFirst) adapter->reach_comm(event->flow.source, req.local_comm_id);
      EXPECT_TRUE(Session { *adapter } -> cm().accept(event->id, offer(), {}));
    } else if (event->kind == CmEventKind::kEstablished) {
      if (tell != nullptr) tell->say('e');
    } else if (event->kind == CmEventKind::kDisconnectRequested) {
      EXPECT_TRUE(Session { *adapter } -> cm().disconnect(event->id, {}));
      EXPECT_TRUE(Session { *adapter } -> cm().destroy(event->id));
    }
  }
}

nic::CommHandle CmPeer::connect(std::uint16_t port, Reach reach) {
  const wire::Gid here = gid();
  if (reach == Reach::kFirst) adapter->reach_service(here, service_at(port));
  const nic::CmConnect wish{
      // 67 ms, so that lost messages are retransmitted soon.
      .route = {.local = here, .remote = here, .response_timeout = response_timeout},
      .service = service_at(port),
      .offer = offer(),
      .path_mtu = 3,
      .retry_count = 7,
      .local_ack_timeout = 14};
  const auto id = Session { *adapter } -> cm().connect(wish);
  EXPECT_TRUE(id);
  return id ? *id : nic::CommHandle{};
}

nic::CommHandle CmPeer::establish(std::uint16_t port, Reach reach) {
  const nic::CommHandle id = connect(port, reach);
  EXPECT_EQ(expect(CmEventKind::kReply).id, id);
  EXPECT_TRUE(Session { *adapter } -> cm().confirm(id, {}));
  return id;
}

void CmPeer::disconnect(nic::CommHandle id) {
  EXPECT_TRUE(Session { *adapter } -> cm().disconnect(id, {}));
  EXPECT_EQ(expect(CmEventKind::kDisconnected).id, id);
  EXPECT_TRUE(Session { *adapter } -> cm().destroy(id));
}

Server::Server(std::uint16_t port, CmPeer::Reach reach)
    : process_{[=](Line line) {
        CmPeer peer;
        peer.reach_back = reach;
        peer.listen(port);
        line.say('r');
        std::thread{[&] { peer.serve(&line); }}.detach();
        (void)line.hear<char>();
        ::_exit(testing::Test::HasFailure() ? 1 : 0);
      }} {
  EXPECT_EQ(process_.line().hear<char>(), 'r');
}

}  // namespace nerve::test
