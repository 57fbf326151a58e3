// CM messages captured from Linux, field by field: they tie our layout to a real implementation.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/wire/hex_file.h"
#include "wire/cm_mad.h"
#include "wire/describe.h"
#include "wire/ip_cm.h"

namespace nerve::wire {
namespace {

template <class Message>
Message captured(const std::string& name) {
  const auto mad = CmMad::decode(test::read_hex(name));
  EXPECT_TRUE(mad) << name;
  if (!mad) return {};
  EXPECT_EQ(mad->transaction_id >> 32U, 2U);
  const auto* message = std::get_if<Message>(&mad->message);
  EXPECT_NE(message, nullptr) << name;
  return message != nullptr ? *message : Message{};
}

const Gid kActive = Gid::ipv4(10, 77, 0, 3);
const Gid kPassive = Gid::ipv4(10, 77, 0, 2);
constexpr CommId kActiveId{0x024b'b22e};
constexpr CommId kPassiveId{0x7a52'c0b4};

TEST(CmCapture, ReadsTheReq) {
  const auto req = captured<CmReq>("cm_req.hex");
  EXPECT_EQ(req.local_comm_id, kActiveId);
  EXPECT_EQ(ip_service(req.service_id), (IpService{PortSpace::kTcp, 7174}));  // rping's port
  EXPECT_EQ(req.local_ca_guid, 0x5054'00ff'fe77'0003U);
  EXPECT_EQ(req.local_qkey, 0U);
  EXPECT_EQ(req.local_qpn, Qpn{0xaa});
  EXPECT_EQ(req.responder_resources, 1);
  EXPECT_EQ(req.initiator_depth, 1);
  EXPECT_EQ(req.remote_cm_response_timeout, 20);
  EXPECT_EQ(req.transport, CmTransport::kRc);
  EXPECT_FALSE(req.end_to_end_flow_control);
  EXPECT_EQ(req.starting_psn, Psn{0x6c'9bf1});
  EXPECT_EQ(req.local_cm_response_timeout, 20);
  EXPECT_EQ(req.retry_count, 7);
  EXPECT_EQ(req.pkey, PKey{0xffff});
  EXPECT_EQ(req.path_mtu, 3);
  EXPECT_FALSE(req.rdc_exists);
  EXPECT_EQ(req.rnr_retry_count, 7);
  EXPECT_EQ(req.max_cm_retries, 15);
  EXPECT_FALSE(req.srq);
  EXPECT_EQ(req.extended_transport, CmExtendedTransport::kNone);
  EXPECT_EQ(req.alternate, CmPath{});
}

TEST(CmCapture, ReadsThePathOfTheReq) {
  const CmPath path = captured<CmReq>("cm_req.hex").primary;
  EXPECT_EQ(path.local_lid, 0xffff);
  EXPECT_EQ(path.remote_lid, 0xffff);
  EXPECT_EQ(path.local_gid, kActive);
  EXPECT_EQ(path.remote_gid, kPassive);
  EXPECT_EQ(path.flow_label, 0x7'73a3U);  // folds to the UDP source port that the capture shows
  EXPECT_EQ(path.packet_rate, 0);
  EXPECT_EQ(path.traffic_class, 0);
  EXPECT_EQ(path.hop_limit, 64);
  EXPECT_EQ(path.service_level, 0);
  EXPECT_FALSE(path.subnet_local);
  EXPECT_EQ(path.local_ack_timeout, 17);
}

TEST(CmCapture, ReadsTheAddressesInThePrivateData) {
  const auto header = IpCmHeader::decode(captured<CmReq>("cm_req.hex").private_data);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->source_port, 0xc0c3);
  EXPECT_EQ(header->source, kActive);
  EXPECT_EQ(header->destination, kPassive);
}

TEST(CmCapture, ReadsTheRep) {
  const auto rep = captured<CmRep>("cm_rep.hex");
  EXPECT_EQ(rep.local_comm_id, kPassiveId);
  EXPECT_EQ(rep.remote_comm_id, kActiveId);
  EXPECT_EQ(rep.local_qpn, Qpn{0xa9});
  EXPECT_EQ(rep.starting_psn, Psn{0x25'259b});
  EXPECT_EQ(rep.responder_resources, 1);
  EXPECT_EQ(rep.initiator_depth, 1);
  EXPECT_EQ(rep.target_ack_delay, 15);
  EXPECT_EQ(rep.failover, CmFailover::kAccepted);
  EXPECT_FALSE(rep.end_to_end_flow_control);
  EXPECT_EQ(rep.rnr_retry_count, 7);
  EXPECT_FALSE(rep.srq);
  EXPECT_EQ(rep.local_ca_guid, 0x5054'00ff'fe77'0002U);
}

TEST(CmCapture, ReadsTheRest) {
  EXPECT_EQ(captured<CmRtu>("cm_rtu.hex"),
            (CmRtu{.local_comm_id = kActiveId, .remote_comm_id = kPassiveId}));
  EXPECT_EQ(
      captured<CmDreq>("cm_dreq.hex"),
      (CmDreq{.local_comm_id = kActiveId, .remote_comm_id = kPassiveId, .remote_qpn = Qpn{0xa9}}));
  EXPECT_EQ(captured<CmDrep>("cm_drep.hex"),
            (CmDrep{.local_comm_id = kPassiveId, .remote_comm_id = kActiveId}));
  EXPECT_EQ(captured<CmRej>("cm_rej.hex"), (CmRej{.remote_comm_id = CommId{0x074b'b22e},
                                                  .subject = CmSubject::kReq,
                                                  .reason = RejectReason::kInvalidServiceId}));
}

// Messages that Linux sent to Nerve; transaction IDs are Nerve's where Linux answered.
TEST(CmCapture, ReadsMra) {
  const auto mad = CmMad::decode(test::read_hex("cm_mra.hex"));
  ASSERT_TRUE(mad);
  EXPECT_EQ(*mad, (CmMad{0x10'fc17'79f8, CmMra{.local_comm_id = CommId{0x6012'bf0a},
                                               .remote_comm_id = CommId{0xfc17'79f8},
                                               .subject = CmSubject::kReq,
                                               .service_timeout = 24}}));
}

TEST(CmCapture, ReadsSidr) {
  const auto req = captured<CmSidrReq>("cm_sidr_req.hex");
  EXPECT_EQ(req.request_id, CommId{0xe012'bf0a});
  EXPECT_EQ(req.pkey, PKey{0xffff});
  EXPECT_EQ(ip_service(req.service_id), (IpService{PortSpace::kUdp, 7174}));  // udaddy's port
  const auto header = IpCmHeader::decode(req.private_data);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->source_port, 0xc07e);
  EXPECT_EQ(to_string(header->source), "2001:db8:77::2");
  EXPECT_EQ(to_string(header->destination), "2001:db8:77::1");

  const auto mad = CmMad::decode(test::read_hex("cm_sidr_rep.hex"));
  ASSERT_TRUE(mad);
  EXPECT_EQ(*mad, (CmMad{0x17'e017'c949, CmSidrRep{.request_id = CommId{0xe017'c949},
                                                   .status = SidrStatus::kValid,
                                                   .qpn = Qpn{0x9c},
                                                   .service_id = req.service_id,
                                                   .qkey = 0x0123'4567}}));
}

TEST(CmCapture, WritesTheSameBytesAgain) {
  for (const char* name : {"cm_req.hex", "cm_rep.hex", "cm_rtu.hex", "cm_rej.hex", "cm_dreq.hex",
                           "cm_drep.hex", "cm_mra.hex", "cm_sidr_req.hex", "cm_sidr_rep.hex"}) {
    const auto bytes = test::read_hex(name);
    const auto mad = CmMad::decode(bytes);
    ASSERT_TRUE(mad) << name;
    std::array<std::byte, CmMad::kSize> again;
    again.fill(std::byte{0xee});
    mad->encode(again);
    EXPECT_EQ((std::vector<std::byte>{again.begin(), again.end()}), bytes) << name;
  }
}

}  // namespace
}  // namespace nerve::wire
