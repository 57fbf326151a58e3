// A fault tap: loses, duplicates, reorders, corrupts, delays and marks packets, driven by a seed.
//
// Whether a rule strikes a packet depends only on the seed, the rule, the QP it is addressed to
// (numbered in order of first appearance) and its number among the packets of that QP that the rule
// selects. Time and other QPs have no influence, so a program that sends the same packets gets the
// same faults.
//
// Held packets are kept as bytes and sent later: after a delay, or, for reordered packets and
// duplicates, after a few packets of the same QP; if none follow, after a millisecond. The driver
// calls expire() at next_deadline(). Packets still held when the tap is destroyed are lost.
#pragma once

#include <cstdint>
#include <functional>
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
  std::uint64_t lost{};  // by probability or by number
  std::uint64_t duplicated{};
  std::uint64_t reordered{};
  std::uint64_t corrupted{};
  std::uint64_t delayed{};
  std::uint64_t marked{};
  std::uint64_t overflowed{};  // dropped because too many bytes were held
  friend bool operator==(const FaultCounters&, const FaultCounters&) = default;
};

class FaultTap final : public Egress {
 public:
  static constexpr std::size_t kMaxHeldBytes = std::size_t{64} << 20;
  // The number of QPs that are distinguished. Later ones share the last entry, so that a program
  // that keeps creating QPs does not exhaust memory.
  static constexpr std::size_t kMaxQps = std::size_t{1} << 18;
  static constexpr Duration kPatience{std::chrono::milliseconds{1}};

  // Called for a packet that is lost, or whose bytes are changed so that the receiver drops it.
  using OnLoss = std::function<void(const wire::Frame& frame, bool corrupted)>;

  FaultTap(Egress& next, FaultSpec spec, OnLoss on_loss = {})
      : next_{next}, spec_{std::move(spec)}, on_loss_{std::move(on_loss)} {}

  void send(std::span<const wire::Frame> frames, Time now) override;
  // Bytes are passed on: they were judged as frames.
  void send_bytes(const wire::Flow& flow, Bytes udp_payload, Time now) override;

  [[nodiscard]] std::optional<Time> next_deadline() const;
  void expire(Time now);

  [[nodiscard]] const FaultCounters& counters() const { return counters_; }
  [[nodiscard]] std::size_t held_bytes() const { return held_bytes_; }

 private:
  // The faults of one packet, from all rules.
  struct Verdict {
    bool lost{};
    bool marked{};
    bool reordered{};
    std::uint64_t corrupt{};                // selects the bit; zero: none
    std::uint32_t behind{};                 // packets that overtake a reordered one
    std::vector<std::uint32_t> duplicates;  // for each, the packets that overtake it
    Duration delay{};
    [[nodiscard]] bool leaves_now() const {
      return !reordered && corrupt == 0 && duplicates.empty() && delay == Duration{};
    }
  };
  using Due = std::pair<Time, std::uint64_t>;  // with a ticket: equal times in order of arrival
  struct Held {
    wire::Flow flow{};
    std::vector<std::byte> bytes;
    std::size_t qp{};
  };
  struct Waiting {
    std::uint32_t left{};  // packets that still have to overtake it
    Due due{};
  };
  struct QpState {
    std::vector<std::uint64_t> met;  // for each rule, the packets it has selected
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
  OnLoss on_loss_;
  FaultCounters counters_;
  std::unordered_map<QpKey, std::size_t, QpHash> ordinals_;
  std::vector<QpState> qps_;  // by ordinal
  std::map<Due, Held> held_;
  std::size_t held_bytes_{};
  std::uint64_t next_ticket_{};
  std::vector<wire::Frame> passing_;  // of the current burst, to be sent together
};

}  // namespace nerve::link
