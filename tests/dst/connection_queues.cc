// The queues of a connection's ends: QPs, CQs and SRQs.
#include <algorithm>

#include "tests/dst/connection.h"

namespace nerve::dst {

using nic::QpState;
using nic::QpType;
using std::chrono::microseconds;

ReceiveSource make_source(const Connection::Surroundings& surroundings, Host& host,
                          const Terms& terms, nic::SrqInit init, Prng& prng) {
  init.max_wr = terms.caps.max_recv_wr;
  init.max_sge = terms.caps.max_recv_sge;
  EventQueue& events = surroundings.events;
  Journal& journal = surroundings.journal;
  Registry& registry = surroundings.registry;
  const Twists& twists = surroundings.twists;
  ReceiveSource source{.srq = *host.nic().create_srq(init), .depth = init.max_wr};
  source.number = host.nic().query_srq(source.srq)->number;
  source.model = &registry.add_receives(host, true);
  source.feeder = std::make_shared<ReceiveFeeder>(host, nic::QpHandle{}, source.srq, *source.model,
                                                  terms, events, journal, prng.next());
  registry.set_feeder(*source.model, source.feeder);
  if (twists.srq_limits) {
    registry.watch_srq(std::make_shared<SrqWatch>(host, source.srq, *source.model, source.depth,
                                                  twists.short_receives, events, journal,
                                                  prng.next()));
  }
  return source;
}

void Connection::create_queues(End& end) {
  const nic::QpCaps& caps = terms_.caps;
  const CommonReceives& common = s_.commons[end.host->index()];
  const bool xrc = end.type == QpType::kXrcRecv && !common.xrc.empty();
  const bool joins = terms_.common_receives && common.basic.srq;
  // Just large enough: the model never has more requests outstanding. For a shared queue it does
  // not know how many receives were lost with a QP.
  constexpr std::uint32_t kMayBeLost = 32;
  std::uint32_t receives = joins ? common.basic.depth : caps.max_recv_wr;
  if (joins || terms_.shared_receives) receives += kMayBeLost;
  end.send_cq = end.host->create_cq(caps.max_send_wr);
  end.recv_cq = end.host->create_cq(receives);
  if (joins) end.sources = {common.basic};
  if (xrc) {
    end.xrcd = common.xrcd;
    end.recv_cq = common.xrc_cq;
    end.sources = common.xrc;
  }
  const bool shares = end.type != QpType::kXrcSend && terms_.shared_receives;
  if (end.sources.empty() && shares) create_srq(end);
  for (const ReceiveSource& source : end.sources) source.model->add_user();
}

void Connection::create_srq(End& end) {
  const bool xrc = end.type == QpType::kXrcRecv;
  if (xrc) end.xrcd = *end.host->nic().alloc_xrcd();
  end.sources = {make_source(s_, *end.host, terms_,
                             {.pd = end.host->pd(),
                              .type = xrc ? nic::SrqType::kXrc : nic::SrqType::kBasic,
                              .xrcd = end.xrcd,
                              .cq = xrc ? end.recv_cq : nic::CqHandle{}},
                             prng_)};
}

void Connection::create_qp(End& end) {
  const bool srq = end.has_srq() && end.type != QpType::kXrcRecv;
  const auto qp =
      end.host->nic().create_qp({.type = end.type,
                                 .pd = end.host->pd(),
                                 .send_cq = end.send_cq,
                                 .recv_cq = end.recv_cq,
                                 .srq = srq ? end.sources.front().srq : nic::SrqHandle{},
                                 .xrcd = end.xrcd,
                                 .caps = terms_.caps,
                                 .signal_all = terms_.signal_all});
  if (!qp) {
    s_.journal.violation(s_.events.now(), std::string{"create_qp refused: "} + qp.error().reason);
    finished_ = true;
    return;
  }
  end.qp = *qp;
  end.host->watch(end.qp);
  s_.registry.qp_created(*end.host, end.qp);
}

// Completions may be lost with it, and later work of this QP must not continue as if nothing were
// missing.
void Connection::neglect_one_cq() {
  End& end = ends_[prng_.below(2)];
  if (end.type == QpType::kXrcRecv) return;
  const bool may_receive = end.type != QpType::kXrcSend && !end.has_srq();
  const bool receives = may_receive && prng_.chance(500);
  const std::uint32_t enough = receives ? terms_.caps.max_recv_wr : terms_.caps.max_send_wr;
  const auto depth = static_cast<std::uint32_t>(prng_.between(1, std::max(1U, enough - 1)));
  const Time until = s_.events.now() + microseconds{prng_.between(20, 2'000)};
  (receives ? end.recv_cq : end.send_cq) = end.host->create_neglected_cq(depth, until);
  end.neglected = true;
  s_.registry.on_overrun(*end.host, receives ? end.recv_cq : end.send_cq,
                         [this, &end] { overran(end); });
}

void Connection::overran(End& end) {
  end.overrun = true;
  if (end.host->nic().query_qp(end.qp)->state != QpState::kErr) {
    s_.journal.violation(s_.events.now(), "a qp goes on that has lost a completion");
  }
  s_.registry.may_be_fatal(*end.host, end.qp);
  for (End& each : ends_) each.life->doom();
  end.life->overrun();
  broken_ = true;
}

// An overrun is permanent.
void Connection::replace_cqs(End& end) {
  end.in_service = false;
  destroy(end);
  for (nic::CqHandle* cq : {&end.send_cq, &end.recv_cq}) {
    if (!end.host->is_neglected(*cq)) continue;
    end.host->destroy_cq(*cq);
    *cq = end.host->create_cq(std::max(terms_.caps.max_send_wr, terms_.caps.max_recv_wr));
  }
  end.overrun = end.neglected = false;
}

}  // namespace nerve::dst
