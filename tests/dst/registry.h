// Maps completions and events to their models.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/dst/host.h"
#include "tests/dst/qp_model.h"
#include "tests/dst/receive_feeder.h"
#include "tests/dst/srq_watch.h"

namespace nerve::dst {

class Registry {
 public:
  Registry(EventQueue& events, Journal& journal) : events_{events}, journal_{journal} {}

  // Lives and queues are kept until the end, so that late completions of former lives are
  // recognised.
  QpModel& add_life(Host& host, nic::QpHandle handle, nic::QpType type,
                    std::vector<ReceiveModel*> receives, QpModel::Excuses excuses,
                    std::uint64_t seed) {
    const Qpn qpn = host.nic().query_qp(handle)->qpn;
    lives_.push_back(std::make_unique<QpModel>(static_cast<std::uint32_t>(lives_.size()), host,
                                               handle, qpn, type, std::move(receives), excuses,
                                               events_, journal_, seed));
    by_qpn_[{host.index(), qpn.value()}] = lives_.back().get();
    return *lives_.back();
  }
  ReceiveModel& add_receives(Host& host, bool shared) {
    receives_.push_back(std::make_unique<ReceiveModel>(static_cast<std::uint32_t>(receives_.size()),
                                                       host.memory(), shared));
    feeders_.emplace_back();
    return *receives_.back();
  }
  void set_feeder(ReceiveModel& receives, std::shared_ptr<ReceiveFeeder> feeder) {
    feeders_[receives.id()] = std::move(feeder);
  }

  void qp_created(Host& host, nic::QpHandle qp) { alive_.insert(key(host, qp)); }
  void qp_destroyed(Host& host, nic::QpHandle qp, Qpn qpn) {
    alive_.erase(key(host, qp));
    by_qpn_.erase({host.index(), qpn.value()});
  }

  // Returns whether the completion is known to be solicited.
  bool completed(Host& host, const nic::Completion& completion) {
    if ((completion.wr_id & ReceiveModel::kMark) == 0) {
      const std::size_t id = completion.wr_id >> 32U;
      if (id >= lives_.size()) return violation(host, "a send completion of nobody");
      lives_[id]->send_completed(completion);
      return false;
    }
    const auto life = by_qpn_.find({host.index(), completion.qpn.value()});
    if (life == by_qpn_.end()) return violation(host, "a receive completion of no living qp");
    const std::size_t id = (completion.wr_id & ~ReceiveModel::kMark) >> 32U;
    if (life->second->receives(id) == nullptr) {
      return violation(host, "a receive completed on the wrong qp");
    }
    const bool solicited = life->second->receive_completed(completion);
    if (feeders_[id]) feeders_[id]->feed();
    return solicited;
  }
  // Called when this CQ is overrun; no other CQ may be.
  void on_overrun(Host& host, nic::CqHandle cq, std::function<void()> tell) {
    overruns_[{host.index(), {cq.index, cq.generation}}] = std::move(tell);
  }
  // Only a QP that has lost a completion may become fatal.
  void may_be_fatal(Host& host, nic::QpHandle qp) { fatal_.insert(key(host, qp)); }
  void watch_srq(std::shared_ptr<SrqWatch> watch) {
    watch->start();
    srqs_.push_back(std::move(watch));
  }
  void polled(const Host& host) {
    for (const auto& srq : srqs_) {
      if (&srq->host() == &host) srq->check();
    }
  }
  void event(Host& host, const nic::Event& event) {
    if (event.kind == nic::EventKind::kCqError) {
      const auto found = overruns_.find({host.index(), {event.cq.index, event.cq.generation}});
      if (found != overruns_.end()) found->second();
    }
    if (event.kind == nic::EventKind::kQpFatal && !fatal_.contains(key(host, event.qp))) {
      violation(host, "a qp is fatal that has lost nothing");
    }
    if (event.kind == nic::EventKind::kSrqLimitReached) {
      const auto found = std::ranges::find_if(srqs_, [&](const auto& srq) {
        return &srq->host() == &host && srq->handle() == event.srq;
      });
      if (found == srqs_.end()) {
        violation(host, "an srq without a limit has reached it");
      } else {
        (*found)->reached();
      }
    }
    if (event.qp && !alive_.contains(key(host, event.qp))) {
      violation(host, "an event of a destroyed qp");
    }
  }

 private:
  using QpKey = std::pair<std::size_t, std::pair<std::uint32_t, std::uint32_t>>;
  static QpKey key(const Host& host, nic::QpHandle qp) {
    return {host.index(), {qp.index, qp.generation}};
  }
  bool violation(const Host& host, const std::string& what) {
    journal_.violation(events_.now(), "host " + std::to_string(host.index()) + ": " + what);
    return false;
  }

  EventQueue& events_;
  Journal& journal_;
  std::vector<std::unique_ptr<QpModel>> lives_;
  std::vector<std::unique_ptr<ReceiveModel>> receives_;
  std::vector<std::shared_ptr<ReceiveFeeder>> feeders_;
  std::map<std::pair<std::size_t, std::uint32_t>, QpModel*> by_qpn_;
  std::set<QpKey> alive_;
  std::map<QpKey, std::function<void()>> overruns_;  // by CQ
  std::set<QpKey> fatal_;
  std::vector<std::shared_ptr<SrqWatch>> srqs_;
};

}  // namespace nerve::dst
