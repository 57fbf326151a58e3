#include "nic/dma_engine/key_table.h"

#include <bit>
#include <utility>

#include "base/check.h"

namespace nerve::nic {

Grant& KeyTable::owned(std::uint32_t key) {
  Grant& grant = bucket(key >> 8);
  CHECK(grant.kind != GrantKind::kNone && grant.key_index == key >> 8);
  return grant;
}

std::uint32_t KeyTable::claim(GrantKind kind) {
  CHECK(!full() && kind != GrantKind::kNone);
  if (2 * std::size_t{used_ + 1} > made_.back().size()) grow();
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

void KeyTable::use(Buckets buckets) {
  made_.push_back(std::move(buckets));
  const auto address = reinterpret_cast<std::uintptr_t>(made_.back().data());
  const auto logarithm = static_cast<unsigned>(std::countr_zero(made_.back().size()));
  in_use_.store(address + logarithm, std::memory_order_release);
}

void KeyTable::grow() {
  const Buckets& narrow = made_.back();
  Buckets wider(narrow.size() * 2);
  for (const Grant& grant : narrow) {
    if (grant.kind == GrantKind::kNone) continue;
    Grant& moved = bucket(wider, grant.key_index);
    moved.take(grant);
    moved.set_key(grant.key);
  }
  use(std::move(wider));
}

}  // namespace nerve::nic
