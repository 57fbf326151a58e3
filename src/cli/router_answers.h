// Which routers answer every probe at once. Most limit their ICMP messages, Linux by default to six
// and then one a second for each host. One that has answered a dozen in two seconds does not, and
// routers of a network are alike: the others are taken not to either, until
// they answer late.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "wire/gid.h"

namespace nerve::cli {

class RouterAnswers {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  static constexpr unsigned kProof = 12;
  static constexpr std::chrono::seconds kWindow{2};
  static constexpr std::chrono::seconds kBetweenTurns{3};
  static constexpr std::chrono::seconds kLate{60};  // for so long it counts
  static constexpr std::size_t kMostRouters = 1024;

  // `at_once`: to the first probe.
  void answered(const wire::Gid& address, bool at_once, Moment now) {
    Router* const router = find_or_add(address, now);
    if (router == nullptr) return;
    if (router->late && now - router->late_at > kLate) router->late = false;
    if (now - router->since > kWindow || !at_once) {
      router->since = now;
      router->answers = 0;
    }
    if (!at_once) {
      router->late = true;
      router->late_at = now;
    } else if (++router->answers >= kProof) {
      router->late = false;
      any_proof_ = true;
    }
  }
  // It was silent for longer than it is asked, and is there.
  void was_late(const wire::Gid& address, Moment now) { answered(address, false, now); }

  [[nodiscard]] bool may_be_limited(const wire::Gid& address) const {
    const auto router = std::ranges::find(routers_, address, &Router::address);
    return !any_proof_ || router == routers_.end() || router->late;
  }
  // Whether to check a path that ends there now: where answers may be limited, not more often than
  // the router can answer.
  [[nodiscard]] bool take_turn(const wire::Gid& address, Moment now) {
    if (!may_be_limited(address)) return true;
    Router* const router = find_or_add(address, now);
    if (router == nullptr) return true;
    if (now - router->asked < kBetweenTurns) return false;
    router->asked = now;
    return true;
  }

 private:
  struct Router {
    wire::Gid address{};
    Moment since{};
    Moment asked{};
    Moment late_at{};
    unsigned answers{};
    bool late{};
  };
  [[nodiscard]] Router* find_or_add(const wire::Gid& address, Moment now) {
    const auto known = std::ranges::find(routers_, address, &Router::address);
    if (known != routers_.end()) return &*known;
    if (routers_.size() >= kMostRouters) return nullptr;
    return &routers_.emplace_back(Router{
        .address = address, .since = now, .asked = {}, .late_at = {}, .answers = 0, .late = false});
  }

  std::vector<Router> routers_;
  bool any_proof_{};
};

}  // namespace nerve::cli
