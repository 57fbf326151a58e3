// Two QPs that exchange messages, fail, are reset and connect again.
//
// A connection has several lives. In each, both ends post random work; then it ends by itself, by
// an error, or because a QP is moved to ERR or RESET or destroyed with requests in flight. At the
// end of a life everything posted must be accounted for.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/dst/registry.h"
#include "tests/dst/request_maker.h"
#include "tests/dst/terms.h"
#include "tests/dst/twists.h"
#include "tests/dst/wire_watch.h"

namespace nerve::dst {

// The receive queues that connections of a host share: an SRQ, and the SRQs of an XRC domain, each
// of which any XRC QP of the host may be told to use.
struct CommonReceives {
  ReceiveSource basic{};
  nic::XrcdHandle xrcd{};
  nic::CqHandle xrc_cq{};
  std::vector<ReceiveSource> xrc{};
};

class Connection {
 public:
  struct Surroundings {
    EventQueue& events;
    Journal& journal;
    Network& network;
    Registry& registry;
    WireWatch& watch;
    SharedCounter* counter;
    const std::vector<CommonReceives>& commons;  // by host
    const Twists& twists;
  };

  Connection(Surroundings surroundings, Host& a, Host& b, const Terms& terms,
             std::uint32_t requests, std::uint32_t lives, std::uint64_t seed);

  void start() { begin_life(); }
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] std::string describe() const;

 private:
  struct End {
    Host* host{};
    nic::CqHandle send_cq{};
    nic::CqHandle recv_cq{};
    nic::XrcdHandle xrcd{};
    std::vector<ReceiveSource> sources{};  // one, but several SRQs for XRC
    nic::QpHandle qp{};
    nic::QpType type{};
    QpModel* life{};
    std::unique_ptr<RequestMaker> maker{};
    bool neglected{};  // one of its CQs is too small and not polled for a while
    bool overrun{};
    bool in_service{};  // connected, and not yet reset or destroyed

    [[nodiscard]] bool has_srq() const { return !sources.empty() && sources.front().srq; }
    [[nodiscard]] bool owns_receives() const { return !sources.empty() && !sources.front().srq; }
  };

  void create_queues(End& end);
  void create_srq(End& end);
  void neglect_one_cq();
  void overran(End& end);
  void replace_cqs(End& end);
  void create_qp(End& end);
  void begin_life();
  [[nodiscard]] bool may_hang() const;
  [[nodiscard]] bool may_give_up() const;
  void on_error(const End& end, nic::WcStatus status);
  void connect(End& end, const End& peer, Psn own, Psn theirs);
  // A call of modify_qp that fails is a violation and ends the connection.
  void expect_done(const nic::Status& status);
  void modify(End& end, nic::QpState to, nic::QpAttrs given, const nic::QpAttributes& attributes);
  void tick(std::size_t side);
  void watch_over();
  [[nodiscard]] bool hasty() const;
  void pause();
  void disturb();
  void take_region_away(std::uint32_t attempts);
  void see_completions(End& end);
  void stop_feeding(End& end);
  void feed_srqs(End& end);
  void reset(End& end);
  void destroy(End& end);
  void end_life();
  void after_life();

  Surroundings s_;
  Terms terms_;
  Prng prng_;
  std::array<End, 2> ends_;
  std::uint32_t requests_left_;
  std::uint32_t lives_left_;
  std::uint32_t life_{};
  Duration patience_{};  // the age of the world at which a broken connection is torn down
  bool broken_{};
  bool finished_{};
};

// An SRQ of this size and kind, with its model, its feeder and, where limits are tested, its watch.
[[nodiscard]] ReceiveSource make_source(const Connection::Surroundings& surroundings, Host& host,
                                        const Terms& terms, nic::SrqInit init, Prng& prng);

}  // namespace nerve::dst
