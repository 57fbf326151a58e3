// The programs of connections.py: rdma_cm as an application uses it, through the distribution's
// librdmacm.
#pragma once

#include <cstdint>
#include <string>

#include "tests/cm_channel.h"

namespace bad_days {

using cm_test::Event;
using cm_test::fail;
using cm_test::must;

// Its identifiers are at 127.0.0.1.
struct Channel : cm_test::Channel {
  // Port 0 selects a free one.
  [[nodiscard]] rdma_cm_id* listen(int backlog = 0, std::uint16_t port = 0) const;
  // Up to the resolved route.
  [[nodiscard]] rdma_cm_id* resolve(std::uint16_t port) const;
};

[[nodiscard]] sockaddr_in loopback(std::uint16_t port);
[[nodiscard]] std::uint16_t port_of(rdma_cm_id* id);
// For an identifier without a QP of librdmacm: it gets only CM events.
[[nodiscard]] rdma_conn_param parameters(std::uint32_t qpn, const std::string& said = {});
// A new one each time, used by no other process.
[[nodiscard]] std::uint32_t fresh_qpn();

[[nodiscard]] std::size_t open_descriptors();
[[nodiscard]] std::size_t resident_kilobytes();

// The commands of the program: each exits with 0 and prints what it saw, or fails.
void errors();
void rejections();
void forks();
void threads();
void churn(int times);
void flood(int requests);
void serve(const std::string& stage, const std::string& then);
void ask(const std::string& stage, const std::string& then, std::uint16_t port);

}  // namespace bad_days
