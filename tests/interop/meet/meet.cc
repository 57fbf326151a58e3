// meet -p PORT [-b ADDRESS] [SERVER]: all ways in which a connection is requested, accepted,
// refused and ended by rdma_cm, with as much private data as each message holds. Run without SERVER
// first, on the other machine.
//
// The stock programs use no private data, reject no requests, and check no status.
#include <netdb.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "tests/interop/meet/party.h"

namespace meet {
namespace {

// The first byte of a client's private data: how it wants to be treated.
enum Wish : std::uint8_t { kLeaves = 1, kIsLeft = 2, kRefused = 3, kWaits = 4 };

constexpr int kConsumer = 28, kNoSuchService = 8;       // reasons of a REJ
constexpr int kSidrUnsupported = 1, kSidrRejected = 2;  // states of a SIDR_REP
constexpr std::uint8_t kAnswer = 0x40;
constexpr std::uint8_t kSoon = 16;  // 0.27 s, as an ACK timeout: timewait follows from it

sockaddr_storage address(const char* name, const char* port) {
  addrinfo* found = nullptr;
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  must(getaddrinfo(name, port, &hints, &found) == 0, (std::string{"no address "} + name).c_str());
  sockaddr_storage where{};
  std::memcpy(&where, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return where;
}

std::string next_port(const std::string& port) { return std::to_string(std::stoi(port) + 1); }

// --- the client ----------------------------------------------------------------------------------

void connect_and_part(Party& party, const sockaddr_storage& server, Wish wish) {
  rdma_cm_id* const id = party.towards(server, RDMA_PS_TCP, wish == kWaits ? kSoon : 0);
  party.make_qp(id, IBV_QPT_RC);
  party.connect(id, words(wish, kReqWords));
  const Event accepted = party.expect(RDMA_CM_EVENT_ESTABLISHED);
  must(accepted.said == words(kAnswer, kRepWords), "what the REP says");
  must(accepted.param.conn.responder_resources == 3 && accepted.param.conn.initiator_depth == 2,
       "the depths of the REP");
  must(accepted.param.conn.qp_num != 0 && accepted.param.conn.rnr_retry_count == 6,
       "the rest of the REP");
  party.converse(id, true);
  if (wish != kIsLeft) must(rdma_disconnect(id) == 0, "rdma_disconnect");
  party.expect(RDMA_CM_EVENT_DISCONNECTED);
  if (wish == kIsLeft) must(rdma_disconnect(id) == 0, "rdma_disconnect");
  if (wish == kWaits) party.expect(RDMA_CM_EVENT_TIMEWAIT_EXIT);
  party.forget(id);
}

void be_refused(Party& party, const sockaddr_storage& server, int reason) {
  rdma_cm_id* const id = party.towards(server, RDMA_PS_TCP);
  party.make_qp(id, IBV_QPT_RC);
  party.connect(id, words(kRefused, kReqWords));
  const Event refused = party.expect(RDMA_CM_EVENT_REJECTED, reason);
  if (reason == kConsumer) must(refused.said == words(kAnswer, kRejWords), "what the REJ says");
  party.forget(id);
}

void look_up(Party& party, const sockaddr_storage& server, Wish wish, int status) {
  rdma_cm_id* const id = party.towards(server, RDMA_PS_UDP);
  party.make_qp(id, IBV_QPT_UD);
  party.connect(id, words(wish, kSidrReqWords));
  const Event found =
      party.expect(status == 0 ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_UNREACHABLE, status);
  if (status != kSidrUnsupported) {
    must(found.said == words(kAnswer, kSidrRepWords), "what the SIDR_REP says");
  }
  if (status == 0) {
    must(found.param.ud.qkey == RDMA_UDP_QKEY && found.param.ud.qp_num != 0,
         "the QP of the SIDR_REP");
    must(found.param.ud.ah_attr.is_global == 1, "the path of the SIDR_REP");
  }
  party.forget(id);
}

void visit(const char* name, const std::string& port) {
  Party party;
  const sockaddr_storage server = address(name, port.c_str());
  connect_and_part(party, server, kLeaves);
  connect_and_part(party, server, kIsLeft);
  be_refused(party, server, kConsumer);
  look_up(party, server, kLeaves, 0);
  look_up(party, server, kRefused, kSidrRejected);
  const sockaddr_storage nobody = address(name, next_port(port).c_str());
  be_refused(party, nobody, kNoSuchService);
  look_up(party, nobody, kLeaves, kSidrUnsupported);
  // Last: the server exits after this one.
  connect_and_part(party, server, kWaits);
  std::puts("all as it should be");
}

// --- the server ----------------------------------------------------------------------------------

void receive_and_part(Party& party, Wish expected) {
  const Event asked = party.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  must(asked.said == words(expected, kReqWords), "what the REQ says");
  must(asked.param.conn.responder_resources == 2 && asked.param.conn.initiator_depth == 3,
       "the depths of the REQ");
  must(asked.param.conn.retry_count == 7 && asked.param.conn.rnr_retry_count == 6,
       "the retries of the REQ");
  party.make_qp(asked.id, IBV_QPT_RC);
  party.accept(asked.id, words(kAnswer, kRepWords));
  party.expect(RDMA_CM_EVENT_ESTABLISHED);
  party.converse(asked.id, false);
  if (expected == kIsLeft) must(rdma_disconnect(asked.id) == 0, "rdma_disconnect");
  party.expect(RDMA_CM_EVENT_DISCONNECTED);
  if (expected != kIsLeft) must(rdma_disconnect(asked.id) == 0, "rdma_disconnect");
  if (expected == kWaits) party.expect(RDMA_CM_EVENT_TIMEWAIT_EXIT);
  party.forget(asked.id);
}

void refuse(Party& party) {
  const Event asked = party.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  const bool datagram = asked.id->ps == RDMA_PS_UDP;
  must(asked.said == words(kRefused, datagram ? kSidrReqWords : kReqWords), "what was asked");
  const Words why = words(kAnswer, datagram ? kSidrRepWords : kRejWords);
  must(rdma_reject(asked.id, why.data(), static_cast<std::uint8_t>(why.size())) == 0,
       "rdma_reject");
  party.forget(asked.id);
}

void be_looked_up(Party& party) {
  const Event asked = party.expect(RDMA_CM_EVENT_CONNECT_REQUEST);
  must(asked.said == words(kLeaves, kSidrReqWords), "what the SIDR_REQ says");
  party.make_qp(asked.id, IBV_QPT_UD);
  party.accept(asked.id, words(kAnswer, kSidrRepWords));
  party.forget(asked.id);
}

void receive(const char* name, const std::string& port) {
  Party party;
  const sockaddr_storage here = address(name, port.c_str());
  party.listen(here, RDMA_PS_UDP);
  party.listen(here, RDMA_PS_TCP);
  receive_and_part(party, kLeaves);
  receive_and_part(party, kIsLeft);
  refuse(party);
  be_looked_up(party);
  refuse(party);
  receive_and_part(party, kWaits);
}

}  // namespace
}  // namespace meet

int main(int count, char** arguments) {
  std::string port{"18600"};
  const char* at = "0.0.0.0";
  for (int option = 0; (option = getopt(count, arguments, "p:b:")) != -1;) {
    if (option == 'p') {
      port = optarg;
    } else if (option == 'b') {
      at = optarg;
    } else {
      return 2;
    }
  }
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (optind < count) {
    meet::visit(arguments[optind], port);
  } else {
    meet::receive(at, port);
  }
}
