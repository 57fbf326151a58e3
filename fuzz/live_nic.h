// An engine with a live QP of every type, each with work in progress: the target of the fuzzers.
#pragma once

#include <array>
#include <vector>

#include "nic/nic.h"
#include "tests/qp_ladder.h"

namespace nerve::fuzz {

class LiveNic {
 public:
  static constexpr std::array kTypes{nic::QpType::kRc,      nic::QpType::kUc,
                                     nic::QpType::kUd,      nic::QpType::kXrcSend,
                                     nic::QpType::kXrcRecv, nic::QpType::kGsi};

  LiveNic() : nic_{nic::NicConfig{}}, memory_(1U << 16U) {
    CHECK(nic_.set_gid(0, own()).has_value());
    nic_.set_port_active(true);
    pd_ = *nic_.alloc_pd();
    cq_ = *nic_.create_cq({.depth = 256});
    xrcd_ = *nic_.alloc_xrcd();
    srq_ = *nic_.create_srq({.pd = pd_,
                             .type = nic::SrqType::kXrc,
                             .max_wr = 16,
                             .max_sge = 1,
                             .xrcd = xrcd_,
                             .cq = cq_});
    mr_ = *nic_.register_mr({.pd = pd_,
                             .address = reinterpret_cast<std::uint64_t>(memory_.data()),
                             .length = memory_.size(),
                             .iova = 0,
                             .access = nic::Access::kLocalWrite | nic::Access::kRemoteWrite |
                                       nic::Access::kRemoteRead | nic::Access::kRemoteAtomic |
                                       nic::Access::kMwBind | nic::Access::kFlushGlobal});
    keys_ = *nic_.keys_of(mr_);
    nic::AddressVector address;
    address.destination = peer();
    ah_ = *nic_.create_ah(pd_, address);
    for (const nic::QpType type : kTypes) {
      const auto qp =
          nic_.create_qp({.type = type,
                          .pd = pd_,
                          .send_cq = cq_,
                          .recv_cq = cq_,
                          .xrcd = type == nic::QpType::kXrcRecv ? xrcd_ : nic::XrcdHandle{},
                          .caps = {.max_send_wr = 16, .max_recv_wr = 16}});
      CHECK(qp.has_value());
      qps_.push_back(*qp);
    }
  }

  static wire::Gid own() { return wire::Gid::ipv4(10, 0, 0, 1); }
  static wire::Gid peer() { return wire::Gid::ipv4(10, 0, 0, 2); }
  [[nodiscard]] nic::Nic& nic() { return nic_; }
  [[nodiscard]] nic::QpHandle qp(std::size_t i) const { return qps_[i % qps_.size()]; }
  [[nodiscard]] nic::QpType type(std::size_t i) const { return kTypes[i % kTypes.size()]; }
  [[nodiscard]] nic::MrKeys keys() const { return keys_; }
  [[nodiscard]] nic::AhHandle ah() const { return ah_; }
  [[nodiscard]] nic::SrqHandle srq() const { return srq_; }

  // Brings a QP to RTS with PSNs at zero and a peer of QPN 2.
  void bring_up(std::size_t i);
  // A receive and a request of each kind that the type has.
  void post_work(std::size_t i);
  // Takes all frames, completions and events of the engine.
  void drain(Time now) {
    nic::TxBurst burst{32};
    // Bounded, so that an engine that sends without end fails instead of hanging.
    for (int calls = 0; nic_.transmit(burst, now) > 0; burst.clear()) CHECK(++calls < 10'000);
    while (nic_.next_event()) {
    }
    std::array<nic::Completion, 16> some;
    while (*nic_.poll_cq(cq_, some) > 0) {
    }
  }

 private:
  nic::Nic nic_;
  std::vector<std::byte> memory_;
  nic::PdHandle pd_{};
  nic::CqHandle cq_{};
  nic::XrcdHandle xrcd_{};
  nic::SrqHandle srq_{};
  nic::MrHandle mr_{};
  nic::MrKeys keys_{};
  nic::AhHandle ah_{};
  std::vector<nic::QpHandle> qps_;
};

inline void LiveNic::bring_up(std::size_t i) {
  nic::QpAttributes a;
  a.access = nic::Access::kRemoteWrite | nic::Access::kRemoteRead | nic::Access::kRemoteAtomic |
             nic::Access::kFlushGlobal;
  a.path.destination = peer();
  a.path_mtu = nic::Mtu::k256;
  a.dest_qp = Qpn{2};
  a.qkey = 0x1111;
  a.max_dest_read = a.max_read = 4;
  a.timeout = 8;
  a.retry_count = 2;
  a.rnr_retry = 2;
  CHECK(test::bring_qp_to(nic_, qp(i), nic::QpState::kRts, a).has_value());
}

inline void LiveNic::post_work(std::size_t i) {
  using nic::QpType;
  using nic::SendOp;
  const nic::Sge sge{.address = 0, .length = 600, .lkey = keys_.lkey};
  const nic::RecvWr receive{.wr_id = 1, .sges = {&sge, 1}};
  (void)nic_.post_recv(qp(i), receive);
  (void)nic_.post_srq_recv(srq_, receive);
  for (const SendOp op : {SendOp::kSend, SendOp::kWrite, SendOp::kRead, SendOp::kFetchAdd}) {
    nic::Sge source = sge;
    if (op == SendOp::kFetchAdd) source.length = 8;
    if (type(i) == QpType::kUd || type(i) == QpType::kGsi) source.length = 200;
    nic::SendWr wr{.wr_id = 2, .op = op, .flags = nic::SendFlags::kSignaled, .sges = {&source, 1}};
    wr.ah = ah_;
    wr.remote_qpn = Qpn{2};
    wr.remote_srq = 1;
    (void)nic_.post_send(qp(i), wr);  // fails where the type has no such operation
  }
}

}  // namespace nerve::fuzz
