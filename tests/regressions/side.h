// Two engines without a clock or a network: each test passes bursts between them by hand and may
// drop frames.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "nic/nic.h"
#include "tests/qp_ladder.h"

namespace nerve::nic {

struct Options {
  QpType type{QpType::kRc};
  Mtu mtu{Mtu::k1024};
  std::uint8_t max_dest{4}, max_read{4}, timeout{10}, retry{7};
  MemoryPort* port{};
  std::uint64_t length{1 << 24};
  Rate rate{};
};

// An engine with one QP, one CQ and one registered buffer.
struct Side {
  explicit Side(std::uint8_t last, Options o = {})
      : opt{o}, nic{NicConfig{}}, gid{wire::Gid::ipv4(10, 0, 0, last)} {
    EXPECT_TRUE(nic.set_gid(0, gid));
    pd = *nic.alloc_pd();
    cq = *nic.create_cq({.depth = 64});
    qp = make();
    if (o.port == nullptr) memory.resize(o.length);
    base = o.port == nullptr ? reinterpret_cast<std::uint64_t>(memory.data()) : 0x1000;
    mr = *nic.register_mr({.pd = pd,
                           .address = base,
                           .length = o.length,
                           .iova = base,
                           .access = Access::kLocalWrite | Access::kRemoteWrite |
                                     Access::kRemoteRead | Access::kRemoteAtomic | Access::kMwBind,
                           .port = o.port});
    keys = *nic.keys_of(mr);
  }
  QpHandle make() {
    return *nic.create_qp({.type = opt.type,
                           .pd = pd,
                           .send_cq = cq,
                           .recv_cq = cq,
                           .caps = {.max_send_wr = 16, .max_recv_wr = 16}});
  }
  Status step(QpState to, QpAttrs given, const QpAttributes& a) {
    return nic.modify_qp(qp, to, given, a);
  }
  void connect(Side& peer) {
    QpAttributes a{.access = Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic,
                   .qkey = 7,
                   .path = {.destination = peer.gid},
                   .path_mtu = opt.mtu,
                   .dest_qp = peer.nic.query_qp(peer.qp)->qpn,
                   .rate_limit = opt.rate,
                   .max_dest_read = opt.max_dest,
                   .max_read = opt.max_read,
                   .min_rnr_timer = 1,
                   .timeout = opt.timeout,
                   .retry_count = opt.retry,
                   .rnr_retry = 7};
    const auto more = opt.rate > Rate{} ? QpAttrs::kRateLimit : QpAttrs::kNone;
    EXPECT_TRUE(test::bring_qp_to(nic, qp, QpState::kRts, a, {.rts = more}));
  }
  std::vector<Completion> poll() {
    std::array<Completion, 64> got{};
    const std::size_t n = *nic.poll_cq(cq, got);
    return {got.begin(), got.begin() + static_cast<std::ptrdiff_t>(n)};
  }
  int events(EventKind kind) {
    int n = 0;
    while (auto e = nic.next_event()) n += e->kind == kind;
    return n;
  }
  Status rdma(SendOp op, std::uint64_t id, std::uint64_t local, std::uint32_t length, Side& peer,
              std::uint64_t remote, RKey rkey) {
    const Sge sge{base + local, length, keys.lkey};
    return nic.post_send(qp, {.wr_id = id,
                              .op = op,
                              .flags = SendFlags::kSignaled,
                              .sges = {&sge, 1},
                              .remote_address = peer.base + remote,
                              .rkey = rkey});
  }
  QpState state() { return nic.query_qp(qp)->state; }

  Options opt;
  Nic nic;
  wire::Gid gid;
  PdHandle pd;
  CqHandle cq;
  QpHandle qp;
  MrHandle mr;
  MrKeys keys;
  std::uint64_t base{};
  std::vector<std::byte> memory;
};

// Decides whether a frame is delivered.
using Filter = std::function<bool(const wire::Frame&)>;
inline Time at(std::int64_t us) { return Time{std::chrono::microseconds{us}}; }

// Delivers one burst from `a` to `b`; returns the number of frames sent, including those dropped.
inline std::uint32_t pass(Side& a, Side& b, Time now, const Filter& keep = {}) {
  TxBurst burst{64};
  const std::uint32_t n = a.nic.transmit(burst, now);
  std::vector<wire::Frame> kept;
  for (const wire::Frame& f : burst.frames()) {
    if (!keep || keep(f)) kept.push_back(f);
  }
  b.nic.receive(kept, now);
  return n;
}
// Passes bursts in both directions until neither side has anything to send.
inline void exchange(Side& a, Side& b, Time now = at(1)) {
  while (pass(a, b, now) + pass(b, a, now) > 0) {
  }
}

}  // namespace nerve::nic
