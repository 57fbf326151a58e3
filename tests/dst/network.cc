#include "tests/dst/network.h"

#include <algorithm>

#include "tests/dst/icrc_reference.h"
#include "wire/packet.h"

namespace nerve::dst {

void Network::send(std::size_t from, const wire::Frame& frame) {
  Parcel parcel = capture(frame);
  ++counts_.sent;
  journal_.mix(events_.now().picoseconds());
  journal_.mix(parcel.headers.bth.opcode);
  journal_.mix(parcel.headers.bth.psn.value());
  journal_.mix(parcel.headers.bth.dest_qp.value());
  journal_.mix(parcel.headers.aeth.syndrome | parcel.headers.aeth.msn << 8U);
  journal_.mix(parcel.headers.reth.address);
  journal_.mix(parcel.headers.reth.length);
  journal_.mix(parcel.headers.immediate);
  journal_.mix(parcel.headers.atomic_ack);
  journal_.mix(parcel.payload);
  if (journal_.tracing()) {
    journal_.line(events_.now(), "host " + std::to_string(from) + " sends  " + describe(parcel));
  }
  for (std::size_t to = 0; to < ports_.size(); ++to) {
    const bool multicast = parcel.flow.destination.is_multicast() && to != from;
    if (!multicast && ports_[to].gid != parcel.flow.destination) continue;
    if (tap_) tap_(from, to, parcel);
    carry(from, to, parcel);
  }
}

void Network::inject(std::size_t to, Parcel parcel, Duration delay) {
  if (journal_.tracing()) journal_.line(events_.now(), "stranger sends  " + describe(parcel));
  events_.at(events_.now() + delay, [this, to, parcel = std::move(parcel)]() mutable {
    ports_[to].deliver(std::move(parcel));
  });
}

void Network::carry(std::size_t from, std::size_t to, Parcel parcel) {
  const bool dark =
      events_.now() >= faults_.blackout_from && events_.now() < faults_.blackout_until;
  const bool lost = prng_.chance(faults_.loss) || dark;
  const bool corrupt = prng_.chance(faults_.corruption);
  const bool twice = prng_.chance(faults_.duplication);
  if (prng_.chance(faults_.marking) && parcel.flow.ecn() != wire::Ecn::kNotCapable) {
    parcel.flow.set_ecn(wire::Ecn::kCongestion);
  }
  if (faults_.trimming > 0) trim(parcel);
  if (twice && !dark) {
    ++counts_.duplicated;
    launch(from, to, parcel, false);
  }
  if (lost) {
    ++counts_.lost;
    journal_.line(events_.now(), "         lost  " + describe(parcel));
    return;
  }
  launch(from, to, std::move(parcel), corrupt);
}

// As a switch with packet trimming does, which marks the packet as well.
void Network::trim(Parcel& parcel) {
  const bool chosen = prng_.chance(faults_.trimming);
  if (!chosen || parcel.length == 0 || parcel.placed || carriage_ != Carriage::kValues) return;
  journal_.line(events_.now(), "         trimmed  " + describe(parcel));
  parcel.trimmed = true;
  parcel.length = 0;
  parcel.payload.clear();
  parcel.headers.bth.pad = 0;
  parcel.flow.set_ecn(wire::Ecn::kCongestion);
}

void Network::launch(std::size_t from, std::size_t to, Parcel parcel, bool corrupt) {
  Duration delay = faults_.delay;
  if (faults_.jitter.count() > 0) {
    delay += Duration{
        static_cast<std::int64_t>(prng_.below(static_cast<std::uint64_t>(faults_.jitter.count())))};
  }
  const bool reorder = prng_.chance(faults_.reordering);
  const auto stretch = static_cast<std::int64_t>(prng_.between(1, 9));
  Time& last = last_arrival_.try_emplace({from, to}, events_.now()).first->second;
  Time when = events_.now() + delay;
  if (reorder) {
    when += stretch * faults_.delay;
  } else {
    last = when = std::max(when, last);
  }
  if (carriage_ == Carriage::kValues) {
    // A corrupted packet never reaches the engine; without bytes to corrupt, it is simply lost.
    if (corrupt) {
      ++counts_.bad_icrc;
      return;
    }
    events_.at(when, [this, to, parcel = std::move(parcel)]() mutable {
      ports_[to].deliver(std::move(parcel));
    });
    return;
  }
  if (carriage_ == Carriage::kSealed && SealedWire::can_seal(parcel)) {
    return launch_sealed(to, parcel, when, corrupt);
  }
  std::vector<std::byte> bytes = to_bytes(parcel);
  if (const std::uint32_t reference = icrc_reference(bytes); reference != icrc_of(bytes)) {
    journal_.violation(events_.now(), "wrong icrc on " + describe(parcel));
  }
  if (corrupt) damage(bytes, transport_offset(bytes));
  events_.at(when, [this, to, bytes = std::move(bytes)] { arrive(to, bytes); });
}

void Network::launch_sealed(std::size_t to, const Parcel& parcel, Time when, bool corrupt) {
  std::vector<std::byte> bytes = sealed_.seal(parcel, events_.now());
  const std::vector<std::byte> intact = bytes;
  if (corrupt) damage(bytes, 0);
  events_.at(when, [=, this, flow = parcel.flow, qpn = parcel.headers.bth.dest_qp] {
    auto arrived = sealed_.open(flow, qpn, bytes, events_.now());
    if (corrupt && arrived) journal_.violation(events_.now(), "a changed packet was accepted");
    if (!arrived) ++counts_.bad_icrc;
    if (arrived) ports_[to].deliver(*std::move(arrived));
    // Somebody on the path sends it once more.
    if (!corrupt && sealed_.open(flow, qpn, intact, events_.now())) {
      journal_.violation(events_.now(), "a packet was accepted twice");
    }
    for (const std::string& violation : sealed_.violations()) {
      journal_.violation(events_.now(), violation);
    }
  });
}

// Flips one to three adjacent bits that the ICRC covers: a CRC-32 detects every such error.
void Network::damage(std::vector<std::byte>& bytes, std::size_t bth) {
  std::size_t at = bth + damage_.below(bytes.size() - bth);
  if (at == bth + 4) ++at;  // FECN, BECN and reserved bits may change in the network
  bytes[at] ^= static_cast<std::byte>(damage_.between(1, 7) << damage_.below(6));
}

void Network::arrive(std::size_t to, const std::vector<std::byte>& bytes) {
  const auto packet = wire::decode_packet(bytes);
  if (!packet || packet->icrc == wire::IcrcVerdict::kBad) {
    ++counts_.bad_icrc;
    return;
  }
  ports_[to].deliver({.flow = packet->flow,
                      .headers = packet->headers,
                      .length = static_cast<std::uint32_t>(packet->payload.size()),
                      .payload = {packet->payload.begin(), packet->payload.end()}});
}

}  // namespace nerve::dst
