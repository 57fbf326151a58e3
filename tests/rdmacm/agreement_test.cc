// The PSNs at which two Linux machines started after this REQ and this REP: tests/wire/data
// contains the messages, the data packets are in tests/golden/captures/cm_rping_C3.pcap.
#include <gtest/gtest.h>

#include "rdmacm/registry.h"
#include "tests/wire/hex_file.h"
#include "wire/cm_mad.h"

namespace nerve::rdmacm {
namespace {

constexpr std::uint32_t kFirstOfTheActive = 0x25'259b;
constexpr std::uint32_t kFirstOfThePassive = 0x6c'9bf1;

template <class Message>
Message captured(const char* name) {
  return std::get<Message>(wire::CmMad::decode(test::read_hex(name))->message);
}

TEST(Agreement, ThePassiveSideStartsAtThePsnOfTheReq) {
  Identifier id;
  id.agreement = Agreement::with(captured<wire::CmReq>("cm_req.hex"));
  EXPECT_EQ(ready_to_send(id).sq_psn, kFirstOfThePassive);
}

TEST(Agreement, TheActiveSideStartsAtThePsnOfTheRep) {
  Identifier id;
  id.agreement.complete(captured<wire::CmRep>("cm_rep.hex"));
  EXPECT_EQ(ready_to_send(id).sq_psn, kFirstOfTheActive);
}

TEST(Agreement, IsConsistentBetweenBothEnds) {
  auto req = captured<wire::CmReq>("cm_req.hex");
  req.responder_resources = 3;  // READs that the active side answers
  req.initiator_depth = 5;      // READs that it may have outstanding
  const Agreement passive = Agreement::with(req);
  EXPECT_EQ(passive.responder_resources, 5);
  EXPECT_EQ(passive.initiator_depth, 3);
  EXPECT_EQ(passive.timeout, req.primary.local_ack_timeout);
  auto rep = captured<wire::CmRep>("cm_rep.hex");
  rep.responder_resources = 5;
  rep.initiator_depth = 3;
  Agreement active;
  active.complete(rep);
  EXPECT_EQ(active.responder_resources, 3);
  EXPECT_EQ(active.initiator_depth, 5);
}

}  // namespace
}  // namespace nerve::rdmacm
