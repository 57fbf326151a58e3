// The sending half of a TCP connection: what to send next, loss detection and timeouts. Losses are
// detected by selective acknowledgements (RFC 6675, counting bytes instead of segments) or by a
// timer (RFC 6298). Recovery ends when everything outstanding at its start is acknowledged (RFC
// 6582).
#pragma once

#include <cstdint>
#include <optional>

#include "sim/host/tcp_ranges.h"
#include "sim/host/tcp_window.h"

namespace nerve::sim {

struct TcpPiece {
  std::uint64_t first{};
  std::uint32_t length{};
  bool again{};
};

class TcpSender {
 public:
  TcpSender(const TcpSpec& spec, std::uint32_t segment);
  // Continues as a new connection would start: with the first window and no measured round trip.
  // Everything written must be acknowledged.
  void restart(const TcpSpec& spec);

  void write(std::uint64_t bytes) { end_ += bytes; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] std::uint64_t unacked() const { return unacked_; }

  // Takes the next segment that may be sent, if any.
  std::optional<TcpPiece> next();
  [[nodiscard]] bool could_send() const { return choose().has_value(); }
  // A segment is on the cable: start the timer.
  void on_emitted(Time now);

  void on_ack(const TcpSegment& segment, Time now);

  // When the oldest segment counts as lost; none if nothing is outstanding.
  [[nodiscard]] std::optional<Time> deadline() const { return deadline_; }
  void on_timeout(Time now);

  [[nodiscard]] const TcpWindow& window() const { return window_; }
  [[nodiscard]] std::uint64_t in_flight() const;

 private:
  [[nodiscard]] std::optional<TcpPiece> choose() const;
  [[nodiscard]] std::uint64_t lost_below() const;
  void measure(Duration round_trip);
  void restart_timer(Time now);

  std::uint64_t segment_;
  Duration minimum_timeout_;
  TcpWindow window_;

  // unacked_ <= next_ <= end_
  std::uint64_t unacked_{};
  std::uint64_t next_{};
  std::uint64_t end_{};
  std::uint64_t allowed_;   // by the receive window
  std::uint64_t marked_{};  // as reported by the receiver
  TcpRanges arrived_;       // beyond unacked_, by selective acknowledgements
  bool recovering_{};
  bool after_timeout_{};     // everything not acknowledged is lost
  bool resent_first_{};      // the first retransmission is exempt from the window
  std::uint64_t recover_{};  // recovery ends when all before it is acknowledged
  std::uint64_t resend_{};   // lost bytes from here on have not been retransmitted

  bool measured_{};
  Duration smoothed_{};
  Duration variation_{};
  Duration timeout_;
  unsigned backoff_{};
  std::optional<Time> deadline_;
};

}  // namespace nerve::sim
