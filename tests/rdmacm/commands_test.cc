// Goal: invalid commands get the errno that a kernel would return, and leave nothing behind.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <utility>

#include "tests/rdmacm/channel.h"

namespace rdmacm_test {
namespace {

TEST(Commands, WithoutAnIdentifierAreRefused) {
  Channel channel;
  EXPECT_EQ(channel.bind(77, "127.0.0.1", 0), ENOENT);
  EXPECT_EQ(channel.listen(77), ENOENT);
  EXPECT_EQ(channel.resolve(77, "127.0.0.1", 1), ENOENT);
  EXPECT_EQ(channel.connect(77, 1), ENOENT);
  EXPECT_EQ(channel.accept(77, 1, 1), ENOENT);
  EXPECT_EQ(channel.destroy(77), ENOENT);
}

TEST(Commands, ForAnotherChannelsIdentifierAreRefused) {
  Channel mine, other;
  const std::uint32_t id = mine.create(1);
  EXPECT_EQ(other.bind(id, "127.0.0.1", 0), EINVAL);
  EXPECT_EQ(other.destroy(id), EINVAL);
}

TEST(Commands, InTheWrongStateAreRefused) {
  Channel channel;
  const std::uint32_t id = channel.create(1);
  EXPECT_EQ(channel.connect(id, 1), EINVAL);
  EXPECT_EQ(channel.accept(id, 1, 1), EINVAL);
  EXPECT_EQ(channel.reject(id), EINVAL);
  EXPECT_EQ(channel.disconnect(id), EINVAL);
  EXPECT_EQ(channel.resolve_route(id), EINVAL);
  ib_uverbs_qp_attr attr{};
  EXPECT_EQ(channel.qp_attributes(id, 1, attr), EINVAL);
}

TEST(Commands, UnknownCommandsAreRefused) {
  Channel channel;
  const auto write = [&](nerve::Bytes bytes) {
    return nerve::rdmacm::write_device(channel.fd(), bytes) < 0 ? errno : 0;
  };
  const rdma_ucm_cmd_hdr unknown{.cmd = 99, .in = 0, .out = 0};
  EXPECT_EQ(write({reinterpret_cast<const std::byte*>(&unknown), sizeof unknown}), EINVAL);
  const rdma_ucm_cmd_hdr longer{.cmd = RDMA_USER_CM_CMD_LISTEN, .in = 8, .out = 0};
  EXPECT_EQ(write({reinterpret_cast<const std::byte*>(&longer), sizeof longer}), EINVAL);
  const rdma_ucm_cmd_hdr option{.cmd = RDMA_USER_CM_CMD_GET_OPTION, .in = 0, .out = 0};
  EXPECT_EQ(write({reinterpret_cast<const std::byte*>(&option), sizeof option}), ENOSYS);
  EXPECT_EQ(write({}), EINVAL);
  EXPECT_EQ(nerve::rdmacm::write_device(-1, {}), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST(Commands, ShortCommandsAreRefused) {
  Channel channel;
  for (std::uint32_t number = 0; number <= RDMA_USER_CM_CMD_JOIN_MCAST; ++number) {
    const rdma_ucm_cmd_hdr header{.cmd = number, .in = 0, .out = 0};
    const auto written = nerve::rdmacm::write_device(
        channel.fd(), {reinterpret_cast<const std::byte*>(&header), sizeof header});
    EXPECT_EQ(written, -1) << number;
  }
}

TEST(Addresses, InfinibandAddressesAreRefused) {
  // librdmacm tries once, and then uses the commands for IP addresses.
  Channel channel;
  const std::uint32_t id = channel.create(1, RDMA_PS_IB);
  rdma_ucm_bind body{};
  body.id = id;
  body.addr_size = 48;
  body.addr.ss_family = 27;  // AF_IB
  EXPECT_EQ(channel.call(RDMA_USER_CM_CMD_BIND, body), EAFNOSUPPORT);
}

TEST(Addresses, ForeignAddressesAreRefused) {
  Channel channel;
  const std::uint32_t id = channel.create(1);
  EXPECT_EQ(channel.bind(id, "203.0.113.7", 0), EADDRNOTAVAIL);
  EXPECT_EQ(channel.bind(id, "127.0.0.1", 0), 0);  // its state has not changed
}

TEST(Addresses, CannotBeBoundTwice) {
  Channel channel;
  const std::uint32_t first = channel.create(1);
  ASSERT_EQ(channel.bind(first, "127.0.0.1", 0), 0);
  const std::uint16_t port = channel.port_of(first);
  const std::uint32_t second = channel.create(2);
  EXPECT_EQ(channel.bind(second, "127.0.0.1", port), EADDRINUSE);
  EXPECT_EQ(channel.bind(second, "0.0.0.0", port), EADDRINUSE);
  const std::uint32_t datagrams = channel.create(3, RDMA_PS_UDP, 4);
  EXPECT_EQ(channel.bind(datagrams, "127.0.0.1", port), 0);  // another port space
  ASSERT_EQ(channel.destroy(first), 0);
  EXPECT_EQ(channel.bind(second, "127.0.0.1", port), 0);
}

// Two identifiers with this option set.
std::array<std::uint32_t, 2> two_with(Channel& channel, std::uint32_t option_name) {
  const int yes = 1;
  const std::array ids{channel.create(1), channel.create(2)};
  for (const std::uint32_t id : ids) {
    const rdma_ucm_set_option option{.optval = reinterpret_cast<std::uint64_t>(&yes),
                                     .id = id,
                                     .level = RDMA_OPTION_ID,
                                     .optname = option_name,
                                     .optlen = sizeof yes};
    EXPECT_EQ(channel.call(RDMA_USER_CM_CMD_SET_OPTION, option), 0);
  }
  return ids;
}

TEST(Addresses, CanBeSharedWithReuseaddr) {
  Channel channel;
  const std::array ids = two_with(channel, RDMA_OPTION_ID_REUSEADDR);
  ASSERT_EQ(channel.bind(ids[0], "127.0.0.1", 0), 0);
  ASSERT_EQ(channel.bind(ids[1], "127.0.0.1", channel.port_of(ids[0])), 0);
  EXPECT_EQ(channel.listen(ids[0]), 0);
  EXPECT_EQ(channel.listen(ids[1]), EADDRINUSE);  // one of them already listens
}

TEST(Addresses, TwoFamiliesCanListenAtOnePort) {
  Channel channel;
  const std::array ids = two_with(channel, RDMA_OPTION_ID_AFONLY);
  ASSERT_EQ(channel.bind(ids[0], "0.0.0.0", 0), 0);
  const std::uint16_t port = channel.port_of(ids[0]);
  ASSERT_EQ(channel.listen(ids[0]), 0);
  ASSERT_EQ(channel.bind(ids[1], "::", port), 0);
  ASSERT_EQ(channel.listen(ids[1]), 0);
  // Each gets only the requests of its own family.
  Channel client;
  std::uint32_t qpn = 0x4000;  // used by no other test
  for (const auto& [text, uid] : {std::pair{"127.0.0.1", 1U}, std::pair{"::1", 2U}}) {
    const std::uint32_t id = client.create(3);
    ASSERT_EQ(client.resolve(id, text, port), 0);
    client.expect(EventKind::kAddressResolved);
    ASSERT_EQ(client.resolve_route(id), 0);
    client.expect(EventKind::kRouteResolved);
    ASSERT_EQ(client.connect(id, qpn++), 0);
    EXPECT_EQ(channel.expect(EventKind::kConnectRequest).uid, uid) << text;
  }
}

TEST(Events, ANonBlockingChannelReturnsEagain) {
  Channel channel;
  ASSERT_EQ(::fcntl(channel.fd(), F_SETFL, O_NONBLOCK), 0);
  rdma_ucm_event_resp event{};
  EXPECT_EQ(channel.call(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, event), EAGAIN);
}

TEST(Addresses, WildcardsCannotBeResolved) {
  Channel channel;
  const std::uint32_t id = channel.create(1);
  EXPECT_EQ(channel.resolve(id, "0.0.0.0", 1), EINVAL);
  EXPECT_EQ(channel.resolve(id, "::", 1), EINVAL);
}

TEST(Services, DatagramServicesAreResolved) {
  Channel server, client;
  const std::uint32_t listener = server.create(1, RDMA_PS_UDP, 4);
  ASSERT_EQ(server.bind(listener, "127.0.0.1", 0), 0);
  ASSERT_EQ(server.listen(listener), 0);
  const std::uint32_t active = client.create(2, RDMA_PS_UDP, 4);
  ASSERT_EQ(client.resolve(active, "127.0.0.1", server.port_of(listener)), 0);
  client.expect(EventKind::kAddressResolved);
  ASSERT_EQ(client.resolve_route(active), 0);
  client.expect(EventKind::kRouteResolved);
  ASSERT_EQ(client.connect(active, 0, "where?"), 0);
  const auto request = server.expect(EventKind::kConnectRequest);
  EXPECT_EQ(std::string_view{reinterpret_cast<const char*>(request.param.ud.private_data)},
            "where?");
  ASSERT_EQ(server.accept(request.id, 3, 0x789, "here"), 0);
  const auto found = client.expect(EventKind::kEstablished);
  EXPECT_EQ(found.param.ud.qp_num, 0x789U);
  EXPECT_EQ(found.param.ud.qkey, 0x01234567U);
  EXPECT_EQ(found.param.ud.ah_attr.is_global, 1);
}

TEST(Groups, MulticastGroupsAreJoinedAtOnce) {
  Channel channel;
  const std::uint32_t id = channel.create(1, RDMA_PS_UDP, 4);
  ASSERT_EQ(channel.bind(id, "127.0.0.1", 0), 0);
  rdma_ucm_create_id_resp made{};
  const rdma_ucm_join_ip_mcast body{
      .response = 0, .uid = 9, .addr = address("239.1.2.3", 0), .id = id};
  ASSERT_EQ(channel.call(RDMA_USER_CM_CMD_JOIN_IP_MCAST, body, made), 0);
  const auto joined = channel.expect(EventKind::kMulticastJoin);
  EXPECT_EQ(joined.uid, 9U);
  EXPECT_EQ(joined.param.ud.qp_num, 0xffffffU);
  EXPECT_EQ(joined.param.ud.ah_attr.grh.dgid[12], 239);
  rdma_ucm_destroy_id_resp left{};
  ASSERT_EQ(channel.call(RDMA_USER_CM_CMD_LEAVE_MCAST,
                         rdma_ucm_destroy_id{.response = 0, .id = made.id, .reserved = 0}, left),
            0);
  EXPECT_EQ(left.events_reported, 1U);
}

}  // namespace
}  // namespace rdmacm_test
