#include "tests/sim/two_worlds.h"

#include <gtest/gtest.h>

#include <array>

#include "sim/topology/topologies.h"
#include "tests/qp_ladder.h"

namespace nerve::sim::test {

using nic::Access;

Station::Station(nic::Nic& engine, std::uint8_t filling) : nic{engine}, memory(kBytes) {
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i] = static_cast<std::byte>(i * 7 + i / 251 + filling);
  }
  pd = *nic.alloc_pd();
  cq = *nic.create_cq({.depth = 256, .ignore_overrun = false});
  const auto region = nic.register_mr({.pd = pd,
                                       .address = reinterpret_cast<std::uint64_t>(memory.data()),
                                       .length = kBytes,
                                       .iova = kBase,
                                       .access = Access::kLocalWrite | Access::kRemoteWrite |
                                                 Access::kRemoteRead | Access::kRemoteAtomic});
  keys = *nic.keys_of(*region);
  qp = *nic.create_qp({.type = nic::QpType::kRc,
                       .pd = pd,
                       .send_cq = cq,
                       .recv_cq = cq,
                       .caps = {.max_send_wr = 64, .max_recv_wr = 64}});
}

void Station::connect(std::uint32_t peer_node, Qpn peer, nic::Mtu mtu) {
  nic::QpAttributes attributes{
      .access = Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic,
      .path_mtu = mtu,
      .dest_qp = peer,
      .rq_psn = Psn{0xff'fff0},  // close to the PSN wrap
      .sq_psn = Psn{0xff'fff0},
      .max_dest_read = 4,
      .max_read = 4,
      .min_rnr_timer = 1,
      .timeout = 14,
      .retry_count = 7,
      .rnr_retry = 7};
  attributes.path.destination = gid_of(NodeId{peer_node});
  ASSERT_TRUE(nerve::test::bring_qp_to(nic, qp, nic::QpState::kRts, attributes));
}

void Station::post_receive() {
  const nic::Sge sge{kBase + kBytes / 2, kBytes / 2, keys.lkey};
  ASSERT_TRUE(nic.post_recv(qp, {.wr_id = 7, .sges = {&sge, 1}}));
}

void Station::post(nic::SendWr wr, std::uint64_t offset, std::uint32_t length) {
  const nic::Sge sge{kBase + offset, length, keys.lkey};
  wr.sges = {&sge, 1};
  wr.flags = nic::SendFlags::kSignaled;
  wr.rkey = keys.rkey;  // both ends have the same keys
  ASSERT_TRUE(nic.post_send(qp, wr));
}

void Station::poll() {
  std::array<nic::Completion, 16> some;
  while (const std::size_t count = *nic.poll_cq(cq, some)) {
    for (nic::Completion one : std::span{some}.first(count)) {
      one.at = {};  // the two worlds have different clocks
      completions.push_back(one);
    }
  }
}

void World::connect(nic::Mtu mtu) {
  at(0).connect(1, at(1).qpn(), mtu);
  at(1).connect(0, at(0).qpn(), mtu);
}

SimulatedWorld::SimulatedWorld(const SimNicConfig& config) {
  settings_ = std::make_unique<SimNicSettings>(config);
  const Graph graph = star(2, {});
  fabric_ = std::make_unique<Fabric>(1, graph, std::vector<FabricConfig>{FabricConfig{}});
  const std::vector<std::uint16_t> one_part(graph.nodes.size());
  FabricPart* const part = &part_;
  fabric_->divide(one_part, {&part, 1});
  for (const std::uint32_t i : {0U, 1U}) {
    nics_.push_back(std::make_unique<SimNic>(clockwork_, *fabric_, NodeId{i}, *settings_));
    stations.push_back(
        std::make_unique<Station>(nics_[i]->engine(), static_cast<std::uint8_t>(i * 100)));
  }
  connect(config.mtu);
}

void SimulatedWorld::settle() {
  for (const auto& nic : nics_) nic->resumed();
  Event<Happening> event;
  while (clockwork_.wheel.next(Time{std::chrono::seconds{1000}}, event)) happen(event);
  for (const auto& station : stations) station->poll();
}

// Like Simulation, but records packets that arrive at the switch.
void SimulatedWorld::happen(const Event<Happening>& event) {
  const PortId at{event.subject};
  const Port& port = fabric_->port(at);
  switch (event.kind) {
    case Happening::kArrive: {
      const PacketId id{event.argument};
      if (port.switch_number == kNobody) return nics_[port.node.value()]->arrive(at, id);
      const wire::Frame& frame = clockwork_.packets[id].frame;
      seen.push_back({fabric_->port(port.peer).node.value(), frame.headers, frame.payload_length});
      return fabric_->forward(at, id);
    }
    case Happening::kPortFree:
      if (port.switch_number == kNobody) return nics_[port.node.value()]->port_free(at);
      return fabric_->port_free(at);
    case Happening::kNicTimer:
      return nics_[event.subject]->timer(event.when);
    default:
      FAIL() << "nothing else was expected to happen";
  }
}

DirectWorld::DirectWorld(const nic::NicConfig& config, nic::Mtu mtu) {
  for (const std::uint32_t i : {0U, 1U}) {
    engines_.push_back(std::make_unique<nic::Nic>(config));
    nic::Nic& engine = *engines_[i];
    EXPECT_TRUE(engine.set_gid(0, gid_of(NodeId{i})));
    // Creates the same objects as a simulated NIC, so that keys and numbers match.
    const nic::PdHandle pd = *engine.alloc_pd();
    EXPECT_TRUE(engine.create_cq({.depth = 16, .ignore_overrun = false}));
    EXPECT_TRUE(engine.register_mr(
        {.pd = pd, .length = 1, .access = Access::kLocalWrite, .port = &nothing_}));
    stations.push_back(std::make_unique<Station>(engine, static_cast<std::uint8_t>(i * 100)));
  }
  connect(mtu);
}

void DirectWorld::send_all(std::uint32_t end) {
  nic::TxBurst burst{2};
  while (engines_[end]->transmit(burst, now_) > 0) {
    for (const wire::Frame& frame : burst.frames()) {
      seen.push_back({end, frame.headers, frame.payload_length});
      on_the_way_.push_back({end, frame, frame.payload.empty() ? wire::Piece{} : frame.payload[0]});
    }
  }
}

void DirectWorld::settle() {
  send_all(0);
  send_all(1);
  while (!on_the_way_.empty()) {
    OnTheWay next = on_the_way_.front();
    on_the_way_.pop_front();
    next.frame.payload = {&next.piece, next.frame.payload_length > 0 ? 1U : 0U};
    now_ += std::chrono::microseconds{1};
    engines_[1 - next.from]->receive({&next.frame, 1}, now_);
    send_all(1 - next.from);
  }
  for (const auto& station : stations) station->poll();
}

}  // namespace nerve::sim::test
