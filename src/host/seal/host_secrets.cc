#include "host/seal/host_secrets.h"

namespace nerve::host {

const seal::ChainSecret* HostSecrets::with(const wire::Gid& peer) {
  if (setup_->crypto == nullptr) return nullptr;
  const auto known = pinned_.find(peer.bytes);
  if (known != pinned_.end()) return &known->second;
  const auto credentials = setup_->keys.for_peer(peer);
  if (!credentials) return nullptr;
  const bool preshared = std::holds_alternative<seal::Preshared>(*credentials);
  if (preshared && preshared_) return &*preshared_;
  const auto secret = seal::common_secret(*setup_->crypto, *credentials, purpose_);
  if (!secret) return nullptr;
  if (preshared) return &preshared_.emplace(*secret);
  return &pinned_.emplace(peer.bytes, *secret).first->second;
}

}  // namespace nerve::host
