#include "tests/golden/replay_engine.h"

#include "tests/dst/parcel.h"
#include "tests/qp_ladder.h"

namespace nerve::golden {

using nic::Access;

namespace {

nic::NicConfig config_for(const ReplayEngine::Side& side) {
  nic::NicConfig config;
  config.first_qpn = side.qpn;
  // rdma_rxe neither advertises nor obeys credits.
  config.flow_control.announce_credits = false;
  config.flow_control.heed_credits = false;
  config.line_rate = Rate::gigabits(800);
  return config;
}

}  // namespace

ReplayEngine::ReplayEngine(const Side& side, std::uint64_t base, std::uint64_t size)
    : base_{base}, memory_(size), inbox_(kInbox), nic_{config_for(side)} {
  CHECK(nic_.set_gid(0, side.own).has_value());
  nic_.set_port_active(true);
  const nic::PdHandle pd = *nic_.alloc_pd();
  const auto mr = nic_.register_mr({.pd = pd,
                                    .address = reinterpret_cast<std::uint64_t>(memory_.data()),
                                    .length = size,
                                    .iova = base,
                                    .access = Access::kLocalWrite | Access::kRemoteWrite |
                                              Access::kRemoteRead | Access::kRemoteAtomic});
  keys_ = *nic_.keys_of(*mr);
  const auto inbox = nic_.register_mr({.pd = pd,
                                       .address = reinterpret_cast<std::uint64_t>(inbox_.data()),
                                       .length = kInbox,
                                       .iova = 0,
                                       .access = Access::kLocalWrite});
  inbox_key_ = nic_.keys_of(*inbox)->lkey;
  cq_ = *nic_.create_cq({.depth = 4096});
  qp_ = *nic_.create_qp({.type = nic::QpType::kRc,
                         .pd = pd,
                         .send_cq = cq_,
                         .recv_cq = cq_,
                         .caps = {.max_send_wr = 1024, .max_recv_wr = 64}});
  nic::QpAttributes a;
  a.access = side.access;
  a.path.destination = side.peer;
  a.path_mtu = static_cast<nic::Mtu>(side.mtu);
  a.dest_qp = side.peer_qpn;
  a.rq_psn = side.receives;
  a.sq_psn = side.sends;
  a.max_dest_read = a.max_read = 16;
  a.min_rnr_timer = side.rnr_timer;
  a.timeout = 14;
  a.retry_count = 7;
  a.rnr_retry = 7;
  CHECK(test::bring_qp_to(nic_, qp_, nic::QpState::kRts, a).has_value());
}

void ReplayEngine::post_receive(std::uint32_t length) {
  const nic::Sge sge{.address = 0, .length = length, .lkey = inbox_key_};
  CHECK(nic_.post_recv(qp_, {.wr_id = 0, .sges = {&sge, 1}}).has_value());
}

void ReplayEngine::feed(const CapturedFrame& captured) {
  wire::Piece piece{.address = reinterpret_cast<std::uint64_t>(captured.payload.data()),
                    .length = static_cast<std::uint32_t>(captured.payload.size())};
  wire::Frame frame{.flow = captured.flow, .headers = captured.headers};
  frame.payload_length = piece.length;
  if (piece.length > 0) frame.payload = {&piece, 1};
  nic_.receive({&frame, 1}, now_);
}

void ReplayEngine::collect(std::vector<CapturedFrame>& into) {
  for (;;) {
    burst_.clear();
    nic_.transmit(burst_, now_);
    if (burst_.empty()) break;
    for (const wire::Frame& frame : burst_.frames()) {
      dst::Parcel parcel = dst::capture(frame);
      const wire::OpcodeInfo* info = wire::find_opcode(parcel.headers.bth.opcode);
      into.push_back({.flow = parcel.flow,
                      .headers = parcel.headers,
                      .payload = std::move(parcel.payload),
                      .request = info->role == wire::Role::kRequest});
    }
  }
  now_ += std::chrono::microseconds{1};
}

}  // namespace nerve::golden
