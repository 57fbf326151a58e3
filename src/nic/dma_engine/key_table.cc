#include "nic/dma_engine/key_table.h"

#include "base/check.h"

namespace nerve::nic {

Grant& KeyTable::owned(std::uint32_t key) {
  Grant& grant = buckets_[(key >> 8) & (buckets_.size() - 1)];
  CHECK(grant.kind != GrantKind::kNone && grant.key_index == key >> 8);
  return grant;
}

std::uint32_t KeyTable::claim(GrantKind kind) {
  CHECK(!full() && kind != GrantKind::kNone);
  if (2 * std::size_t{used_ + 1} > buckets_.size()) grow();
  for (;;) {
    const std::uint32_t key = sequence_.next();
    const std::uint32_t key_index = key >> 8;
    // Index zero is left out whole: with variant zero it would be the key that is never valid.
    if (key_index == 0 || bucket(key_index).kind != GrantKind::kNone) continue;
    buckets_[key_index & (buckets_.size() - 1)] = Grant{.key_index = key_index, .kind = kind};
    ++used_;
    return key;
  }
}

void KeyTable::release(std::uint32_t key) {
  owned(key) = Grant{};
  --used_;
}

std::uint32_t KeyTable::next_variant(std::uint32_t key) const {
  const std::uint32_t variant = (key + sequence_.stride(key >> 8)) & 0xff;
  return (key & ~0xffU) | variant;
}

void KeyTable::grow() {
  std::vector<Grant> wider(buckets_.size() * 2);
  for (const Grant& grant : buckets_) {
    if (grant.kind != GrantKind::kNone) wider[grant.key_index & (wider.size() - 1)] = grant;
  }
  buckets_ = std::move(wider);
}

}  // namespace nerve::nic
