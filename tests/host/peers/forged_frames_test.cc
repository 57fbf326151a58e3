// Goal: a QP whose peer sends through a ring takes frames from that ring only: none from the
// network, none from a third process, and no process gets a ring for a slot that it does not have.
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "host/network/exchange.h"
#include "host/peers/inquiry.h"
#include "host/peers/membership.h"
#include "host/peers/rings.h"
#include "link/udp/udp_sender.h"
#include "tests/host/endpoint.h"
#include "tests/host/process.h"

namespace nerve {
namespace {

using test::Card;
using test::Endpoint;
using test::Line;
using test::Process;

constexpr std::uint32_t kRoom = 4096;
constexpr std::byte kTrue{0x11};
constexpr std::byte kForged{0x66};

// A SEND that the owner of `to` takes for the first message of `from`.
class ForgedSend {
 public:
  ForgedSend(const Card& from, const Card& to) : payload_(64, kForged) {
    headers_.bth.opcode = wire::opcode(wire::Transport::kRc, wire::Operation::kSendOnly);
    headers_.bth.dest_qp = Qpn{to.qpn};
    headers_.bth.ack_request = true;
    flow_ = {.source = from.gid, .destination = to.gid};
  }
  void send(link::Egress& out) {
    const wire::Piece piece{.address = reinterpret_cast<std::uint64_t>(payload_.data()),
                            .length = static_cast<std::uint32_t>(payload_.size())};
    const wire::Frame frame{
        .flow = flow_, .headers = headers_, .payload = {&piece, 1}, .payload_length = piece.length};
    out.send({&frame, 1}, Time{});
  }

 private:
  std::vector<std::byte> payload_;
  wire::Headers headers_;
  wire::Flow flow_;
};

// Connects, and sends one message when it is told to.
void send_when_told(Line line) {
  Endpoint endpoint{kRoom};
  line.say(endpoint.card());
  endpoint.connect(line.hear<Card>());
  line.say('r');
  (void)line.hear<char>();
  endpoint.memory.assign(kRoom, kTrue);
  EXPECT_TRUE(endpoint.post_send(nic::SendOp::kSend, 1, 0, 64));
  EXPECT_EQ(endpoint.next().value_or(nic::Completion{}).status, nic::WcStatus::kSuccess);
}

std::uint64_t dropped_by_us() {
  for (const host::ProcessReport& report : host::ask_processes(std::chrono::milliseconds{500})) {
    if (report.pid == ::getpid()) return report["dropped_wrong_path"];
  }
  return 0;
}

class ForgedFrames : public testing::Test {
 protected:
  ForgedFrames() {
    peer_.emplace(send_when_told);
    const Card card = peer_->line().hear<Card>();
    endpoint_.emplace(kRoom);
    endpoint_->connect(card);
    peer_->line().say(endpoint_->card());
    (void)peer_->line().hear<char>();
    EXPECT_TRUE(endpoint_->post_receive(7, 0, kRoom));
  }

  // The forged message has not arrived, and the true one does.
  void expect_only_the_true_one() {
    EXPECT_FALSE(endpoint_->next(std::chrono::milliseconds{200})) << "a forged message was taken";
    EXPECT_GT(dropped_by_us(), 0U);
    peer_->line().say('s');
    EXPECT_EQ(endpoint_->next().value_or(nic::Completion{}).status, nic::WcStatus::kSuccess);
    EXPECT_EQ(endpoint_->memory[0], kTrue);
  }

  [[nodiscard]] std::uint32_t own_slot() { return host::slot_of(Qpn{endpoint_->card().qpn}); }

  std::optional<Process> peer_;
  std::optional<Endpoint> endpoint_;
};

TEST_F(ForgedFrames, FromTheNetworkAreDropped) {
  auto sender = link::UdpSender::open({});
  ASSERT_TRUE(sender);
  (*sender)->set_interface(endpoint_->peer.gid, endpoint_->adapter->interface_index());
  ForgedSend{endpoint_->peer, endpoint_->card()}.send(**sender);
  expect_only_the_true_one();
}

TEST_F(ForgedFrames, FromAThirdProcessAreDropped) {
  const Card from = endpoint_->peer;
  const Card to = endpoint_->card();
  const std::uint32_t target = own_slot();
  const Process third{[&](Line line) {
    const auto joined = host::join_host();
    ASSERT_TRUE(joined && host::listen_to_calls(joined->listener.get()));
    auto offer = host::RingOffer::make(target, joined->slot, {});
    ASSERT_TRUE(offer);
    const auto ring = std::move(*offer).conclude(std::chrono::seconds{10});
    ASSERT_NE(ring, nullptr);
    ForgedSend{from, to}.send(ring->writer());
    line.say('d');
    (void)line.hear<char>();
  }};
  (void)third.line().hear<char>();
  expect_only_the_true_one();
  third.line().say('e');
}

TEST_F(ForgedFrames, ARingNeedsTheSlotThatItNames) {
  const std::uint32_t target = own_slot();
  const std::uint32_t foreign = host::slot_of(Qpn{endpoint_->peer.qpn});
  const Process third{[&](Line line) {
    for (const std::uint32_t slot : {foreign, target, 0U, host::kSlots, ~0U}) {
      auto offer = host::RingOffer::make(target, slot, {});
      ASSERT_TRUE(offer);
      EXPECT_EQ(std::move(*offer).conclude(std::chrono::seconds{10}), nullptr) << "slot " << slot;
    }
    line.say('d');
  }};
  (void)third.line().hear<char>();
  peer_->line().say('s');
  EXPECT_EQ(endpoint_->next().value_or(nic::Completion{}).status, nic::WcStatus::kSuccess);
}

}  // namespace
}  // namespace nerve
