#include "tests/dst/pair.h"

#include <algorithm>

#include "tests/qp_ladder.h"

namespace nerve::dst {

using nic::Access;
using nic::QpState;

namespace {

wire::Gid gid_of(std::size_t side, bool ipv6) {
  if (!ipv6) return wire::Gid::ipv4(10, 0, 0, static_cast<std::uint8_t>(side + 1));
  wire::Gid gid;
  gid.bytes[0] = std::byte{0xfd};
  gid.bytes[15] = static_cast<std::byte>(side + 1);
  return gid;
}

}  // namespace

Pair::Pair(const PairSetup& setup)
    : setup_{setup}, network_{events_, journal_, 1, setup.faults, Carriage::kValues} {
  network_.set_tap([this](std::size_t from, std::size_t, const Parcel& parcel) {
    if (log_frames_) frames_.push_back({events_.now(), from, parcel});
  });
  for (std::size_t side = 0; side < 2; ++side) {
    End& end = ends_[side];
    nic::NicConfig config = setup.config[side];
    config.key_secret = {side + 1, 42};
    end.host = std::make_unique<Host>(side, config, nic::NicHooks{}, nullptr, nullptr,
                                      gid_of(side, setup.ipv6), Host::Habits{}, side + 7,
                                      std::size_t{1} << 17U, events_, network_, journal_);
    end.host->on_completion([&end](Host&, nic::CqHandle, const nic::Completion& completion) {
      end.completions.push_back(completion);
      return false;
    });
    end.host->on_event([&end](Host&, const nic::Event& event) { end.events.push_back(event); });
    end.cq = end.host->create_cq(setup.cq_depth);
    nic::Nic& nic = end.host->nic();
    if (setup.srq) {
      end.srq = *nic.create_srq({.pd = end.host->pd(), .max_wr = 64, .max_sge = 4});
    }
    end.qp = *nic.create_qp({.type = setup.type,
                             .pd = end.host->pd(),
                             .send_cq = end.cq,
                             .recv_cq = end.cq,
                             .srq = end.srq,
                             .caps = setup.caps});
    end.qpn = nic.query_qp(end.qp)->qpn;
    end.host->watch(end.qp);
  }
}

nic::QpAttributes Pair::attributes(std::size_t side) const {
  nic::QpAttributes a;
  a.access =
      Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic;
  a.qkey = 0x1111;
  a.path.destination = ends_[1 - side].host->gid();
  a.path_mtu = nic::Mtu::k1024;
  a.dest_qp = ends_[1 - side].qpn;
  a.rq_psn = Psn{static_cast<std::uint32_t>(100 + 100 * (1 - side))};
  a.sq_psn = Psn{static_cast<std::uint32_t>(100 + 100 * side)};
  a.max_dest_read = a.max_read = 4;
  a.min_rnr_timer = 12;  // 0.64 ms
  a.timeout = 14;
  a.retry_count = 7;
  a.rnr_retry = 7;
  return a;
}

void Pair::connect(std::size_t side, const nic::QpAttributes& a) {
  CHECK(test::bring_qp_to(nic(side), ends_[side].qp, QpState::kRts, a).has_value());
}

nic::Status Pair::receive(std::size_t side, std::uint64_t wr_id, std::uint32_t length,
                          std::size_t offset) {
  const End& end = ends_[side];
  const std::size_t start = memory(side).zone_start(MemoryModel::kLocal) + offset;
  const nic::Sge sge{.address = MemoryModel::iova(start),
                     .length = length,
                     .lkey = end.host->keys(MemoryModel::kLocal).lkey};
  const nic::RecvWr wr{.wr_id = wr_id, .sges = {&sge, 1}};
  return end.srq ? nic(side).post_srq_recv(end.srq, wr) : nic(side).post_recv(end.qp, wr);
}

nic::Status Pair::post(std::size_t side, nic::SendWr wr, std::uint32_t length,
                       MemoryModel::Zone source) {
  const End& end = ends_[side];
  const nic::Sge sge{.address = MemoryModel::iova(memory(side).zone_start(source)),
                     .length = length,
                     .lkey = end.host->keys(source).lkey};
  wr.sges = {&sge, 1};
  wr.flags |= nic::SendFlags::kSignaled;
  return nic(side).post_send(end.qp, wr);
}

nic::Status Pair::send(std::size_t side, std::uint64_t wr_id, std::uint32_t length) {
  return post(side, {.wr_id = wr_id, .op = nic::SendOp::kSend}, length, MemoryModel::kStatic);
}

nic::Status Pair::write(std::size_t side, std::uint64_t wr_id, std::uint32_t length) {
  nic::SendWr wr{.wr_id = wr_id, .op = nic::SendOp::kWrite};
  wr.remote_address = MemoryModel::iova(memory(1 - side).zone_start(MemoryModel::kOpen));
  wr.rkey = ends_[1 - side].host->keys(MemoryModel::kOpen).rkey;
  return post(side, wr, length, MemoryModel::kStatic);
}

nic::Status Pair::read(std::size_t side, std::uint64_t wr_id, std::uint32_t length) {
  nic::SendWr wr{.wr_id = wr_id, .op = nic::SendOp::kRead};
  wr.remote_address = MemoryModel::iova(memory(1 - side).zone_start(MemoryModel::kStatic));
  wr.rkey = ends_[1 - side].host->keys(MemoryModel::kStatic).rkey;
  return post(side, wr, length, MemoryModel::kLocal);
}

void Pair::run_for(Duration time) {
  pump();
  const Time limit = events_.now() + time;
  events_.at(limit, [] {});  // advances the clock even when nothing happens
  while (events_.step(limit)) {
  }
  pump();
}

std::vector<SentFrame> Pair::frames_from(std::size_t side) const {
  std::vector<SentFrame> some;
  std::ranges::copy_if(frames_, std::back_inserter(some),
                       [&](const SentFrame& f) { return f.from == side; });
  return some;
}

bool Pair::saw_event(std::size_t side, nic::EventKind kind) const {
  return std::ranges::any_of(ends_[side].events,
                             [&](const nic::Event& e) { return e.kind == kind; });
}

}  // namespace nerve::dst
