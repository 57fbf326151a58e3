#include "tests/nic/pair.h"

#include <array>
#include <cstring>

#include "tests/qp_ladder.h"

namespace nerve::test {

using namespace nic;

std::string said(const Error& error) {
  const auto name = [&] {
    switch (error.code) {
      case ErrorCode::kInvalid:
        return "invalid";
      case ErrorCode::kNoSuchObject:
        return "no such object";
      case ErrorCode::kBusy:
        return "busy";
      case ErrorCode::kLimit:
        return "limit";
      case ErrorCode::kQueueFull:
        return "queue full";
      case ErrorCode::kNotSupported:
        return "not supported";
      case ErrorCode::kPermission:
        return "permission";
    }
    return "?";
  };
  return std::string{name()} + ": " + error.reason;
}

wire::Gid gid_of(std::uint8_t number, bool ipv6) {
  if (!ipv6) return wire::Gid::ipv4(10, 0, 0, number);
  wire::Gid gid;
  gid.bytes[0] = std::byte{0xfd};
  gid.bytes[15] = std::byte{number};
  return gid;
}

End::End(std::uint8_t number, const EndSetup& given)
    : nic{given.config, given.hooks},
      setup{given},
      gid{gid_of(number, given.ipv6)},
      memory(1 << 17) {
  EXPECT_TRUE(nic.set_gid(0, gid));
  EXPECT_TRUE(nic.next_event());  // of the GID change
  pd = *nic.alloc_pd();
  cq = *nic.create_cq({.depth = setup.cq_depth});
  if (setup.srq) srq = *nic.create_srq({.pd = pd, .max_wr = 16, .max_sge = 4});
  qp = make_qp();
  mr =
      *nic.register_mr({.pd = pd,
                        .address = at(0),
                        .length = memory.size(),
                        .iova = at(0),
                        .access = Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead |
                                  Access::kRemoteAtomic | Access::kMwBind | Access::kFlushGlobal});
  keys = *nic.keys_of(mr);
  attributes = {.access = Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic,
                .qkey = 0x1234,
                .path_mtu = setup.mtu,
                .max_dest_read = 4,
                .max_read = 4,
                .min_rnr_timer = 1,
                .timeout = 10,
                .retry_count = 7,
                .rnr_retry = 7};
}

QpHandle End::make_qp() {
  return *nic.create_qp({.type = setup.type,
                         .pd = pd,
                         .send_cq = cq,
                         .recv_cq = cq,
                         .srq = srq,
                         .caps = setup.caps,
                         .plain = setup.plain});
}

void End::step(QpState to) { EXPECT_EQ(said(step_qp(nic, qp, to, attributes)), "done"); }

void End::bring_to(QpState to) {
  if (state() != QpState::kReset) step(QpState::kReset);
  EXPECT_EQ(said(bring_qp_to(nic, qp, to, attributes)), "done");
  if (state() != to) step(to);
}

void End::fill(std::size_t offset, std::size_t length, std::uint8_t seed) {
  for (std::size_t i = 0; i < length; ++i) {
    memory.at(offset + i) = static_cast<std::byte>(i * 7 + i / 256 + seed);
  }
}

std::vector<std::byte> End::bytes(std::size_t offset, std::size_t length) const {
  const auto from = memory.begin() + static_cast<std::ptrdiff_t>(offset);
  return {from, from + static_cast<std::ptrdiff_t>(length)};
}

std::uint64_t End::word(std::size_t offset) const {
  std::uint64_t value = 0;
  std::memcpy(&value, memory.data() + offset, sizeof value);
  return value;
}

Status End::post(SendWr wr, std::size_t offset, std::uint32_t length) {
  const Sge list = sge(offset, length);
  wr.sges = {&list, 1};
  return nic.post_send(qp, wr);
}

Status End::post_receive(std::uint64_t wr_id, std::size_t offset, std::uint32_t length) {
  const Sge list = sge(offset, length);
  const RecvWr wr{.wr_id = wr_id, .sges = {&list, 1}};
  return srq ? nic.post_srq_recv(srq, wr) : nic.post_recv(qp, wr);
}

std::vector<Completion> End::completions() {
  std::vector<Completion> all;
  std::array<Completion, 16> some{};
  while (const std::size_t count = *nic.poll_cq(cq, some)) {
    all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return all;
}

std::vector<EventKind> End::events() {
  std::vector<EventKind> all;
  while (const auto event = nic.next_event()) all.push_back(event->kind);
  return all;
}

Pair::Pair(const EndSetup& both) : Pair{both, both} {}
Pair::Pair(const EndSetup& of_a, const EndSetup& of_b) : a{1, of_a}, b{2, of_b} {}

void connect_ends(End& a, End& b) {
  for (auto [self, peer] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
    self->attributes.path.destination = peer->gid;
    self->attributes.dest_qp = peer->qpn();
    self->bring_to(QpState::kRts);
  }
}

bool Pair::passes(bool from_a, const wire::Frame& frame) {
  seen.push_back({from_a, frame.flow, frame.headers, frame.payload_length});
  return !(lose && lose(seen.back()));
}

}  // namespace nerve::test
