#include "tests/dst/connection.h"

#include <algorithm>

#include "tests/qp_ladder.h"

namespace nerve::dst {

using nic::QpAttrs;
using nic::QpState;
using nic::QpType;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

std::vector<ReceiveModel*> models_of(const std::vector<ReceiveSource>& sources) {
  std::vector<ReceiveModel*> models;
  for (const ReceiveSource& source : sources) models.push_back(source.model);
  return models;
}

}  // namespace

Connection::Connection(Surroundings surroundings, Host& a, Host& b, const Terms& terms,
                       std::uint32_t requests, std::uint32_t lives, std::uint64_t seed)
    : s_{surroundings}, terms_{terms}, prng_{seed}, requests_left_{requests}, lives_left_{lives} {
  ends_[0].host = &a;
  ends_[1].host = &b;
  const bool xrc = terms_.type == QpType::kXrcSend;
  ends_[0].type = terms_.type;
  ends_[1].type = xrc ? QpType::kXrcRecv : terms_.type;
  for (End& end : ends_) create_queues(end);
  if (terms_.neglects_cq) neglect_one_cq();
}

void Connection::begin_life() {
  ++life_;
  --lives_left_;
  broken_ = false;
  const Faults& faults = s_.network.faults();
  if (s_.twists.other_mtus) terms_.mtu = draw_mtu(prng_);
  for (End& end : ends_) {
    if (!end.qp) create_qp(end);
    if (finished_) return;
    const bool private_receives = end.type != QpType::kXrcSend && !end.has_srq();
    if (private_receives) {
      end.sources = {{.model = &s_.registry.add_receives(*end.host, false)}};
    }
    end.life = &s_.registry.add_life(*end.host, end.qp, end.type, models_of(end.sources),
                                     {.network_is_bad = faults.any(),
                                      .retries_may_fail = may_give_up(),
                                      .network_repeats = faults.duplication + faults.reordering > 0,
                                      .endless_rnr = terms_.rnr_retry == 7},
                                     prng_.next());
    end.life->on_failure([this] { broken_ = true; });
    if (end.neglected) end.life->neglect();
    end.life->on_error([this, &end](nic::WcStatus status) { on_error(end, status); });
    if (private_receives) {
      ReceiveSource& own = end.sources.front();
      own.feeder = std::make_shared<ReceiveFeeder>(*end.host, end.qp, nic::SrqHandle{}, *own.model,
                                                   terms_, s_.events, s_.journal, prng_.next());
      s_.registry.set_feeder(*own.model, own.feeder);
    }
  }
  Psn first[2] = {draw_psn(prng_), draw_psn(prng_)};
  if (terms_.wraps) {
    for (Psn& psn : first) psn = Psn{0x100'0000U - static_cast<std::uint32_t>(prng_.between(1, 3))};
  }
  if (s_.twists.hasty_lives) {
    // The PSNs of all streams of the world continue from each other: packets of an earlier stream
    // have lower PSNs, and can only be duplicates or unexpected answers.
    const auto gap = [&] { return static_cast<std::uint32_t>(prng_.below(3)); };
    first[0] = s_.watch.furthest().value_or(first[0]) + gap();
    first[1] = first[0] + gap();
  }
  for (std::size_t i = 0; i < 2; ++i) {
    End& end = ends_[i];
    End& peer = ends_[1 - i];
    end.life->set_peer(*peer.life);
    connect(end, peer, first[i], first[1 - i]);
    s_.watch.connected(end.host->index(), end.life->qpn(), peer.host->index(), peer.life->qpn(),
                       first[i], bytes(terms_.mtu), terms_.rate_limit);
    end.maker.reset();
    if (end.type == QpType::kXrcRecv) continue;
    end.maker = std::make_unique<RequestMaker>(*end.life, *peer.life, peer.sources, s_.counter,
                                               terms_, s_.events, s_.journal, prng_.next());
  }
  if (terms_.type == QpType::kRc) {
    ends_[0].maker->set_peer(*ends_[1].maker);
    ends_[1].maker->set_peer(*ends_[0].maker);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (ends_[i].maker) tick(i);
  }
  if (prng_.chance(terms_.disturbance_per_mille)) {
    const std::uint32_t life = life_;
    s_.events.after(microseconds{prng_.between(1, 300)}, [this, life] {
      if (life == life_ && !broken_) disturb();
    });
  }
  if (terms_.regions_vanish && prng_.chance(800)) {
    s_.events.after(microseconds{prng_.between(1, 200)}, [this, life = life_] {
      if (life == life_) take_region_away(100);
    });
  }
  if (terms_.type == QpType::kRc && prng_.chance(150)) pause();
  patience_ = s_.events.age() + (may_hang() ? milliseconds{20} : milliseconds{20'000});
  watch_over();
}

// Without a timeout, the loss of the last packet is never detected.
bool Connection::may_hang() const { return terms_.timeout == 0 && s_.network.faults().any(); }

bool Connection::may_give_up() const {
  const Faults& faults = s_.network.faults();
  // With a few percent of loss, seven retries never fail by chance.
  const bool persistent = terms_.retry_count == 7 && faults.loss + faults.corruption <= 30 &&
                          faults.blackout_until == Time{} && !faults.outage;
  // A timeout shorter than the round trip fails on any network, and a clock jump expires every
  // timer once.
  const bool hurried = terms_.timeout > 0 && terms_.timeout < 8;
  return (faults.any() && !persistent) || hurried || terms_.retry_count < s_.twists.clock_jumps;
}

// A QP must not give up before it has used the agreed number of retries.
void Connection::on_error(const End& end, nic::WcStatus status) {
  // A late duplicate of an RNR NAK counts like another one.
  const Faults& faults = s_.network.faults();
  const bool repeats = faults.duplication + faults.reordering > 0;
  if (status == nic::WcStatus::kRnrRetryExceeded && !repeats) {
    s_.watch.gave_up_waiting(end.host->index(), end.life->qpn(), terms_.rnr_retry);
  }
  // While the port is down a retry sends nothing.
  if (status == nic::WcStatus::kRetryExceeded && !faults.outage) {
    s_.watch.gave_up(end.host->index(), end.life->qpn(), terms_.retry_count);
  }
}

// UC accepts a packet that opens a message with any PSN, so it has to wait.
bool Connection::hasty() const { return s_.twists.hasty_lives && terms_.type != QpType::kUc; }

void Connection::modify(End& end, QpState to, QpAttrs given, const nic::QpAttributes& attributes) {
  expect_done(end.host->nic().modify_qp(end.qp, to, given, attributes));
}

void Connection::expect_done(const nic::Status& status) {
  if (status) return;
  s_.journal.violation(s_.events.now(), std::string{"modify_qp refused: "} + status.error().reason);
  finished_ = true;
}

void Connection::connect(End& end, const End& peer, Psn own, Psn theirs) {
  using nic::Access;
  nic::QpAttributes a;
  a.access = Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead |
             Access::kRemoteAtomic | Access::kFlushGlobal | Access::kFlushPersistent;
  a.path.destination = peer.host->gid();
  a.path_mtu = terms_.mtu;
  a.dest_qp = peer.life->qpn();
  a.rq_psn = theirs;
  a.sq_psn = own;
  a.max_dest_read = a.max_read = terms_.read_depth;
  a.min_rnr_timer = terms_.rnr_timer;
  a.timeout = terms_.timeout;
  a.retry_count = terms_.retry_count;
  a.rnr_retry = terms_.rnr_retry;
  a.rate_limit = terms_.rate_limit;
  test::ExtraAttrs extra;
  if (end.type == QpType::kRc && a.rate_limit > Rate{}) {
    (prng_.chance(500) ? extra.rtr : extra.rts) |= QpAttrs::kRateLimit;
  }
  expect_done(test::bring_qp_to(end.host->nic(), end.qp, QpState::kRts, a, extra));
  end.in_service = true;
}

void Connection::tick(std::size_t side) {
  End& end = ends_[side];
  for (std::uint64_t n = prng_.between(1, 4); n > 0 && requests_left_ > 0; --n) {
    if (broken_ || !end.in_service || !end.maker->has_room()) break;
    --requests_left_;
    end.maker->post_one(requests_left_ == 0);
  }
  end.host->pump();
  if (broken_ || requests_left_ == 0 || finished_) return;
  const std::uint32_t life = life_;
  s_.events.after(microseconds{prng_.between(0, 40)}, [this, side, life] {
    if (life == life_ && ends_[side].in_service) tick(side);
  });
}

// Checks periodically whether this life is over.
void Connection::watch_over() {
  if (finished_) return;
  const bool idle = ends_[0].life->settled() && ends_[1].life->settled();
  const bool late = s_.events.age() > patience_;
  if ((idle && (requests_left_ == 0 || broken_)) || late) {
    if (late && !broken_ && !may_hang()) {
      s_.journal.violation(s_.events.now(), "no progress: " + describe());
    }
    return end_life();
  }
  if (broken_ && patience_ > s_.events.age() + milliseconds{3'000}) {
    // Half of the broken connections end by their own timers, half are cleaned up.
    patience_ = s_.events.age() +
                (prng_.chance(500) ? Duration{milliseconds{3'000}} : Duration{microseconds{300}});
  }
  s_.events.after(microseconds{200}, [this, life = life_] {
    if (life == life_) watch_over();
  });
}

// Stops one send queue for a while: sent requests complete, posted ones wait.
void Connection::pause() {
  const std::size_t side = prng_.below(2);
  const std::uint32_t life = life_;
  const auto change = [this, side, life](QpState from, QpState to) {
    End& end = ends_[side];
    if (life != life_ || !end.in_service) return;
    // An error may have come first.
    if (end.host->nic().query_qp(end.qp)->state == from) modify(end, to, QpAttrs::kNone, {});
    end.host->pump();
  };
  s_.events.after(microseconds{prng_.between(0, 100)},
                  [change] { change(QpState::kRts, QpState::kSqd); });
  s_.events.after(microseconds{prng_.between(101, 3'000)},
                  [change] { change(QpState::kSqd, QpState::kRts); });
}

// Ends the QP with requests in flight.
void Connection::disturb() {
  End& end = ends_[prng_.below(2)];
  for (End& each : ends_) {
    see_completions(each);
    each.life->doom();
  }
  broken_ = true;
  const std::uint64_t how = prng_.below(4);
  const bool moved = how == 3 && end.maker && end.maker->reregister_region(/*in_use=*/true);
  switch (moved ? 3 : how % 3) {
    case 0:
      modify(end, QpState::kErr, QpAttrs::kNone, {});
      // Work posted now is flushed immediately.
      if (end.maker && end.maker->has_room() && prng_.chance(500)) end.maker->post_one(true);
      break;
    case 1:
      reset(end);
      break;
    case 2:
      destroy(end);
      break;
    default:
      break;  // the requests that use the region fail
  }
  end.host->pump();
  if (hasty() && prng_.chance(700)) end_life();
}

// Waits until a request is using a region.
void Connection::take_region_away(std::uint32_t attempts) {
  End& end = ends_[prng_.below(2)];
  for (End& each : ends_) each.host->poll_all();
  if (broken_ || attempts == 0) return;
  if (!end.maker || !end.in_service || !end.maker->deregister_region_in_use()) {
    s_.events.after(Duration{microseconds{1}} * static_cast<std::int64_t>(prng_.between(0, 5)),
                    [this, attempts, life = life_] {
                      if (life == life_) take_region_away(attempts - 1);
                    });
    return;
  }
  for (End& each : ends_) each.life->doom();
  broken_ = true;
  end.host->pump();
}

// Polls completions before they are lost with their QP; in a crowd not always. Those of an SRQ are
// always polled: the number of receives used must stay known, and completions of an XRC SRQ are not
// lost.
void Connection::see_completions(End& end) {
  end.host->settle_memory();
  if (s_.twists.crowded_cq && !end.has_srq() && prng_.chance(700)) {
    end.life->neglect();
  } else {
    end.host->poll_all();
  }
}

void Connection::stop_feeding(End& end) {
  if (end.owns_receives()) end.sources.front().feeder->stop();
}

// The receive that a QP held, if any, has made room for another.
void Connection::feed_srqs(End& end) {
  if (!end.has_srq()) return;
  for (const ReceiveSource& source : end.sources) source.feeder->feed();
}

void Connection::reset(End& end) {
  if (!end.in_service) return;
  see_completions(end);
  end.life->voided();
  end.in_service = false;
  stop_feeding(end);
  modify(end, QpState::kReset, QpAttrs::kNone, {});
  feed_srqs(end);
}

void Connection::destroy(End& end) {
  if (!end.qp) return;
  see_completions(end);
  if (end.in_service) end.life->voided();
  end.in_service = false;
  stop_feeding(end);
  const auto status = end.host->nic().destroy_qp(end.qp);
  if (!status) {
    s_.journal.violation(s_.events.now(),
                         std::string{"destroy_qp refused: "} + status.error().reason);
  }
  s_.registry.qp_destroyed(*end.host, end.qp, end.life->qpn());
  end.qp = {};
  feed_srqs(end);
}

// Every outstanding request and receive must be flushed.
void Connection::end_life() {
  for (End& end : ends_) {
    if (!end.in_service) continue;
    for (const nic::CqHandle cq : {end.send_cq, end.recv_cq}) end.host->attend_to(cq);
    end.host->settle_memory();
    end.host->pump();
    end.host->poll_all();
    end.life->check_flush_reason();
    end.life->doom();
    stop_feeding(end);
    modify(end, QpState::kErr, QpAttrs::kNone, {});
    end.host->pump();
    end.host->poll_all();
    end.life->settle();
  }
  for (End& end : ends_) {
    if (end.maker) end.maker->drop_windows();
  }
  ++life_;
  // Frames of this life must be gone before the QPs send again, or have distinguishable PSNs.
  const Duration rest = hasty() ? Duration{microseconds{prng_.between(0, 4)}}  //
                                : s_.network.longest_delay();
  patience_ = s_.events.age() + rest;
  s_.events.after(rest, [this] { after_life(); });
}

void Connection::after_life() {
  // A clock jump does not move the frames.
  if (s_.events.age() < patience_) {
    s_.events.after(patience_ - s_.events.age(), [this] { after_life(); });
    return;
  }
  const bool again = lives_left_ > 0 && requests_left_ > 0 && !finished_;
  for (End& end : ends_) {
    if (end.overrun) {
      replace_cqs(end);
    } else if (again && prng_.chance(600)) {
      if (end.qp) modify(end, QpState::kReset, QpAttrs::kNone, {});
      end.in_service = false;
    } else {
      end.in_service = false;
      destroy(end);
    }
    end.host->pump();
  }
  if (again) return begin_life();
  finished_ = true;
}

std::string Connection::describe() const {
  std::string text = "life " + std::to_string(life_) + ", " + std::to_string(requests_left_) +
                     " requests not yet posted";
  for (const End& end : ends_) {
    if (end.life != nullptr) {
      text += "; host " + std::to_string(end.host->index()) + " " + end.life->describe();
    }
  }
  return text;
}

}  // namespace nerve::dst
