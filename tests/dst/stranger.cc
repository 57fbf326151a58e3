#include "tests/dst/stranger.h"

#include <utility>

#include "wire/opcode.h"
#include "wire/selective_nak.h"
#include "wire/syndrome.h"

namespace nerve::dst {
namespace {

bool is_reliable(wire::Transport transport) {
  return transport == wire::Transport::kRc || transport == wire::Transport::kXrc;
}

}  // namespace

void Stranger::see(std::size_t to, const Parcel& parcel) {
  const wire::OpcodeInfo* const info = wire::find_opcode(parcel.headers.bth.opcode);
  if (info == nullptr || !is_reliable(info->transport) || !prng_.chance(60)) return;
  if (info->role == wire::Role::kRequest) return forge_request(to, parcel);
  if (info->operation != wire::Operation::kAcknowledge) return;
  if (prng_.chance(150)) return forge_cnps(to, parcel);
  forge_nak(to, parcel);
}

void Stranger::forge_nak(std::size_t to, Parcel parcel) {
  constexpr std::uint8_t kSyndromes[] = {
      wire::syndrome(wire::NakCode::kSequence), wire::syndrome(wire::NakCode::kInvalidRequest),
      wire::syndrome(wire::NakCode::kRemoteAccess), wire::syndrome(wire::NakCode::kRemoteOperation),
      wire::syndrome(wire::AckKind::kRnrNak, 1)};
  parcel.headers.aeth.syndrome = kSyndromes[prng_.below(std::size(kSyndromes))];
  // No connection of these worlds has a million messages.
  parcel.headers.aeth.msn = static_cast<std::uint32_t>(prng_.between(1U << 20U, 15U << 20U));
  const auto ahead = static_cast<std::uint32_t>(prng_.below(4));
  parcel.headers.bth.psn = parcel.headers.bth.psn + ahead;
  send(to, std::move(parcel));
}

void Stranger::forge_request(std::size_t to, Parcel parcel) {
  // Half of the ring away, give or take a quarter.
  const auto away = static_cast<std::uint32_t>(prng_.between(1U << 22U, 3U << 22U));
  parcel.headers.bth.psn = parcel.headers.bth.psn + away;
  parcel.placed = false;
  if (prng_.chance(500)) parcel.flow.set_ecn(wire::Ecn::kCongestion);
  if (prng_.chance(500)) parcel.headers.bth.reserved7 |= wire::kSelectiveCapable;
  send(to, std::move(parcel));
}

void Stranger::forge_cnps(std::size_t to, const Parcel& parcel) {
  Parcel cnp;
  cnp.flow = parcel.flow;
  cnp.headers.bth.opcode = wire::kCnpOpcode;
  cnp.headers.bth.pkey = parcel.headers.bth.pkey;
  cnp.headers.bth.dest_qp = parcel.headers.bth.dest_qp;
  cnp.headers.bth.becn = true;
  if (storms_.size() <= to) storms_.resize(to + 1);
  ++storms_[to];
  for (int i = 0; i < 100; ++i) network_.inject(to, cnp, network_.faults().delay);
}

void Stranger::send(std::size_t to, Parcel parcel) {
  const auto most = static_cast<std::uint64_t>(2 * network_.faults().delay.count());
  network_.inject(to, std::move(parcel), Duration{static_cast<std::int64_t>(prng_.below(most))});
}

}  // namespace nerve::dst
