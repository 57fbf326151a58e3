// A fault tap: loses, repeats, reorders, damages, delays and marks what passes, by a seed.
//
// Whether a rule strikes a packet depends on the seed, the rule, the QP it is addressed to (by the
// order in which QPs first appear here) and which packet of that QP's it is, of those the rule is
// about. Neither time nor what other QPs do plays a part, so a program that sends the same packets
// meets the same faults.
//
// What is held back is kept as bytes and sent when its time comes: after a delay, or, for a
// reordered packet and a duplicate, behind a few packets of the same QP; when none follow, after a
// millisecond. The driver calls expire() at next_deadline(). What is still held when the tap ends
// is lost, as on a wire that was cut.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "link/link.h"
#include "link/tap/fault_spec.h"

namespace nerve::link {

struct FaultCounters {
  std::uint64_t seen{};
  std::uint64_t lost{};  // by chance or as the nth
  std::uint64_t duplicated{};
  std::uint64_t reordered{};
  std::uint64_t corrupted{};
  std::uint64_t delayed{};
  std::uint64_t marked{};
  std::uint64_t overflowed{};  // dropped because too much was held back already
  friend bool operator==(const FaultCounters&, const FaultCounters&) = default;
};

class FaultTap final : public Egress {
 public:
  static constexpr std::size_t kMaxHeldBytes = std::size_t{64} << 20;
  // QPs told apart. Those that come after share the last place, so that a program that makes QPs
  // without end does not fill the memory.
  static constexpr std::size_t kMaxQps = std::size_t{1} << 18;
  static constexpr Duration kPatience{std::chrono::milliseconds{1}};

  FaultTap(Egress& next, FaultSpec spec) : next_{next}, spec_{std::move(spec)} {}

  void send(std::span<const wire::Frame> frames, Time now) override;
  // Bytes were judged when they were frames.
  void send_bytes(const wire::Flow& flow, Bytes udp_payload, Time now) override;

  [[nodiscard]] std::optional<Time> next_deadline() const;
  void expire(Time now);

  [[nodiscard]] const FaultCounters& counters() const { return counters_; }
  [[nodiscard]] std::size_t held_bytes() const { return held_bytes_; }

 private:
  // What is to befall one packet: all rules together.
  struct Verdict {
    bool lost{};
    bool marked{};
    bool reordered{};
    std::uint64_t corrupt{};                // decides the bit; zero for none
    std::uint32_t behind{};                 // packets that a reordered one lets pass
    std::vector<std::uint32_t> duplicates;  // for each, the packets it lets pass
    Duration delay{};
    [[nodiscard]] bool leaves_now() const {
      return !reordered && corrupt == 0 && duplicates.empty() && delay == Duration{};
    }
  };
  using Due = std::pair<Time, std::uint64_t>;  // and a ticket: equal times in order of arrival
  struct Held {
    wire::Flow flow{};
    std::vector<std::byte> bytes;
    std::size_t qp{};
  };
  struct Waiting {
    std::uint32_t left{};  // packets to let pass
    Due due{};
  };
  struct QpState {
    std::vector<std::uint64_t> met;  // for each rule, packets it was about
    std::vector<Waiting> waiting;
  };
  struct QpKey {
    wire::Gid source{};
    wire::Gid destination{};
    Qpn qpn{};
    friend bool operator==(const QpKey&, const QpKey&) = default;
  };
  struct QpHash {
    std::size_t operator()(const QpKey& key) const;
  };

  [[nodiscard]] std::size_t qp_of(const wire::Frame& frame);
  [[nodiscard]] Verdict judge(const wire::Frame& frame, std::size_t qp);
  void apply_rule(std::size_t rule, std::size_t qp, std::uint64_t n, Verdict& verdict);
  void strike(const wire::Frame& frame, std::size_t qp, const Verdict& verdict, Time now);
  void leave(const Held& held, const Verdict& verdict, Time now);
  void duplicate(const Held& held, std::uint32_t behind, const Verdict& verdict, Time now);
  bool hold(const Held& held, Time until, std::uint32_t behind);
  void let_pass(std::size_t qp, std::size_t older, Time now);
  void release(Due due, Time now);
  void pass(const wire::Frame& frame, bool follows);
  void flush_passing(Time now);

  Egress& next_;
  FaultSpec spec_;
  FaultCounters counters_;
  std::unordered_map<QpKey, std::size_t, QpHash> ordinals_;
  std::vector<QpState> qps_;  // by ordinal
  std::map<Due, Held> held_;
  std::size_t held_bytes_{};
  std::uint64_t next_ticket_{};
  std::vector<wire::Frame> passing_;  // of the burst at hand: to be sent together
};

}  // namespace nerve::link
