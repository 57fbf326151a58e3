// Goal: the engine touches a page of an on-demand region only after the pager has brought it in.
#include <optional>
#include <tuple>

#include "tests/nic/dma_engine/dma_fixture.h"

namespace nerve::nic {
namespace {

class FakePager final : public Pager {
 public:
  bool fault_in(std::uint64_t address, std::uint64_t length, bool for_write) override {
    asked = std::tuple{address, length, for_write};
    return mapped;
  }

  bool mapped{true};
  std::optional<std::tuple<std::uint64_t, std::uint64_t, bool>> asked;
};

class OnDemand : public DmaTest {
 protected:
  OnDemand() { by.pd = pd = *paged.alloc_pd(); }

  MrKeys add(Access access) {
    const auto mr = paged.register_region(whole_buffer(access));
    EXPECT_TRUE(mr);
    return *paged.keys_of(*mr);
  }
  std::optional<AccessFault> fault(RKey key, std::uint64_t length, Access need) {
    const auto piece = paged.resolve_remote(key, by, address_of(buffer.data()), length, need);
    return piece ? std::nullopt : std::optional{piece.error()};
  }

  FakePager pager;
  DmaEngine paged{Limits{}, SipKey{1, 2}, nullptr, &pager};
};

TEST_F(OnDemand, PagerIsNotAskedForPinnedRegions) {
  pager.mapped = false;
  EXPECT_EQ(fault(add(kAll).rkey, 8, Access::kRemoteWrite), std::nullopt);
  EXPECT_EQ(pager.asked, std::nullopt);
}

TEST_F(OnDemand, RemoteAccessFaultsInTheRange) {
  const RKey key = add(kAll | Access::kOnDemand).rkey;
  EXPECT_EQ(fault(key, 8, Access::kRemoteRead), std::nullopt);
  EXPECT_EQ(pager.asked, std::tuple(address_of(buffer.data()), 8U, false));
  EXPECT_EQ(fault(key, 16, Access::kRemoteAtomic), std::nullopt);
  EXPECT_EQ(pager.asked, std::tuple(address_of(buffer.data()), 16U, true));
}

TEST_F(OnDemand, RemoteAccessToUnmappedMemoryIsRefused) {
  pager.mapped = false;
  EXPECT_EQ(fault(add(kAll | Access::kOnDemand).rkey, 8, Access::kRemoteWrite),
            AccessFault::kNotMapped);
}

TEST_F(OnDemand, LocalAccessToUnmappedMemoryIsRefused) {
  pager.mapped = false;
  const LKey key = add(kAll | Access::kOnDemand).lkey;
  const auto piece =
      paged.resolve_local(key, pd, address_of(buffer.data()), 8, Access::kLocalWrite);
  ASSERT_FALSE(piece);
  EXPECT_EQ(piece.error(), AccessFault::kNotMapped);
}

TEST_F(OnDemand, WindowOverAnOnDemandRegionFaultsInItsPages) {
  const auto mr = paged.register_region(whole_buffer(kAll | Access::kOnDemand));
  const auto mw = paged.alloc_window(pd, MwType::kType1);
  const auto key = paged.bind({.window = *mw,
                               .region = *mr,
                               .address = address_of(buffer.data()),
                               .length = 64,
                               .access = Access::kRemoteWrite},
                              by);
  ASSERT_TRUE(key);
  pager.mapped = false;
  EXPECT_EQ(fault(*key, 8, Access::kRemoteWrite), AccessFault::kNotMapped);
}

TEST_F(OnDemand, CheckOfALongRequestLeavesItsPagesToItsPackets) {
  const auto mr = paged.register_region(
      {.pd = pd, .length = ~std::uint64_t{0}, .access = kAll | Access::kOnDemand});
  ASSERT_TRUE(mr) << mr.error().reason;
  EXPECT_EQ(fault(paged.keys_of(*mr)->rkey, 1U << 30, Access::kRemoteRead), std::nullopt);
  EXPECT_EQ(pager.asked, std::nullopt);
}

}  // namespace
}  // namespace nerve::nic
