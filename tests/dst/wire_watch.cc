#include "tests/dst/wire_watch.h"

#include <algorithm>

#include "wire/selective_nak.h"
#include "wire/syndrome.h"

namespace nerve::dst {

using wire::Operation;
using wire::Position;
using wire::Role;

namespace {

constexpr std::size_t kMostCounted = 1U << 16U;

bool answered_by_data(Operation operation) {
  return operation == Operation::kReadRequest || operation == Operation::kCompareSwap ||
         operation == Operation::kFetchAdd || operation == Operation::kAtomicWrite ||
         operation == Operation::kFlush;
}

std::uint32_t most(const std::vector<std::uint8_t>& times) {
  return times.empty() ? 0 : *std::ranges::max_element(times);
}

}  // namespace

void WireWatch::connected(std::size_t from, Qpn own, std::size_t to, Qpn peer, Psn first,
                          std::uint32_t mtu, Rate limit) {
  by_responder_[{to, peer.value()}] = streams_.size();
  by_requester_[{from, own.value()}] = streams_.size();
  streams_.push_back({.responder = {to, peer.value()},
                      .first = first,
                      .next = first,
                      .mtu = mtu,
                      .limit = limit,
                      .busy_until = events_.now(),
                      .quiet_from = events_.now(),
                      .quiet_until = events_.now()});
}

std::optional<Psn> WireWatch::furthest() const {
  std::optional<Psn> furthest;
  for (const Stream& stream : streams_) {
    if (!furthest || stream.next.distance_from(*furthest) > 0) furthest = stream.next;
  }
  return furthest;
}

const WireWatch::Stream* WireWatch::counted(std::size_t host, Qpn qpn) const {
  const auto found = by_requester_.find({host, qpn.value()});
  if (found == by_requester_.end()) return nullptr;
  const Stream& stream = streams_[found->second];
  const auto at_peer = by_responder_.find(stream.responder);
  return at_peer != by_responder_.end() && at_peer->second == found->second ? &stream : nullptr;
}

void WireWatch::gave_up(std::size_t host, Qpn qpn, std::uint32_t retries) {
  const Stream* const stream = counted(host, qpn);
  if (stream == nullptr) return;
  if (most(stream->times_sent) <= retries) {
    journal_.violation(events_.now(), "host " + std::to_string(host) + " gave up after less than " +
                                          std::to_string(retries) + " retries");
  }
}

// Counted per packet: NAKs still in flight may be for a packet that the peer has accepted
// meanwhile.
void WireWatch::gave_up_waiting(std::size_t host, Qpn qpn, std::uint32_t retries) {
  // A late duplicate of a NAK cannot be distinguished from another rejection.
  if (network_.faults().duplication > 0) return;
  const Stream* const stream = counted(host, qpn);
  if (stream == nullptr) return;
  const std::uint32_t refusals = most(stream->times_refused);
  if (refusals <= retries) {
    journal_.violation(events_.now(), "host " + std::to_string(host) +
                                          " gave up waiting for a receive after " +
                                          std::to_string(refusals) + " refusals");
  }
}

void WireWatch::violation(const std::string& what, const Parcel& parcel) {
  journal_.violation(events_.now(), "on the wire: " + what + ": " + describe(parcel));
}

void WireWatch::see(std::size_t, std::size_t to, const Parcel& parcel) {
  const wire::Bth& bth = parcel.headers.bth;
  const wire::OpcodeInfo* info = wire::find_opcode(bth.opcode);
  if (info == nullptr) return violation("an opcode without a meaning", parcel);
  if ((parcel.length + bth.pad) % 4 != 0) violation("wrong pad count", parcel);
  const Key key{to, bth.dest_qp.value()};
  if (info->role == Role::kRequest) {
    const auto stream = by_responder_.find(key);
    if (stream != by_responder_.end()) see_request(streams_[stream->second], parcel, *info);
  } else if (info->operation == Operation::kAcknowledge && info->role == Role::kResponse) {
    const auto stream = by_requester_.find(key);
    if (stream != by_requester_.end()) see_acknowledge(streams_[stream->second], parcel);
  }
}

void WireWatch::see_request(Stream& stream, const Parcel& parcel, const wire::OpcodeInfo& info) {
  const Psn psn = parcel.headers.bth.psn;
  const Position position = info.position;
  if (parcel.length > stream.mtu) violation("more payload than the path takes", parcel);
  if ((position == Position::kFirst || position == Position::kMiddle) &&
      parcel.length != stream.mtu) {
    violation("a packet that is not the last is not full", parcel);
  }
  if (!network_.faults().any() && !events_.has_jumped() && events_.now() > stream.quiet_from &&
      events_.now() < stream.quiet_until) {
    violation("a request before the rnr timer has run out", parcel);
  }
  check_rate(stream, parcel);
  std::uint32_t psns = 1;
  if (info.operation == Operation::kReadRequest) {
    psns = std::max(1U, (parcel.headers.reth.length + stream.mtu - 1) / stream.mtu);
  }
  stream.capable |= wire::is_selective_capable(parcel.headers.bth);
  count(stream.times_sent, stream, psn, psns);
  const std::int32_t ahead = psn.distance_from(stream.next);
  if (ahead > 0) return violation("a psn was left out", parcel);
  if (ahead < 0) {
    if (info.transport == wire::Transport::kUc) violation("uc sends a psn twice", parcel);
    return;
  }
  stream.next = psn + psns;
  const bool goes_on = position == Position::kMiddle || position == Position::kLast;
  const bool over = goes_on ? psn == Psn{0} : psn.value() + psns > 0xff'ffffU;
  if (over && position != Position::kFirst) {
    wrapped_ |= 1U << static_cast<std::uint32_t>(info.operation);
  }
  if (answered_by_data(info.operation)) stream.asked.emplace_back(psn, psns);
  if (position == Position::kLast || position == Position::kOnly) {
    stream.ends.emplace_back(psn + (psns - 1), ++stream.messages);
  }
}

void WireWatch::count(std::vector<std::uint8_t>& times, const Stream& stream, Psn psn,
                      std::uint32_t psns) {
  const std::size_t first = (psn.value() - stream.first.value()) & 0xff'ffffU;
  const std::size_t end = std::min(first + psns, kMostCounted);
  if (first >= end) return;
  if (end > times.size()) times.resize(end);
  for (std::size_t i = first; i < end; ++i) {
    if (times[i] < 0xff) ++times[i];
  }
}

// A rate-limited sender may send a burst back to back, and one packet more.
void WireWatch::check_rate(Stream& stream, const Parcel& parcel) {
  constexpr std::uint64_t kBurst = 16 * 1024;
  if (stream.limit == Rate{} || parcel.length == 0) return;
  const Time now = events_.now();
  stream.busy_until = std::max(stream.busy_until, now) + stream.limit.time_to_send(parcel.length);
  if (stream.busy_until > now + stream.limit.time_to_send(kBurst + stream.mtu)) {
    violation("more than the rate limit allows", parcel);
  }
}

void WireWatch::see_acknowledge(Stream& stream, const Parcel& parcel) {
  const Psn psn = parcel.headers.bth.psn;
  const std::uint8_t syndrome = parcel.headers.aeth.syndrome;
  if (wire::kind_of(syndrome) == wire::AckKind::kRnrNak) {
    const Faults& faults = network_.faults();
    count(stream.times_refused, stream, psn, 1);
    const Time latest = events_.now() + faults.delay + faults.jitter;
    stream.quiet_from = latest + std::chrono::microseconds{3};
    stream.quiet_until = events_.now() + faults.delay + wire::rnr_delay(wire::value_of(syndrome));
  }
  if (syndrome == wire::syndrome(wire::NakCode::kSelectiveRun) && !stream.capable) {
    violation("a selective nak to a peer that has not announced them", parcel);
  }
  if (wire::kind_of(syndrome) != wire::AckKind::kAck) return;
  if (psn.distance_from(stream.next) >= 0) {
    return violation("an acknowledgement of what was never sent", parcel);
  }
  for (auto request = stream.asked.rbegin(); request != stream.asked.rend(); ++request) {
    const std::int32_t into = psn.distance_from(request->first);
    if (into < 0) continue;
    if (into < static_cast<std::int32_t>(request->second)) {
      violation("an acknowledgement in the place of data", parcel);
    }
    break;
  }
  std::uint32_t complete = 0;
  for (auto end = stream.ends.rbegin(); end != stream.ends.rend(); ++end) {
    if (psn.distance_from(end->first) >= 0) {
      complete = end->second;
      break;
    }
  }
  const std::uint32_t msn = parcel.headers.aeth.msn;
  if (msn < complete || msn > stream.messages) {
    violation("the msn does not count the messages (" + std::to_string(complete) + ".." +
                  std::to_string(stream.messages) + ")",
              parcel);
  }
}

}  // namespace nerve::dst
