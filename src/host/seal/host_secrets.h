// What this host has in common with each of its peers, for one purpose. Derived when it is first
// needed.
#pragma once

#include <map>
#include <memory>
#include <string_view>

#include "host/seal/seal_setup.h"
#include "seal/common_secret.h"

namespace nerve::host {

class HostSecrets {
 public:
  HostSecrets(std::shared_ptr<const SealSetup> setup, std::string_view purpose)
      : setup_{std::move(setup)}, purpose_{purpose} {}
  // In the child of a fork(): they are erased.
  void leave();

  // Null if the file has no key for this peer.
  [[nodiscard]] const seal::ChainSecret* with(const wire::Gid& peer);

 private:
  std::shared_ptr<const SealSetup> setup_;
  std::string_view purpose_;
  SecretMemory memory_;
  SecretPtr<seal::ChainSecret> preshared_;
  // Not more than the file has peers.
  std::pmr::map<std::array<std::byte, sizeof(wire::Gid)>, seal::ChainSecret> pinned_{
      &memory_.resource()};
};

}  // namespace nerve::host
