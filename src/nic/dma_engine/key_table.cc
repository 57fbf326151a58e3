#include "nic/dma_engine/key_table.h"

#include "base/check.h"

namespace nerve::nic {

Grant& KeyTable::owned(std::uint32_t key) {
  Grant& grant = bucket(key >> 8);
  CHECK(grant.kind != GrantKind::kNone && grant.key_index == key >> 8);
  return grant;
}

std::uint32_t KeyTable::claim(GrantKind kind) {
  CHECK(!full() && kind != GrantKind::kNone);
  if (2 * std::size_t{used_ + 1} > made_.back()->grants.size()) grow();
  for (;;) {
    const std::uint32_t key = sequence_.next();
    const std::uint32_t key_index = key >> 8;
    // Index zero is never used: with variant zero it would be the invalid key.
    Grant& grant = bucket(key_index);
    if (key_index == 0 || grant.kind != GrantKind::kNone) continue;
    grant.key_index = key_index;
    grant.kind = kind;
    ++used_;
    return key;
  }
}

void KeyTable::release(std::uint32_t key) {
  Grant& grant = owned(key);
  grant.set_key(0);
  grant.take(Grant{});
  --used_;
}

std::uint32_t KeyTable::next_variant(std::uint32_t key) const {
  const std::uint32_t variant = (key + sequence_.stride(key >> 8)) & 0xff;
  return (key & ~0xffU) | variant;
}

void KeyTable::use(std::size_t buckets) {
  made_.push_back(std::make_unique<Buckets>(buckets));
  buckets_.store(made_.back().get(), std::memory_order_release);
}

void KeyTable::grow() {
  const Buckets& narrow = *made_.back();
  auto wider = std::make_unique<Buckets>(narrow.grants.size() * 2);
  for (const Grant& grant : narrow.grants) {
    if (grant.kind == GrantKind::kNone) continue;
    Grant& moved = (*wider)[grant.key_index];
    moved.take(grant);
    moved.set_key(grant.key);
  }
  made_.push_back(std::move(wider));
  buckets_.store(made_.back().get(), std::memory_order_release);
}

}  // namespace nerve::nic
