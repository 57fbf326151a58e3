#include "tests/nic/dma_engine/dma_fixture.h"

namespace nerve::nic {

using enum Access;

class Windows : public DmaTest {
 protected:
  MwHandle add_window(MwType type) { return *dma.alloc_window(pd, type); }
  // A bind of the whole buffer, with the next variant where the caller must choose one.
  MwBind whole(MwHandle mw, Access access = kRemoteRead) {
    const std::uint32_t key = rkey(mw).value();
    return {.window = mw,
            .region = mr,
            .address = here,
            .length = buffer.size(),
            .access = access,
            .new_rkey = RKey{(key & ~0xffU) | ((key + 1) & 0xffU)}};
  }
  bool refused(const MwBind& bind) {
    const RKey before = rkey(bind.window);
    const auto bound = dma.bind(bind, by);
    EXPECT_EQ(rkey(bind.window) == before, !bound);
    return !bound && bound.error() == WcStatus::kMwBind;
  }

  std::uint64_t here{address_of(buffer.data())};
  MrHandle mr{add_region(whole_buffer(kLocalWrite | kMwBind))};
  MwHandle one{add_window(MwType::kType1)};
  MwHandle two{add_window(MwType::kType2)};
};

TEST_F(Windows, GrantNothingUntilBound) {
  EXPECT_EQ(remote_fault(rkey(one), here, 1), AccessFault::kNoSuchKey);
  EXPECT_EQ(remote_fault(rkey(two), here, 1), AccessFault::kNoSuchKey);
  EXPECT_FALSE(dma.can_invalidate(rkey(two), by));
}

TEST_F(Windows, GrantWhatTheRegionsOwnKeyDoesNot) {
  EXPECT_EQ(remote_fault(rkey(mr), here, 1), AccessFault::kNotPermitted);
  const RKey key = *dma.bind(whole(two, kRemoteRead | kRemoteWrite), by);
  EXPECT_EQ(key, rkey(two));
  EXPECT_EQ(remote_fault(key, here, buffer.size(), kRemoteWrite), std::nullopt);
  EXPECT_EQ(remote_fault(key, here, 8, kRemoteAtomic), AccessFault::kNotPermitted);
  // A window's key is not valid as a local key.
  EXPECT_EQ(dma.resolve_local(LKey{key.value()}, pd, here, 1, kNone).error(),
            AccessFault::kNoSuchKey);
}

TEST_F(Windows, AreNarrowerThanTheirRegion) {
  MwBind bind = whole(one);
  bind.address += 100, bind.length = 50;
  const RKey key = *dma.bind(bind, by);
  EXPECT_EQ(dma.resolve_remote(key, by, here + 100, 50, kRemoteRead)->address, here + 100);
  EXPECT_EQ(remote_fault(key, here + 99, 1), AccessFault::kOutOfBounds);
  EXPECT_EQ(remote_fault(key, here + 150, 1), AccessFault::kOutOfBounds);
}

TEST_F(Windows, Type1GetsANewKeyWithEveryBind) {
  MwBind bind = whole(one);
  bind.new_rkey = {};
  std::vector<RKey> stale;
  for (int i = 0; i < 200; ++i) {
    const RKey key = *dma.bind(bind, by);
    EXPECT_EQ(key.value() >> 8, rkey(one).value() >> 8);
    EXPECT_EQ(remote_fault(key, here, 1), std::nullopt);
    for (const RKey old : stale) ASSERT_EQ(remote_fault(old, here, 1), AccessFault::kNoSuchKey);
    stale.push_back(key);
  }
}

TEST_F(Windows, Type1TakesTheVariantItIsGiven) {
  const MwBind bind = whole(one);
  EXPECT_EQ(*dma.bind(bind, by), bind.new_rkey);
  EXPECT_TRUE(refused(bind));  // the same key again
  MwBind foreign = whole(one);
  const RKey expected = foreign.new_rkey;
  foreign.new_rkey = RKey{foreign.new_rkey.value() ^ 0x100};
  EXPECT_EQ(*dma.bind(foreign, by), expected) << "only the low 8 bits count";
}

TEST_F(Windows, Type1IsUnboundByLengthZero) {
  MwBind bind = whole(one);
  const RKey key = *dma.bind(bind, by);
  EXPECT_EQ(dma.deregister(mr).error().code, ErrorCode::kBusy);
  const auto after = dma.bind({.window = one}, by);  // needs no region
  ASSERT_TRUE(after);
  EXPECT_NE(*after, key);
  EXPECT_EQ(remote_fault(key, here, 1), AccessFault::kNoSuchKey);
  EXPECT_EQ(remote_fault(*after, here, 1), AccessFault::kNoSuchKey);
  EXPECT_TRUE(dma.deregister(mr));
}

TEST_F(Windows, Type1IsForEveryQpOfItsDomain) {
  const RKey key = *dma.bind(whole(one), by);
  EXPECT_EQ(remote_fault(key, here, 1, kRemoteRead, {.pd = pd, .qpn = Qpn{0x77}}), std::nullopt);
  EXPECT_EQ(remote_fault(key, here, 1, kRemoteRead, {.pd = *dma.alloc_pd(), .qpn = by.qpn}),
            AccessFault::kWrongDomain);
  EXPECT_FALSE(dma.invalidate(key, by));
}

TEST_F(Windows, Type2IsForTheQpThatBoundIt) {
  const RKey key = *dma.bind(whole(two), by);
  const RemoteAccessor other{.pd = pd, .qpn = Qpn{0x77}};
  EXPECT_EQ(remote_fault(key, here, 1), std::nullopt);
  EXPECT_EQ(remote_fault(key, here, 1, kRemoteRead, other), AccessFault::kWrongDomain);
  EXPECT_FALSE(dma.invalidate(key, other));
  EXPECT_TRUE(dma.can_invalidate(key, by));
}

TEST_F(Windows, Type2IsBoundAgainOnlyAfterInvalidation) {
  const RKey key = *dma.bind(whole(two), by);
  EXPECT_TRUE(refused(whole(two)));
  EXPECT_EQ(remote_fault(key, here, 1), std::nullopt);
  ASSERT_TRUE(dma.invalidate(key, by));
  EXPECT_EQ(remote_fault(key, here, 1), AccessFault::kNoSuchKey);
  EXPECT_FALSE(dma.invalidate(key, by));
  MwBind same = whole(two);
  same.new_rkey = key;
  EXPECT_TRUE(refused(same));
  const RKey next = *dma.bind(whole(two), by);
  EXPECT_EQ(remote_fault(key, here, 1), AccessFault::kNoSuchKey);
  EXPECT_EQ(remote_fault(next, here, 1), std::nullopt);
}

TEST_F(Windows, Type2MayBeBoundFirstWithTheKeyItWasBornWith) {
  MwBind bind = whole(two);
  bind.new_rkey = rkey(two);
  EXPECT_TRUE(dma.bind(bind, by));
}

TEST_F(Windows, Type2RefusesLengthZero) {
  MwBind bind = whole(two);
  bind.length = 0;
  EXPECT_TRUE(refused(bind));
}

// The upper 24 bits of the key identify the window, whatever the bind requests; the caller chooses
// the low 8.
TEST_F(Windows, Type2KeepsItsIndexWhateverKeyIsGiven) {
  const RKey first = rkey(two);
  for (const std::uint32_t wanted : {0x8000'0042U, 0x43U, 0U, 0xffff'ffffU}) {
    MwBind bind = whole(two);
    bind.new_rkey = RKey{wanted};
    const RKey before = rkey(two);
    const RKey key = *dma.bind(bind, by);
    EXPECT_EQ(key, RKey{(first.value() & ~0xffU) | (wanted & 0xffU)});
    EXPECT_EQ(rkey(two), key);
    EXPECT_EQ(remote_fault(key, here, 1), std::nullopt);
    EXPECT_EQ(remote_fault(RKey{wanted}, here, 1), AccessFault::kNoSuchKey);
    EXPECT_EQ(remote_fault(before, here, 1), AccessFault::kNoSuchKey) << "stale";
    ASSERT_TRUE(dma.invalidate(key, by));
    EXPECT_EQ(remote_fault(key, here, 1), AccessFault::kNoSuchKey);
    EXPECT_TRUE(refused(bind)) << "the last key would be valid again";
  }
}

TEST_F(Windows, ZeroBasedIsForType2) {
  EXPECT_TRUE(refused(whole(one, kRemoteRead | kZeroBased)));
  MwBind bind = whole(two, kRemoteRead | kZeroBased);
  bind.address += 64, bind.length = 16;
  const RKey key = *dma.bind(bind, by);
  EXPECT_EQ(dma.resolve_remote(key, by, 0, 16, kRemoteRead)->address, here + 64);
  EXPECT_EQ(remote_fault(key, 1, 16), AccessFault::kOutOfBounds);
  EXPECT_EQ(remote_fault(key, here + 64, 1), AccessFault::kOutOfBounds);
}

TEST_F(Windows, RefuseWhatTheRegionDoesNotAllow) {
  for (const MwHandle mw : {one, two}) {
    MwBind bind = whole(mw);
    bind.region = add_region(whole_buffer(without(kAll, kMwBind)));
    EXPECT_TRUE(refused(bind));
    bind.region = add_region(whole_buffer(kMwBind | kRemoteRead));
    bind.access = kRemoteWrite;
    EXPECT_TRUE(refused(bind));
    bind.access = kRemoteAtomic;
    EXPECT_TRUE(refused(bind));
    MrInit foreign = whole_buffer();
    foreign.pd = *dma.alloc_pd();
    bind.region = add_region(foreign);
    bind.access = kRemoteRead;
    EXPECT_TRUE(refused(bind));
    bind.region = {99, 1};
    EXPECT_TRUE(refused(bind));
    EXPECT_TRUE(refused(whole(mw, kLocalWrite)));
    EXPECT_TRUE(refused(whole(mw, kMwBind)));
    bind = whole(mw);
    ++bind.length;
    EXPECT_TRUE(refused(bind));
    bind = whole(mw);
    ++bind.address;
    EXPECT_TRUE(refused(bind));
    bind.address = ~std::uint64_t{0};
    EXPECT_TRUE(refused(bind));
    EXPECT_FALSE(dma.bind(whole(mw), {.pd = foreign.pd, .qpn = by.qpn}));
  }
  EXPECT_FALSE(dma.bind({.window = {99, 1}}, by));
}

TEST_F(Windows, ARefusedRebindKeepsTheOldBinding) {
  const RKey key = *dma.bind(whole(one), by);
  MwBind wrong = whole(one);
  wrong.length += 1;
  EXPECT_TRUE(refused(wrong));
  EXPECT_EQ(remote_fault(key, here, 1), std::nullopt);
}

TEST_F(Windows, HoldTheirRegion) {
  const RKey key = *dma.bind(whole(two), by);
  EXPECT_EQ(dma.deregister(mr).error().code, ErrorCode::kBusy);
  EXPECT_EQ(dma.reregister(mr, MrChange::kAccess, whole_buffer()).error().code, ErrorCode::kBusy);
  // Type 1 is unbound from one region when it is bound to another.
  ASSERT_TRUE(dma.bind(whole(one), by));
  ASSERT_TRUE(dma.invalidate(key, by));
  EXPECT_EQ(dma.deregister(mr).error().code, ErrorCode::kBusy);
  MwBind moved = whole(one);
  moved.region = add_region();
  ASSERT_TRUE(dma.bind(moved, by));
  EXPECT_TRUE(dma.deregister(mr));
  EXPECT_EQ(dma.deregister(moved.region).error().code, ErrorCode::kBusy);
}

TEST_F(Windows, DeallocationUnbinds) {
  const RKey key = *dma.bind(whole(two), by);
  ASSERT_TRUE(dma.dealloc_window(two));
  EXPECT_EQ(remote_fault(key, here, 1), AccessFault::kNoSuchKey);
  EXPECT_EQ(dma.dealloc_window(two).error().code, ErrorCode::kNoSuchObject);
  EXPECT_EQ(dma.rkey_of(two).error().code, ErrorCode::kNoSuchObject);
  EXPECT_TRUE(dma.deregister(mr));
  EXPECT_EQ(dma.dealloc_pd(pd).error().code, ErrorCode::kBusy);
  ASSERT_TRUE(dma.dealloc_window(one));
  EXPECT_TRUE(dma.dealloc_pd(pd));
}

TEST_F(Windows, RefuseStrangeTypesAndDomains) {
  EXPECT_EQ(dma.alloc_window(pd, MwType{3}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(dma.alloc_window(pd, MwType{0}).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(dma.alloc_window({5, 5}, MwType::kType1).error().code, ErrorCode::kNoSuchObject);
}

TEST_F(Windows, RegionsCannotBeInvalidated) {
  EXPECT_FALSE(dma.can_invalidate(rkey(mr), by));
  EXPECT_FALSE(dma.invalidate(RKey{}, by));
}

}  // namespace nerve::nic
