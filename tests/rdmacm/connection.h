// A listener and a client in one process.
#pragma once

#include <gtest/gtest.h>

#include "tests/rdmacm/channel.h"

namespace rdmacm_test {

inline constexpr std::uint64_t kListenerUid = 1;
inline constexpr std::uint64_t kActiveUid = 2;
inline constexpr std::uint64_t kPassiveUid = 3;

struct Connection : ::testing::Test {
  Connection() {
    listener = server.create(kListenerUid);
    EXPECT_EQ(server.bind(listener, "127.0.0.1", 0), 0);
    EXPECT_EQ(server.listen(listener), 0);
    port = server.port_of(listener);
    EXPECT_NE(port, 0);
    // Never reused, because a QPN that appears again is taken for a peer that has lost its state.
    static std::uint32_t used = 0x100;
    active_qpn = used++;
    passive_qpn = used++;
  }

  // Up to the request.
  void ask(std::string_view words = {}) {
    active = client.create(kActiveUid);
    ASSERT_EQ(client.resolve(active, "127.0.0.1", port), 0);
    EXPECT_EQ(client.expect(EventKind::kAddressResolved).uid, kActiveUid);
    ASSERT_EQ(client.resolve_route(active), 0);
    client.expect(EventKind::kRouteResolved);
    ASSERT_EQ(client.connect(active, active_qpn, words), 0);
    request = server.expect(EventKind::kConnectRequest);
    passive = request.id;
  }

  void meet() {
    ask();
    ASSERT_EQ(server.accept(passive, kPassiveUid, passive_qpn, "yes"), 0);
    response = client.expect(EventKind::kConnectResponse);
    ASSERT_EQ(client.confirm(active), 0);
    EXPECT_EQ(server.expect(EventKind::kEstablished).uid, kPassiveUid);
  }

  Channel server;
  Channel client;
  std::uint32_t listener{}, active{}, passive{};
  std::uint16_t port{};
  std::uint32_t active_qpn{}, passive_qpn{};
  rdma_ucm_event_resp request{};
  rdma_ucm_event_resp response{};
};

}  // namespace rdmacm_test
