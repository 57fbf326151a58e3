// Goal: wildcard listeners follow the devices of the machine, users of a removed device are
// notified, and new addresses can be used at once.
#include <arpa/inet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "tests/host/process.h"
#include "tests/rdmacm/connection.h"

namespace rdmacm_test {
namespace {

using nerve::test::Line;
using nerve::test::Process;
using namespace std::chrono_literals;

constexpr const char* kAddress = "10.77.1.1";

bool run(const char* command) { return std::system(command) == 0; }  // NOLINT(cert-env33-c)

bool add_interface() {
  return run("ip link add nv0 type veth peer name nv1") &&
         run("ip addr add 10.77.1.1/24 dev nv0") && run("ip link set nv1 up") &&
         run("ip link set nv0 up");
}

// Enters a private network namespace, if that is possible.
bool enter_network() {
  const bool entered = ::unshare(CLONE_NEWNET) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
  return entered && run("ip link set lo up") && add_interface() && run("ip link del nv0");
}

struct Ends {
  std::uint32_t active{};
  std::uint32_t passive{};
};

// The request of this QP; an earlier one, which its sender has given up, is ignored however late it
// comes.
std::optional<std::uint32_t> request_of(Channel& server, std::uint32_t qpn) {
  while (server.readable(2000)) {
    const auto next = server.event();
    if (next.event != static_cast<std::uint32_t>(EventKind::kConnectRequest)) continue;
    if (next.param.conn.qp_num == qpn) return next.id;
    EXPECT_EQ(server.destroy(next.id), 0);
  }
  return std::nullopt;
}

// Retries until the listener has noticed the device, and connects.
Ends connect_by_device(Channel& server, Channel& client, std::uint16_t port) {
  static std::uint32_t qpn = 0x700;
  for (int tries = 0; tries < 200; ++tries) {
    const std::uint32_t active = client.create(kActiveUid);
    const int error = client.resolve(active, kAddress, port);
    if (error == 0 && client.event().event == 0 && client.resolve_route(active) == 0) {
      client.expect(EventKind::kRouteResolved);
      EXPECT_EQ(client.connect(active, ++qpn), 0);
      if (const auto passive = request_of(server, qpn)) {
        EXPECT_EQ(server.accept(*passive, kPassiveUid, ++qpn), 0);
        client.expect(EventKind::kConnectResponse);
        EXPECT_EQ(client.confirm(active), 0);
        server.expect(EventKind::kEstablished);
        return {.active = active, .passive = *passive};
      }
    }
    EXPECT_EQ(client.destroy(active), 0);
    std::this_thread::sleep_for(20ms);
  }
  ADD_FAILURE() << "the listener is not at the device";
  return {};
}

// Replaces the address of the interface and returns as soon as the kernel has it.
void set_address(const char* address) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(socket, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "nv0");
  sockaddr_in name{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
  ASSERT_EQ(::inet_pton(AF_INET, address, &name.sin_addr), 1);
  std::memcpy(&request.ifr_addr, &name, sizeof name);
  EXPECT_EQ(::ioctl(socket, SIOCSIFADDR, &request), 0);
  ::close(socket);
}

void expect_removed(Channel& channel, std::uint32_t id) {
  EXPECT_EQ(channel.expect(EventKind::kDeviceRemoval).id, id);
  EXPECT_EQ(channel.disconnect(id), ENXIO);
  rdma_ucm_query_route_resp route{};
  EXPECT_EQ(channel.query(id, route), ENXIO);
  EXPECT_EQ(channel.destroy(id), 0);
}

TEST(Devices, WildcardListenersFollowDevices) {
  const Process process{[](Line line) {
    if (!enter_network()) return line.say('s');
    Channel server, client;
    const std::uint32_t listener = server.create(kListenerUid);
    ASSERT_EQ(server.bind(listener, "0.0.0.0", 0), 0);
    ASSERT_EQ(server.listen(listener), 0);
    const std::uint16_t port = server.port_of(listener);
    for (int times = 0; times < 2; ++times) {
      ASSERT_TRUE(add_interface());
      const Ends ends = connect_by_device(server, client, port);
      const std::uint32_t bound = client.create(5);
      ASSERT_EQ(client.bind(bound, kAddress, 0), 0);
      ASSERT_TRUE(run("ip link del nv0"));
      expect_removed(server, ends.passive);
      expect_removed(client, ends.active);
      expect_removed(client, bound);
      EXPECT_FALSE(server.readable(50));  // a wildcard listener continues
    }
    line.say('d');
  }};
  const char verdict = process.line().hear<char>();
  if (verdict == 's') GTEST_SKIP() << "no network of our own";
  EXPECT_EQ(verdict, 'd');
}

// An address resolved, but the device had no GID for it until the background thread had noticed it:
// connect() failed with EINVAL.
TEST(Devices, AnAddressCanBeUsedAsSoonAsTheKernelHasIt) {
  const Process process{[](Line line) {
    if (!enter_network() || !add_interface()) return line.say('s');
    Channel client;
    std::uint32_t qpn = 0x700;
    for (int times = 0; times < 40; ++times) {
      const char* const address = times % 2 == 0 ? "10.77.1.2" : kAddress;
      set_address(address);
      const std::uint32_t active = client.create(kActiveUid);
      ASSERT_EQ(client.resolve(active, address, 7471), 0);
      client.expect(EventKind::kAddressResolved);
      ASSERT_EQ(client.resolve_route(active), 0);
      client.expect(EventKind::kRouteResolved);
      ASSERT_EQ(client.connect(active, ++qpn), 0) << times;
      ASSERT_EQ(client.destroy(active), 0);
    }
    line.say('d');
  }};
  const char verdict = process.line().hear<char>();
  if (verdict == 's') GTEST_SKIP() << "no network of our own";
  EXPECT_EQ(verdict, 'd');
}

}  // namespace
}  // namespace rdmacm_test
