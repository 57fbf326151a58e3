// Which routers answer every probe at once. Most limit their ICMP messages, Linux by default to six
// and then one a second for each host; one that has answered a dozen in two seconds does not.
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
  static constexpr std::size_t kMostRouters = 1024;

  // `at_once`: to the first probe.
  void answered(const wire::Gid& router, bool at_once, Moment now) {
    auto known = std::ranges::find(routers_, router, &Router::address);
    if (known == routers_.end()) {
      if (routers_.size() >= kMostRouters) return;
      known = routers_.insert(routers_.end(), {.address = router, .since = now, .asked = {}});
    }
    if (now - known->since > kWindow || !at_once) {
      known->since = now;
      known->answers = 0;
    }
    if (at_once) ++known->answers;
    known->always = at_once && (known->always || known->answers >= kProof);
  }

  // Whether to check a path that ends there now: where answers may be limited, not more often than
  // the router can answer.
  [[nodiscard]] bool take_turn(const wire::Gid& router, Moment now) {
    const auto known = std::ranges::find(routers_, router, &Router::address);
    if (known == routers_.end() || known->always) return true;
    if (now - known->asked < kBetweenTurns) return false;
    known->asked = now;
    return true;
  }
  [[nodiscard]] bool may_be_limited(const wire::Gid& router) const {
    const auto known = std::ranges::find(routers_, router, &Router::address);
    return known == routers_.end() || !known->always;
  }

 private:
  struct Router {
    wire::Gid address{};
    Moment since{};
    Moment asked{};
    unsigned answers{};
    bool always{};
  };
  std::vector<Router> routers_;
};

}  // namespace nerve::cli
