// One simulated host: an engine, its memory, and the loop of its driver.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "nic/nic.h"
#include "tests/dst/cq_watch.h"
#include "tests/dst/event_queue.h"
#include "tests/dst/journal.h"
#include "tests/dst/late_store.h"
#include "tests/dst/memory_model.h"
#include "tests/dst/network.h"

namespace nerve::dst {

class Host {
 public:
  // Returns whether the completion is known to be a solicited one.
  using OnCompletion = std::function<bool(Host&, nic::CqHandle, const nic::Completion&)>;
  using OnEvent = std::function<void(Host&, const nic::Event&)>;

  // The behaviour of this host's driver.
  enum class Listening : std::uint8_t {
    kPolls,      // and never arms
    kWaits,      // polls a CQ after its event, and otherwise occasionally
    kSolicited,  // polls, and also arms for solicited completions
  };
  struct Habits {
    Listening listening{Listening::kPolls};
    bool one_cq{};                    // for all QPs, instead of two for each
    bool polls_seldom{};              // so that completions accumulate in the CQ
    bool tunes_cqs{};                 // resizes and moderates them while they are in use
    std::uint32_t burst{64};          // frames per transmit call
    std::uint32_t receive_burst{16};  // limit of frames per receive call
    Duration interrupt_delay{};       // maximum delay to coalesce received frames
  };

  // `sibling`: an engine of the same device, which must outlive this one; null: none. `late`: all
  // memory of the host is late; null: none is.
  Host(std::size_t index, const nic::NicConfig& config, const nic::NicHooks& hooks,
       nic::Nic* sibling, LateStore* late, const wire::Gid& gid, Habits habits, std::uint64_t seed,
       std::size_t zone_size, EventQueue& events, Network& network, Journal& journal);

  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] nic::Nic& nic() { return nic_; }
  [[nodiscard]] MemoryModel& memory() { return memory_; }
  // For registrations of the host's memory.
  [[nodiscard]] MemoryPort* port() const { return late_; }
  // As a driver does before memory or a QP goes away: waits for what is being written.
  void settle_memory() {
    if (late_ == nullptr) return;
    late_->settle();
    poll_memory();
  }
  [[nodiscard]] const wire::Gid& gid() const { return gid_; }
  [[nodiscard]] nic::PdHandle pd() const { return pd_; }
  [[nodiscard]] nic::PdHandle other_pd() const { return other_pd_; }  // used by no QP
  [[nodiscard]] nic::MrHandle region(MemoryModel::Zone zone) const { return regions_[zone]; }
  [[nodiscard]] nic::MrKeys keys(MemoryModel::Zone zone) const { return keys_[zone]; }

  void on_completion(OnCompletion handler) { on_completion_ = std::move(handler); }
  void on_event(OnEvent handler) { on_event_ = std::move(handler); }
  // Called when every CQ was polled and every event taken.
  void on_polled(std::function<void(Host&)> handler) { on_polled_ = std::move(handler); }
  // A CQ with room for `depth` completions in addition to those requested before.
  nic::CqHandle create_cq(std::uint32_t depth);
  // Checks this QP's send queue after every transmission from now on.
  void watch(nic::QpHandle qp) { watched_.push_back(qp); }
  // A CQ that may be too small, and that is not polled before `until`.
  nic::CqHandle create_neglected_cq(std::uint32_t depth, Time until);
  [[nodiscard]] bool is_neglected(nic::CqHandle cq) const {
    return std::ranges::any_of(queues_, [&](const Queue& q) { return q.cq == cq && q.depth > 0; });
  }
  // Polls the CQ from now on, if it is a neglected one.
  void attend_to(nic::CqHandle cq);
  void destroy_cq(nic::CqHandle cq);
  // Takes the port down or up.
  void set_port(bool active);

  // What a driver does after any call into the engine: sends, takes events, polls, and sets the
  // timer.
  void pump();
  // Empties every CQ, whatever the behaviour, and reports missing events.
  void poll_all();

 private:
  struct Queue {
    nic::CqHandle cq{};
    std::uint32_t needed{};
    CqWatch watch{};
    // A neglected one.
    std::uint32_t depth{};  // zero: an ordinary one, large enough and polled
    Time neglected_until{};
    bool overrun{};
    bool gone{};
  };

  void arrive(Parcel parcel);
  void interrupt();
  void transmit();
  void check_progress();
  void poll_memory();
  void take_events();
  void arm(Queue& queue);
  std::uint32_t poll(Queue& queue);  // returns the number of completions
  void poll_by_habit();
  void overran(const nic::Event& event);
  [[nodiscard]] bool neglected(const Queue& queue) const;
  void tune();
  void set_alarm();
  void violation(const std::string& what);

  std::size_t index_;
  wire::Gid gid_;
  Habits habits_;
  Prng prng_;
  EventQueue& events_;
  Network& network_;
  Journal& journal_;
  LateStore* late_;
  nic::Nic nic_;
  MemoryModel memory_;
  nic::TxBurst burst_;
  nic::PdHandle pd_{};
  nic::PdHandle other_pd_{};
  nic::MrHandle regions_[MemoryModel::kZones]{};
  nic::MrKeys keys_[MemoryModel::kZones]{};
  std::vector<Queue> queues_;
  std::vector<nic::QpHandle> watched_;
  std::optional<nic::EventKind> port_event_;  // the last one
  std::vector<Parcel> inbox_;
  bool interrupt_pending_{};
  bool poll_pending_{};
  bool memory_poll_pending_{};
  std::optional<Time> alarm_;
  OnCompletion on_completion_;
  OnEvent on_event_;
  std::function<void(Host&)> on_polled_;
};

}  // namespace nerve::dst
