// Seals and opens the datagrams (UD) of a shard.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "host/seal/host_secrets.h"
#include "seal/datagram.h"

namespace nerve::host {

class DatagramSeal final : public seal::Opener {
 public:
  explicit DatagramSeal(const std::shared_ptr<const SealSetup>& setup);

  // In the child of a fork(): the keys are erased.
  void leave();

  // Null if there is no key for the destination.
  [[nodiscard]] seal::Sealer* sealer_for(const wire::Flow& flow);
  seal::Opening receive(const wire::Flow& flow, MutableBytes packet, Time now, wire::Frame& frame,
                        wire::Piece& piece) override;

 private:
  using GidBytes = std::array<std::byte, sizeof(wire::Gid)>;

  std::shared_ptr<const SealSetup> setup_;
  HostSecrets secrets_;
  // By source address, and secret.
  SecretMemory memory_;
  std::pmr::map<std::pair<GidBytes, const seal::ChainSecret*>, seal::DatagramSender> senders_{
      &memory_.resource()};
  std::optional<seal::DatagramReceiver> receiver_;
};

}  // namespace nerve::host
