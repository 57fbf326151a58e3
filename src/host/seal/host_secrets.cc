#include "host/seal/host_secrets.h"

namespace nerve::host {

const seal::ChainSecret* HostSecrets::with(const wire::Gid& peer) {
  if (setup_ == nullptr || setup_->crypto == nullptr) return nullptr;
  const auto known = pinned_.find(peer.bytes);
  if (known != pinned_.end()) return &known->second;
  const auto credentials = setup_->keys->for_peer(peer);
  if (!credentials) return nullptr;
  const bool preshared = std::holds_alternative<seal::Preshared>(*credentials);
  if (preshared && preshared_) return preshared_.get();
  const auto secret = seal::common_secret(*setup_->crypto, *credentials, purpose_);
  if (!secret) return nullptr;
  if (preshared) {
    preshared_ = make_secret<seal::ChainSecret>(memory_, *secret);
    return preshared_.get();
  }
  return &pinned_.emplace(peer.bytes, *secret).first->second;
}

void HostSecrets::leave() {
  preshared_.reset();
  pinned_.clear();
  setup_.reset();
}

}  // namespace nerve::host
