// What this host has in common with each of its peers, for one purpose. Derived when it is first
// needed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string_view>

#include "host/seal/seal_setup.h"
#include "seal/common_secret.h"

namespace nerve::host {

class HostSecrets {
 public:
  HostSecrets(std::shared_ptr<const SealSetup> setup, std::string_view purpose)
      : setup_{std::move(setup)}, purpose_{purpose} {}

  // Null if the file has no key for this peer.
  [[nodiscard]] const seal::ChainSecret* with(const wire::Gid& peer);

 private:
  std::shared_ptr<const SealSetup> setup_;
  std::string_view purpose_;
  std::optional<seal::ChainSecret> preshared_;
  // Not more than the file has peers.
  std::map<std::array<std::byte, sizeof(wire::Gid)>, seal::ChainSecret> pinned_;
};

}  // namespace nerve::host
