// Invariants of every frame on the wire, before the network applies faults.
//
// Two engines that share a mistake agree with each other; this watch sits between them and relies
// only on the standard.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/rate.h"
#include "tests/dst/event_queue.h"
#include "tests/dst/journal.h"
#include "tests/dst/network.h"
#include "tests/dst/parcel.h"

namespace nerve::dst {

class WireWatch {
 public:
  WireWatch(EventQueue& events, Journal& journal, const Network& network)
      : events_{events}, journal_{journal}, network_{network} {}

  // One direction of a connection begins: requests from `own` of host `from` to `to`.
  void connected(std::size_t from, Qpn own, std::size_t to, Qpn peer, Psn first, std::uint32_t mtu,
                 Rate limit);
  // The first PSN that no stream of this world has reached, if all began at the same PSN.
  [[nodiscard]] std::optional<Psn> furthest() const;
  // The requester has given up after this many retries.
  void gave_up(std::size_t host, Qpn qpn, std::uint32_t retries);
  // ... for lack of receives.
  void gave_up_waiting(std::size_t host, Qpn qpn, std::uint32_t retries);
  // The operations, one bit each, for which a request was seen that spans the PSN wrap or, if it
  // has a single packet, that has the last PSN.
  [[nodiscard]] std::uint32_t wrapped() const { return wrapped_; }
  void see(std::size_t from, std::size_t to, const Parcel& parcel);

 private:
  using Key = std::pair<std::size_t, std::uint32_t>;  // host, QPN of the receiver of the frame
  struct Stream {
    Key responder{};
    Psn first{};
    Psn next{};  // the first PSN that was never sent
    std::uint32_t mtu{};
    Rate limit{};
    Time busy_until{};  // when a link of that rate would have sent all packets
    std::uint32_t messages{};
    std::vector<std::uint8_t> times_sent{};     // by PSN, from the first one on
    std::vector<std::uint8_t> times_refused{};  // ... for lack of a receive
    // Last PSN of each message sent, with the number of messages up to it.
    std::vector<std::pair<Psn, std::uint32_t>> ends{};
    // First PSN and number of PSNs of each request that is answered by data.
    std::vector<std::pair<Psn, std::uint32_t>> asked{};
    bool capable{};     // the requester has announced support for selective NAKs
    Time quiet_from{};  // the RNR wait requested by the receiver lies between these two
    Time quiet_until{};
  };

  // The stream of this requester; null if its peer's QPN now belongs to another stream, which then
  // counts the packets.
  [[nodiscard]] const Stream* counted(std::size_t host, Qpn qpn) const;
  void see_request(Stream& stream, const Parcel& parcel, const wire::OpcodeInfo& info);
  static void count(std::vector<std::uint8_t>& times, const Stream& stream, Psn psn,
                    std::uint32_t psns);
  void check_rate(Stream& stream, const Parcel& parcel);
  void see_acknowledge(Stream& stream, const Parcel& parcel);
  void violation(const std::string& what, const Parcel& parcel);

  EventQueue& events_;
  Journal& journal_;
  const Network& network_;
  std::map<Key, std::size_t> by_responder_;  // index of the stream whose requests go there
  std::map<Key, std::size_t> by_requester_;  // ... whose acknowledgements go there
  std::vector<Stream> streams_;
  std::uint32_t wrapped_{};
};

}  // namespace nerve::dst
