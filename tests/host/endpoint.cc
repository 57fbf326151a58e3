#include "tests/host/endpoint.h"

#include <array>

#include "base/check.h"
#include "tests/qp_ladder.h"

namespace nerve::test {

using host::Adapter;
using nic::QpState;

Endpoint::Endpoint(std::size_t bytes) : memory(bytes) {
  const auto devices = host::Host::current().devices();
  CHECK(!devices.empty());
  adapter = host::Host::current().open(devices[0]);
  CHECK(adapter != nullptr);
  Adapter::Session session{*adapter};
  pd_ = *session->alloc_pd();
  cq_ = *session->create_cq({.depth = 256, .cookie = bell_.cookie()});
  const auto access = nic::Access::kLocalWrite | nic::Access::kRemoteWrite |
                      nic::Access::kRemoteRead | nic::Access::kRemoteAtomic;
  const auto address = reinterpret_cast<std::uint64_t>(memory.data());
  mr_ = *session->register_mr(
      {.pd = pd_, .address = address, .length = memory.size(), .iova = address, .access = access});
  keys_ = *session->keys_of(mr_);
  qp_ = *session->create_qp({.type = nic::QpType::kRc,
                             .pd = pd_,
                             .send_cq = cq_,
                             .recv_cq = cq_,
                             .caps = {.max_send_wr = 128, .max_recv_wr = 128, .max_inline = 64}});
  CHECK(bring_qp_to(session.nic(), qp_, QpState::kInit, {.access = access}));
}

Endpoint::~Endpoint() {
  Adapter::Session session{*adapter};
  (void)session->destroy_qp(qp_);
  (void)session->deregister_mr(mr_);
  (void)session->destroy_cq(cq_);
  (void)session->dealloc_pd(pd_);
}

Card Endpoint::card() {
  Adapter::Session session{*adapter};
  return {.gid = *session->query_gid(0),
          .qpn = session->query_qp(qp_)->qpn.value(),
          .rkey = keys_.rkey.value(),
          .address = reinterpret_cast<std::uint64_t>(memory.data())};
}

void Endpoint::connect(const Card& to) {
  peer = to;
  adapter->reach(host::kPrimaryShard, to.gid, Qpn{to.qpn});
  Adapter::Session session{*adapter};
  CHECK(bring_qp_to(session.nic(), qp_, QpState::kRts,
                    {.path = {.destination = to.gid},
                     .path_mtu = adapter->device().active_mtu,
                     .dest_qp = Qpn{to.qpn},
                     .max_dest_read = 16,
                     .max_read = 16,
                     .min_rnr_timer = 12,
                     .timeout = 14,
                     .retry_count = 7,
                     .rnr_retry = 7}));
  session.follow_seal(session->query_qp(qp_)->qpn, QpState::kRtr);
}

bool Endpoint::post_send(nic::SendOp op, std::uint64_t wr_id, std::size_t offset,
                         std::uint32_t length, std::uint64_t remote_offset) {
  const std::array sges{nic::Sge{.address = reinterpret_cast<std::uint64_t>(memory.data()) + offset,
                                 .length = length,
                                 .lkey = keys_.lkey}};
  Adapter::Session session{*adapter};
  const bool taken{session->post_send(qp_, {.wr_id = wr_id,
                                            .op = op,
                                            .flags = nic::SendFlags::kSignaled,
                                            .sges = sges,
                                            .remote_address = peer.address + remote_offset,
                                            .rkey = RKey{peer.rkey}})};
  session.posted();
  return taken;
}

bool Endpoint::post_receive(std::uint64_t wr_id, std::size_t offset, std::uint32_t length) {
  const std::array sges{nic::Sge{.address = reinterpret_cast<std::uint64_t>(memory.data()) + offset,
                                 .length = length,
                                 .lkey = keys_.lkey}};
  Adapter::Session session{*adapter};
  return bool{session->post_recv(qp_, {.wr_id = wr_id, .sges = sges})};
}

std::optional<nic::Completion> Endpoint::next(std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  std::array<nic::Completion, 1> got;
  while (std::chrono::steady_clock::now() < end) {
    Adapter::Session session{*adapter};
    if (*session->poll_cq(cq_, got) == 1) return got[0];
    session.drive();
  }
  return std::nullopt;
}

void Endpoint::arm() { CHECK(Adapter::Session(*adapter)->arm_cq(cq_, false)); }

void Endpoint::Bell::on_event(const nic::Event& /*event*/) {
  const std::scoped_lock guard{lock};
  rung = true;
  rings.notify_all();
}

bool Endpoint::sleep(std::chrono::milliseconds patience) {
  std::unique_lock guard{bell_.lock};
  return bell_.rings.wait_for(guard, patience, [&] { return bell_.rung; });
}

}  // namespace nerve::test
