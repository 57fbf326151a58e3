// Somebody who sees packets pass and forges others, with the right addresses and QPNs and, where
// that is hardest to withstand, the right PSNs. What it does not know are message counts.
//
//  - NAKs of every kind for outstanding packets, with an MSN that the peer cannot have
//  - requests outside any window, with congestion marks and announcements
//  - storms of CNPs
//
// It does not forge what an engine cannot tell from the real thing: a request with the expected
// PSN, an ACK with a possible MSN.
#pragma once

#include <cstdint>
#include <vector>

#include "base/prng.h"
#include "tests/dst/network.h"
#include "tests/dst/parcel.h"

namespace nerve::dst {

class Stranger {
 public:
  static constexpr std::uint32_t kCnpBurst = 4;  // that engines heed

  Stranger(std::uint64_t seed, Network& network) : prng_{seed ^ 0x57a9'6e21U}, network_{network} {}

  // A packet on its way to a host.
  void see(std::size_t to, const Parcel& parcel);

  // The number of storms of CNPs that a host has been sent.
  [[nodiscard]] std::uint64_t storms(std::size_t host) const {
    return host < storms_.size() ? storms_[host] : 0;
  }

 private:
  void forge_nak(std::size_t to, Parcel parcel);
  void forge_request(std::size_t to, Parcel parcel);
  void forge_cnps(std::size_t to, const Parcel& parcel);
  void send(std::size_t to, Parcel parcel);

  Prng prng_;
  Network& network_;
  std::vector<std::uint64_t> storms_;  // by host
};

}  // namespace nerve::dst
