// Goal: a CQ behaves as described, whatever the sequence of calls. Method: random calls by seed on
// the manager and on a model that keeps completions in a deque and time in a variable; contents,
// results, events and deadlines must agree after every call.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "base/prng.h"
#include "nic/cq_manager/cq_manager.h"
#include "tests/seeds.h"

namespace nerve::nic {
namespace {

struct Model {
  std::size_t depth{};
  bool ignore_overrun{};
  std::deque<Completion> waiting{};
  bool broken{};
  bool wants_any{}, wants_solicited{};
  std::size_t count{};
  Duration period{};
  std::size_t held{};
  std::optional<Time> held_until{};
  std::vector<EventKind> events{};

  void fire() {
    events.push_back(EventKind::kCompletion);
    wants_any = wants_solicited = false;
    held = 0;
    held_until.reset();
  }
  bool push(const Completion& c, bool solicited, Time now) {
    if (broken) return false;
    if (waiting.size() == depth) {
      if (!ignore_overrun) {
        broken = true;
        events.push_back(EventKind::kCqError);
        if (held > 0) fire();
        return false;
      }
      waiting.pop_front();
    }
    waiting.push_back(c);
    if (wants_any || (wants_solicited && (solicited || c.status != WcStatus::kSuccess))) {
      ++held;
      if (held >= count) {
        fire();
      } else if (!held_until && period.count() > 0) {
        held_until = now + period;
      }
    }
    return true;
  }
  void expire(Time now) {
    if (held_until && *held_until <= now) fire();
  }
};

class Trial {
 public:
  explicit Trial(std::uint64_t seed) : prng_{seed} {
    for (int i = 0; i < 3; ++i) {
      const CqInit init{.depth = static_cast<std::uint32_t>(prng_.between(1, 20)),
                        .cookie = prng_.next(),
                        .ignore_overrun = prng_.chance(300)};
      const auto handle = cqs_.create(init);
      CHECK(handle.has_value());
      cqs_.find(*handle)->home = &cqs_;  // as its first QP would
      handles_.push_back(*handle);
      models_.push_back({.depth = init.depth, .ignore_overrun = init.ignore_overrun});
    }
  }

  void step() {
    now_ += Duration{static_cast<std::int64_t>(prng_.below(1000))};
    which_ = prng_.below(handles_.size());
    switch (prng_.below(8)) {
      case 0:
        return poll();
      case 1:
        return arm();
      case 2:
        return prng_.chance(200) ? moderate() : push();
      case 3:
        return prng_.chance(200) ? resize() : push();
      case 4:
        return prng_.chance(200) ? forget() : push();
      case 5:
        return expire();
      default:
        return push();
    }
  }
  void compare() {
    std::optional<Time> earliest;
    for (const Model& m : models_) {
      if (m.held_until && (!earliest || *m.held_until < *earliest)) earliest = m.held_until;
    }
    ASSERT_EQ(cqs_.next_deadline(), earliest);
    while (const auto event = events_.pop()) {
      auto& expected = models_[event->cq.index].events;
      ASSERT_FALSE(expected.empty());
      ASSERT_EQ(event->kind, expected.front());
      expected.erase(expected.begin());
    }
    for (std::size_t i = 0; i < models_.size(); ++i) {
      ASSERT_TRUE(models_[i].events.empty());
      ASSERT_EQ(cqs_.find(handles_[i])->waiting(), models_[i].waiting.size());
    }
  }

 private:
  Model& model() { return models_[which_]; }
  Cq& cq() { return *cqs_.find(handles_[which_]); }

  void push() {
    const Completion c{.wr_id = next_id_++,
                       .status = prng_.chance(50) ? WcStatus::kFlushed : WcStatus::kSuccess,
                       .qpn = Qpn{static_cast<std::uint32_t>(prng_.between(0x11, 0x13))}};
    const bool solicited = prng_.chance(200);
    ASSERT_EQ(cqs_.push(cq(), c, solicited, now_), model().push(c, solicited, now_));
  }
  void poll() {
    std::vector<Completion> out(prng_.below(12));
    const auto count = cqs_.poll(handles_[which_], out);
    ASSERT_TRUE(count);
    ASSERT_EQ(*count, std::min(out.size(), model().waiting.size()));
    for (std::size_t i = 0; i < *count; ++i) {
      ASSERT_EQ(out[i], model().waiting.front());
      model().waiting.pop_front();
    }
  }
  void arm() {
    const bool solicited = prng_.chance(500);
    ASSERT_TRUE(cqs_.arm(handles_[which_], solicited));
    (solicited ? model().wants_solicited : model().wants_any) = true;
  }
  void moderate() {
    model().count = prng_.below(6);
    model().period = Duration{static_cast<std::int64_t>(prng_.below(2) * prng_.below(5000))};
    ASSERT_TRUE(
        cqs_.moderate(handles_[which_], static_cast<std::uint16_t>(model().count), model().period));
    if (model().held > 0 && model().held >= model().count) model().fire();
  }
  void resize() {
    const auto depth = static_cast<std::uint32_t>(prng_.below(40));
    const bool fits = depth > 0 && depth <= kMaxDepth && depth >= model().waiting.size();
    ASSERT_EQ(cqs_.resize(handles_[which_], depth).has_value(), fits);
    if (fits) model().depth = depth;
  }
  void forget() {
    const Qpn qpn{static_cast<std::uint32_t>(prng_.between(0x11, 0x14))};
    cqs_.forget(cq(), qpn);
    std::erase_if(model().waiting, [&](const Completion& c) { return c.qpn == qpn; });
  }
  void expire() {
    cqs_.expire(now_);
    for (Model& m : models_) m.expire(now_);
  }

  static constexpr std::uint32_t kMaxDepth = 32;
  Prng prng_;
  EventQueue events_;
  Limits limits_{.max_cqe = kMaxDepth};
  SlotTable<Cq> table_{limits_.max_cq};
  CqManager cqs_{limits_, events_, table_};
  std::vector<CqHandle> handles_;
  std::vector<Model> models_;
  Time now_{Duration{-100'000}};  // runs across the wrap of time
  std::uint64_t next_id_{};
  std::size_t which_{};
};

}  // namespace

TEST(CqModel, AgreesWithTheManager) {
  test::for_each_seed(1000, [](std::uint64_t seed) {
    Trial trial{seed};
    for (int i = 0; i < 400; ++i) {
      trial.step();
      trial.compare();
      if (::testing::Test::HasFatalFailure()) return;
    }
  });
}

}  // namespace nerve::nic
