// One party to rdma_cm connections: identifiers, their events, one message each way. Uses only
// librdmacm and verbs, so that it runs on any RDMA device.
//
// Any failure ends the program with a line that says what failed.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/cm_channel.h"

namespace meet {

using Words = std::vector<std::uint8_t>;

using cm_test::Event;
using cm_test::must;

// The room for private data in a message, less the header of rdma_cm where there is one.
inline constexpr std::size_t kReqWords = 56, kRepWords = 196, kRejWords = 148;
inline constexpr std::size_t kSidrReqWords = 180, kSidrRepWords = 136;

// `size` bytes that begin with `first`.
Words words(std::uint8_t first, std::size_t size);

class Party {
 public:
  Party();
  ~Party();
  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;

  // An identifier with address and route to `server` resolved; an ACK timeout of zero means the
  // default.
  rdma_cm_id* towards(const sockaddr_storage& server, rdma_port_space space,
                      std::uint8_t ack_timeout = 0);
  void listen(const sockaddr_storage& at, rdma_port_space space);
  // Creates a QP for it, and posts a receive.
  void make_qp(rdma_cm_id* id, ibv_qp_type type);
  void connect(rdma_cm_id* id, const Words& said);
  void accept(rdma_cm_id* id, const Words& said);
  // The next event, which must be of this kind.
  Event expect(rdma_cm_event_type kind, int status = 0) const {
    return channel_.expect(kind, status);
  }
  // One message each way; `first` sends first.
  void converse(rdma_cm_id* id, bool first);
  // Destroys it and its QP.
  void forget(rdma_cm_id* id);

 private:
  cm_test::Channel channel_;
  std::vector<rdma_cm_id*> listeners_;
  std::array<std::uint8_t, 64> sent_{}, received_{};
  ibv_mr* sends_{};
  ibv_mr* receives_{};
};

}  // namespace meet
