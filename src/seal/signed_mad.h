// Datagrams of connection management (QP 1) that prove who sent them (docs/wire-seal.md).
//
//    BTH (12) | MAD (256) | MAC (16) | ICRC (4)
//
// They are not encrypted: the processes of a host share QP 1, and the MAD says for whom it is.
#pragma once

#include "seal/common_secret.h"
#include "wire/cm_mad.h"
#include "wire/frame.h"

namespace nerve::seal {

// In the range that IBTA leaves to manufacturers: receivers that do not know it drop the packet.
inline constexpr wire::Opcode kSignedMadOpcode = 0xd6;

// The payload of such a datagram.
inline constexpr std::size_t kSignedMadSize = wire::kMadSize + kTagSize;
using SignedMad = std::array<std::byte, kSignedMadSize>;

// What two hosts sign with: their common secret for kManagementPurpose.
class MadKey {
 public:
  MadKey(Crypto& crypto, const ChainSecret& secret) : crypto_{crypto}, secret_{secret} {}

  // Writes the MAC behind the MAD.
  void sign(const wire::Flow& flow, const wire::Bth& bth, SignedMad& mad) const;
  [[nodiscard]] bool verify(const wire::Flow& flow, const wire::Bth& bth,
                            const SignedMad& mad) const;

 private:
  [[nodiscard]] HashValue mac_of(const wire::Flow& flow, const wire::Bth& bth, Bytes mad) const;

  Crypto& crypto_;
  const ChainSecret& secret_;
};

}  // namespace nerve::seal
