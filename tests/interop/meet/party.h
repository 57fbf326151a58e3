// One party to connections by rdma_cm: identifiers, their events, one message each way. Nothing but
// librdmacm and verbs, so that it runs on any RDMA device.
//
// Whatever goes wrong ends the program with a line that says what: it is a test's tool.
#pragma once

#include <netinet/in.h>
#include <rdma/rdma_cma.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace meet {

using Words = std::vector<std::uint8_t>;

[[noreturn]] void fail(const std::string& what);
void must(bool holds, const std::string& what);

// What a message can carry, less the header of rdma_cm where there is one.
inline constexpr std::size_t kReqWords = 56, kRepWords = 196, kRejWords = 148;
inline constexpr std::size_t kSidrReqWords = 180, kSidrRepWords = 136;

// `size` bytes that begin with `first`.
Words words(std::uint8_t first, std::size_t size);

// An event of librdmacm, kept after it was acknowledged.
struct Happened {
  rdma_cm_id* id{};
  rdma_cm_event_type kind{};
  int status{};
  rdma_conn_param conn{};
  rdma_ud_param ud{};
  Words said;
};

class Party {
 public:
  Party();
  ~Party();
  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;

  // An identifier on its way to `server`, route and all; an ACK timeout of zero is the device's.
  rdma_cm_id* towards(const sockaddr_storage& server, rdma_port_space space,
                      std::uint8_t ack_timeout = 0);
  void listen(const sockaddr_storage& at, rdma_port_space space);
  // A QP for it, and a receive posted.
  void make_qp(rdma_cm_id* id, ibv_qp_type type);
  void connect(rdma_cm_id* id, const Words& said);
  void accept(rdma_cm_id* id, const Words& said);
  // The next event, which has to be this one.
  Happened expect(rdma_cm_event_type kind, int status = 0);
  // A message there and one back; `first` speaks first.
  void converse(rdma_cm_id* id, bool first);
  // Its QP too.
  void forget(rdma_cm_id* id);

 private:
  rdma_event_channel* channel_;
  std::vector<rdma_cm_id*> listeners_;
  std::array<std::uint8_t, 64> sent_{}, received_{};
  ibv_mr* sends_{};
  ibv_mr* receives_{};
};

}  // namespace meet
