// Signs the management datagrams of peers that must be sealed, and admits no others of them.
//
// With `prefer` a datagram is sent in both forms: the peer may know only one of them.
#pragma once

#include <memory>
#include <optional>

#include "host/seal/host_secrets.h"
#include "seal/signed_mad.h"

namespace nerve::host {

class MadSeal {
 public:
  explicit MadSeal(const std::shared_ptr<const SealSetup>& setup)
      : setup_{setup}, secrets_{setup, seal::kManagementPurpose} {}

  // In the child of a fork(): the keys are erased.
  void leave();

  // True if a plain datagram between us and this peer may cross the network.
  [[nodiscard]] bool may_be_plain(const wire::Gid& peer) const;
  // Nothing if there is no key for the destination. The frame is valid until the next call.
  [[nodiscard]] std::optional<wire::Frame> sign(const wire::Frame& plain);

  [[nodiscard]] static bool is_signed(const wire::Frame& frame);
  // The plain datagram; nothing if the signature is wrong. It is valid until the next call.
  [[nodiscard]] std::optional<wire::Frame> open(const wire::Frame& frame);

 private:
  [[nodiscard]] std::optional<seal::MadKey> key_for(const wire::Gid& peer);
  // Copies the payload to `mad_`: other processes can write to where it lies. False if it does not
  // have this size.
  [[nodiscard]] bool copy(const wire::Frame& from, std::size_t size);
  [[nodiscard]] wire::Frame with_payload(const wire::Frame& like, std::size_t size);

  std::shared_ptr<const SealSetup> setup_;
  HostSecrets secrets_;
  seal::SignedMad mad_{};
  wire::Piece piece_{};
};

}  // namespace nerve::host
