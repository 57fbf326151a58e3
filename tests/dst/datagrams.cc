#include "tests/dst/datagrams.h"

#include <algorithm>

#include "tests/qp_ladder.h"

namespace nerve::dst {

using nic::QpState;
using nic::SendFlags;
using nic::SendOp;
using nic::WcFlags;
using nic::WcOpcode;
using nic::WcStatus;
using std::chrono::microseconds;

Datagrams::Datagrams(nic::QpType type, bool shared, EventQueue& events, Journal& journal,
                     const Network& network, std::vector<std::unique_ptr<Host>>& hosts,
                     std::uint32_t count, std::uint64_t seed)
    : type_{type},
      shared_{shared},
      events_{events},
      journal_{journal},
      network_{network},
      hosts_{hosts},
      prng_{seed},
      // The top bit would select the QP's own key.
      qkey_{gsi() ? kGsiQkey : static_cast<std::uint32_t>(prng_.next()) & 0x7fff'ffffU},
      left_{count} {
  if (hosts[0]->gid().is_ipv4()) {
    group_ = wire::Gid::ipv4(239, 1, 2, 3);
  } else {
    group_.bytes[0] = std::byte{0xff};
    group_.bytes[1] = std::byte{0x0e};
    group_.bytes[15] = std::byte{0x77};
  }
  for (const auto& host : hosts_) make_member(*host);
}

void Datagrams::violation(const std::string& what) {
  journal_.violation(events_.now(), "datagrams: " + what);
}

void Datagrams::make_member(Host& host) {
  nic::Nic& nic = host.nic();
  Member member{.host = &host};
  member.cq = host.create_cq(2 * kReceives);
  const nic::SrqHandle srq =
      shared_ ? *nic.create_srq({.pd = host.other_pd(), .max_wr = kReceives, .max_sge = 1})
              : nic::SrqHandle{};
  const auto qp = nic.create_qp({.type = type_,
                                 .pd = host.pd(),
                                 .send_cq = member.cq,
                                 .recv_cq = member.cq,
                                 .srq = srq,
                                 .caps = {.max_send_wr = kReceives,
                                          .max_recv_wr = kReceives,
                                          .max_send_sge = 4,
                                          .max_recv_sge = 1}});
  if (!qp) return violation(std::string{"create_qp refused: "} + qp.error().reason);
  member.qp = *qp;
  host.watch(*qp);
  member.qpn = nic.query_qp(*qp)->qpn;
  if (gsi() && member.qpn != Qpn{1}) violation("the gsi qp is not qp 1");
  nic::QpAttributes a;
  a.qkey = qkey_;
  a.sq_psn = Psn{0xff'fffe};
  if (!test::bring_qp_to(nic, *qp, QpState::kRts, a)) return violation("modify_qp refused");
  member.in_group = !gsi() && prng_.chance(600);
  if (member.in_group && !nic.attach_mcast(*qp, group_)) violation("attach_mcast refused");
  const LKey key = shared_ ? other_key(host) : host.keys(MemoryModel::kLocal).lkey;
  const std::uint64_t receives = prng_.between(0, gsi() ? kReceives / 3 : kReceives);
  for (std::uint64_t i = 0; i < receives; ++i) {
    const auto at = host.memory().take(MemoryModel::kLocal, kGrh + capacity(), 1, prng_);
    if (!at) break;
    const nic::Sge sge{.address = MemoryModel::iova(*at),
                       .length = static_cast<std::uint32_t>(kGrh + capacity()),
                       .lkey = key};
    const std::uint64_t wr_id = id_of(members_.size(), true, member.buffers.size());
    const nic::RecvWr wr{.wr_id = wr_id, .sges = {&sge, 1}};
    const auto posted = shared_ ? nic.post_srq_recv(srq, wr) : nic.post_recv(*qp, wr);
    if (!posted) violation("post_recv refused");
    member.buffers.push_back({{*at, kGrh + capacity()}});
  }
  members_.push_back(std::move(member));
}

LKey Datagrams::other_key(Host& host) {
  const std::size_t start = host.memory().zone_start(MemoryModel::kLocal);
  const auto region = host.nic().register_mr(
      {.pd = host.other_pd(),
       .address = reinterpret_cast<std::uint64_t>(host.memory().pointer(start)),
       .length = host.memory().zone_size(),
       .iova = MemoryModel::iova(start),
       .access = nic::Access::kLocalWrite,
       .port = host.port()});
  return host.nic().keys_of(*region)->lkey;
}

void Datagrams::start() {
  if (left_ == 0 || members_.size() != hosts_.size()) {
    finished_ = true;
    return;
  }
  send_one();
}

void Datagrams::send_one() {
  const std::size_t from = prng_.below(members_.size());
  Member& sender = members_[from];
  Datagram datagram{.from = from, .has_immediate = !gsi() && prng_.chance(300)};
  datagram.immediate = static_cast<std::uint32_t>(prng_.next());
  const bool multicast = datagram.multicast = !gsi() && prng_.chance(250);
  const bool wrong_key = prng_.chance(150);
  const std::size_t to = prng_.below(members_.size());
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const bool meant = multicast ? members_[i].in_group : i == to;
    if (meant && !wrong_key) datagram.to.push_back(i);
  }
  nic::AddressVector address;
  address.destination = multicast ? group_ : members_[to].host->gid();
  const auto ah = sender.host->nic().create_ah(sender.host->pd(), address);
  if (!ah) return violation("create_ah refused");

  std::size_t length = prng_.chance(100) ? 0 : prng_.between(1, kCapacity);
  if (gsi()) length = kMad;
  const std::size_t at = prng_.below(sender.host->memory().zone_size() - length);
  const Bytes bytes = sender.host->memory().expected(at, length);
  datagram.bytes.assign(bytes.begin(), bytes.end());
  const nic::Sge sge{.address = MemoryModel::iova(at),
                     .length = static_cast<std::uint32_t>(length),
                     .lkey = sender.host->keys(MemoryModel::kStatic).lkey};
  nic::SendWr wr{.wr_id = id_of(from, false, sender.sends),
                 .op = datagram.has_immediate ? SendOp::kSendImm : SendOp::kSend,
                 .flags = SendFlags::kSignaled,
                 .sges = {&sge, 1}};
  wr.immediate = datagram.immediate;
  wr.ah = *ah;
  wr.remote_qpn = multicast ? Qpn{0xff'ffff} : members_[to].qpn;
  // A key with the top bit would be replaced by the sender's own, which is valid.
  wr.remote_qkey = wrong_key ? (qkey_ ^ 0x100U) & 0x7fff'ffffU : qkey_;
  if (const auto status = sender.host->nic().post_send(sender.qp, wr); !status) {
    violation(std::string{"post_send refused: "} + status.error().reason);
  }
  ++sender.sends;
  sent_.push_back(std::move(datagram));
  sender.host->pump();
  if (--left_ > 0) {
    events_.after(microseconds{prng_.between(0, 20)}, [this] { send_one(); });
  } else {
    finish_at(events_.age() + network_.longest_delay() + microseconds{500});
  }
}

// A clock jump does not move the frames.
void Datagrams::finish_at(Duration age) {
  events_.at(events_.at_age(age), [this, age] {
    if (events_.age() < age) return finish_at(age);
    finish();
  });
}

void Datagrams::completed(const nic::Completion& completion) {
  const std::size_t who = completion.wr_id >> 40U & 0xff;
  const bool receive = (completion.wr_id >> 39U & 1U) != 0;
  const std::size_t index = completion.wr_id & 0x7f'ffff'ffff;
  if (who >= members_.size()) return violation("a completion of nobody");
  Member& member = members_[who];
  if (completion.qpn != member.qpn) violation("a completion with the wrong qpn");
  if (completion.status == WcStatus::kFlushed && finished_) return;
  if (completion.status != WcStatus::kSuccess) {
    return violation(std::string{"ended with "} + name_of(completion.status));
  }
  if (receive) return received(member, index, completion);
  if (index != member.sends_completed++) violation("sends completed out of order");
}

void Datagrams::received(Member& member, std::size_t index, const nic::Completion& completion) {
  Buffer& buffer = member.buffers[index];
  const bool in_order = index == 0 || member.buffers[index - 1].done;
  if (buffer.done || !in_order) violation("receives completed out of order");
  buffer.done = true;
  MemoryModel& memory = member.host->memory();
  if (completion.bytes < kGrh || completion.bytes > buffer.range.length ||
      !contains(completion.flags, WcFlags::kGrh) || completion.opcode != WcOpcode::kRecv) {
    return violation("a datagram without its grh");
  }
  const Bytes bytes = memory.actual(buffer.range.offset + kGrh, completion.bytes - kGrh);
  const auto self = static_cast<std::size_t>(&member - members_.data());
  const bool may_be_twice = network_.faults().duplication > 0;
  const auto found = std::ranges::find_if(sent_, [&](const Datagram& d) {
    return members_[d.from].qpn == completion.source_qpn && std::ranges::count(d.to, self) > 0 &&
           std::ranges::equal(d.bytes, bytes) &&
           d.has_immediate == contains(completion.flags, WcFlags::kImmediate) &&
           (!d.has_immediate || d.immediate == completion.immediate) &&
           (may_be_twice || std::ranges::count(d.received_by, self) == 0);
  });
  if (found == sent_.end()) return violation("a datagram arrived that nobody sent to this qp");
  found->received_by.push_back(self);
  memory.leave_open(
      {.memory = &memory, .offset = buffer.range.offset, .length = kGrh});  // the GRH area
  memory.expect(buffer.range.offset + kGrh, bytes);
}

void Datagrams::finish() {
  const auto is_up = [](const Member& member) {
    return member.host->nic().port_active() && !member.host->nic().awaits_memory();
  };
  if (!std::ranges::all_of(members_, is_up)) {
    events_.after(microseconds{500}, [this] { finish(); });  // lets frames waiting for the port
                                                             // leave
    return;
  }
  for (Member& member : members_) member.host->poll_all();
  finished_ = true;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    if (member.sends_completed != member.sends) violation("a send never completed");
    const auto got = std::ranges::count_if(member.buffers, [](const Buffer& b) { return b.done; });
    // A group member that sends to the group does not receive its own datagram from a switch;
    // whether its own port loops it back is left open here.
    const auto due = std::ranges::count_if(sent_, [&](const Datagram& d) {
      return std::ranges::count(d.to, i) > 0 && !(d.multicast && d.from == i);
    });
    const auto room = static_cast<std::ptrdiff_t>(member.buffers.size());
    if (!network_.faults().any() && got < std::min(due, room)) {
      violation("a good network, but datagrams are missing");
    }
  }
}

}  // namespace nerve::dst
