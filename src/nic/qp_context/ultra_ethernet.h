// The additional state of a QP that uses parts of Ultra Ethernet: entropy values, packets that were
// trimmed, receiver credits. One half for each direction.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "base/fixed_array.h"
#include "base/ids.h"
#include "base/intrusive_list.h"
#include "base/time.h"
#include "nic/config.h"
#include "nic/flow_control/entropies.h"

namespace nerve::nic {

struct Qp;

// When the packets in flight were sent and on which path, so that each answer measures a round
// trip although packets overtake each other.
class SentPackets {
 public:
  explicit SentPackets(std::uint32_t window) : sent_{std::bit_ceil(window)} {}

  void add(Psn psn, std::uint16_t port, Time now) {
    at(psn) = {.psn = psn, .when = now, .port = port, .valid = true};
  }
  // An answer may be for either copy (Karn), so no round trip is measured.
  void forget(Psn psn) { at(psn).valid = false; }
  [[nodiscard]] std::optional<Duration> round_trip(Psn psn, Time now) {
    const Sent& sent = at(psn);
    if (!sent.valid || sent.psn != psn) return std::nullopt;
    return now - sent.when;
  }
  [[nodiscard]] std::optional<std::uint16_t> port_of(Psn psn) {
    const Sent& sent = at(psn);
    if (sent.psn != psn) return std::nullopt;
    return sent.port;
  }

 private:
  struct Sent {
    Psn psn{};
    Time when{};
    std::uint16_t port{};
    bool valid{};
  };
  Sent& at(Psn psn) { return sent_[psn.value() & (sent_.size() - 1)]; }

  FixedArray<Sent> sent_;
};

// Packets in the order of their PSNs, each at most once, and no more than a window.
template <class T>
class PacketList {
 public:
  explicit PacketList(std::uint32_t window) : items_{std::bit_ceil(window)} {}

  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] std::uint32_t size() const { return end_ - begin_; }
  [[nodiscard]] const T& front() { return at(begin_); }
  void pop() { ++begin_; }
  void clear() { begin_ = end_; }
  // False if it is there already, or if there is no room.
  bool add(const T& item) {
    if (size() == items_.size()) return false;
    std::uint32_t place = end_;
    while (place != begin_ && item.psn.distance_from(at(place - 1).psn) < 0) --place;
    if (place != begin_ && at(place - 1).psn == item.psn) return false;
    for (std::uint32_t i = end_++; i != place; --i) at(i) = at(i - 1);
    at(place) = item;
    return true;
  }

 private:
  T& at(std::uint32_t place) { return items_[place & (items_.size() - 1)]; }

  FixedArray<T> items_;
  std::uint32_t begin_{};  // both run freely
  std::uint32_t end_{};
};

struct TrimmedPacket {
  Psn psn{};
  std::uint16_t port{};  // on which path
};

struct UltraEthernet {
  UltraEthernet(Qp& qp, const UltraEthernetConfig& config, std::uint32_t window)
      : owner{qp},
        entropies{config.entropies},
        sent{window},
        trimmed{config.trimming ? window : 1},
        may_send{config.unsolicited_packets},
        to_report{config.trimming ? window : 1} {}

  Qp& owner;

  // As sender.
  Entropies entropies;
  SentPackets sent;
  PacketList<TrimmedPacket> trimmed;  // to be retransmitted, oldest report first
  std::uint32_t may_send;             // packets, with receiver credits
  std::uint32_t granted_here{};       // the newest credit, 24 bits
  bool demands{};                     // the newest packet announced that others follow
  std::optional<Time> ask_at{};       // when to send without credit, if none arrives

  // Receiver credit: so many packets have been granted since the start, modulo 2^24.
  void grant(std::uint32_t total) {
    const std::uint32_t more = (total - granted_here) & 0xff'ffffU;
    if (more == 0 || more >= 1U << 23U) return;  // overtaken by a newer one
    granted_here = total;
    may_send += more;
    ask_at.reset();
  }

  // As receiver: the source port of the newest packet since the last answer, or of a marked one.
  std::uint16_t echo{};
  bool echo_marked{};
  bool echo_due{};
  void note_arrival(std::uint16_t port, bool marked) {
    if (echo_due && echo_marked && !marked) return;
    echo = port;
    echo_marked = marked;
    echo_due = true;
  }

  PacketList<TrimmedPacket> to_report;  // arrived without payload

  // Receiver credits, in packets. The sender demands what lies before `demand_end`, and another
  // copy of each trimmed packet.
  Psn demand_end{};
  std::uint32_t unsolicited_left{};
  std::uint64_t demanded{};
  std::uint64_t granted{};
  bool credit_due{};
  ListHook<UltraEthernet> credit_hook;  // linked while granted < demanded
};

}  // namespace nerve::nic
