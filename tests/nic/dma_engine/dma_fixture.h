// A DMA engine with one domain and a buffer, and the calls that most tests need.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "nic/dma_engine/dma_engine.h"

namespace nerve::nic {

inline std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

class DmaTest : public ::testing::Test {
 protected:
  static constexpr Access kAll = Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead |
                                 Access::kRemoteAtomic | Access::kMwBind;

  [[nodiscard]] MrInit whole_buffer(Access access = kAll) const {
    return {.pd = pd,
            .address = address_of(buffer.data()),
            .length = buffer.size(),
            .iova = address_of(buffer.data()),
            .access = access};
  }
  MrHandle add_region(const MrInit& init) {
    const auto mr = dma.register_region(init);
    EXPECT_TRUE(mr) << mr.error().reason;
    return *mr;
  }
  MrHandle add_region() { return add_region(whole_buffer()); }
  RKey rkey(MrHandle mr) { return dma.keys_of(mr)->rkey; }
  LKey lkey(MrHandle mr) { return dma.keys_of(mr)->lkey; }
  RKey rkey(MwHandle mw) { return *dma.rkey_of(mw); }

  // The fault of a remote access, for EXPECT_EQ; nullopt when it was allowed.
  std::optional<AccessFault> remote_fault(RKey key, std::uint64_t address, std::uint64_t length,
                                          Access need, RemoteAccessor who) {
    const auto piece = dma.resolve_remote(key, who, address, length, need);
    return piece ? std::nullopt : std::optional{piece.error()};
  }
  std::optional<AccessFault> remote_fault(RKey key, std::uint64_t address, std::uint64_t length,
                                          Access need = Access::kRemoteRead) {
    return remote_fault(key, address, length, need, by);
  }

  alignas(8) std::array<std::byte, 4096> buffer{};
  DmaEngine dma{Limits{}, SipKey{0x0123456789abcdef, 0xfedcba9876543210}};
  PdHandle pd{*dma.alloc_pd()};
  RemoteAccessor by{.pd = pd, .qpn = Qpn{0x11}};
};

}  // namespace nerve::nic
