// The packets of connected QPs, sealed on the way (docs/wire-seal.md), with a cipher that notices
// misuse. Keys are there from the start and change every few packets.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "seal/incoming.h"
#include "seal/outgoing.h"
#include "tests/dst/parcel.h"
#include "tests/seal/toy_crypto.h"

namespace nerve::dst {

class SealedWire {
 public:
  // Datagrams have no peer to share keys with.
  [[nodiscard]] static bool can_seal(const Parcel& parcel);

  [[nodiscard]] std::vector<std::byte> seal(const Parcel& parcel, Time now);
  // Nothing if it is not accepted.
  [[nodiscard]] std::optional<Parcel> open(const wire::Flow& flow, Qpn to,
                                           std::vector<std::byte> packet, Time now);

  [[nodiscard]] const std::vector<std::string>& violations() const { return ledger_.violations; }

 private:
  struct Direction {
    seal::Outgoing outgoing;
    seal::Incoming incoming;
  };
  Direction& direction(const wire::Flow& flow, Qpn to, Time now);

  seal::ToyLedger ledger_;
  seal::ToyCrypto crypto_{1, ledger_};
  std::map<std::tuple<std::array<std::byte, 16>, std::array<std::byte, 16>, std::uint32_t>,
           Direction>
      directions_;
};

}  // namespace nerve::dst
