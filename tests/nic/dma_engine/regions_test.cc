#include <limits>

#include "tests/nic/dma_engine/dma_fixture.h"
#include "tests/nic/dma_engine/ports.h"

namespace nerve::nic {

using enum Access;

class Regions : public DmaTest {
 protected:
  ErrorCode refusal(const MrInit& init) {
    const auto mr = dma.register_region(init);
    EXPECT_FALSE(mr);
    return mr ? ErrorCode{} : mr.error().code;
  }
};

TEST_F(Regions, LkeyAndRkeyAreOneNumber) {
  const auto keys = dma.keys_of(add_region());
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->lkey.value(), keys->rkey.value());
  EXPECT_NE(keys->lkey.value(), 0U);
}

TEST_F(Regions, RemoteWriteAndAtomicNeedLocalWrite) {
  EXPECT_EQ(refusal(whole_buffer(kRemoteWrite)), ErrorCode::kInvalid);
  EXPECT_EQ(refusal(whole_buffer(kRemoteAtomic)), ErrorCode::kInvalid);
  EXPECT_TRUE(dma.register_region(whole_buffer(kRemoteRead)));
  EXPECT_TRUE(dma.register_region(whole_buffer(kNone)));
}

TEST_F(Regions, UnknownFlagsAreRefusedAndOptionalOnesIgnored) {
  EXPECT_EQ(refusal(whole_buffer(static_cast<Access>(1U << 10))), ErrorCode::kInvalid);
  EXPECT_EQ(refusal(whole_buffer(static_cast<Access>(1U << 31))), ErrorCode::kInvalid);
  EXPECT_TRUE(dma.register_region(whole_buffer(kRelaxedOrdering)));
  EXPECT_TRUE(dma.register_region(whole_buffer(static_cast<Access>(1U << 29))));
  EXPECT_TRUE(dma.register_region(whole_buffer(kHugeTlb | kOnDemand)));
}

TEST_F(Regions, RangesThatWrapAreRefused) {
  constexpr auto kEnd = std::numeric_limits<std::uint64_t>::max();
  MrInit init = whole_buffer();
  init.iova = kEnd - init.length + 2;
  EXPECT_EQ(refusal(init), ErrorCode::kInvalid);
  init.iova = kEnd - init.length + 1;  // ends at the last byte of the address space
  const RKey key = rkey(add_region(init));
  EXPECT_EQ(remote_fault(key, kEnd, 1), std::nullopt);
  EXPECT_EQ(remote_fault(key, kEnd, 2), AccessFault::kOutOfBounds);
  EXPECT_EQ(remote_fault(key, 0, 1), AccessFault::kOutOfBounds);

  init = whole_buffer();
  init.length = kEnd;
  EXPECT_EQ(refusal(init), ErrorCode::kInvalid);
  init = whole_buffer();
  init.address = 0;
  EXPECT_EQ(refusal(init), ErrorCode::kInvalid);
}

TEST_F(Regions, OfLengthZeroServeOperationsOfLengthZero) {
  for (const std::uint64_t address : {address_of(buffer.data()), std::uint64_t{0}}) {
    MrInit init = whole_buffer();
    init.address = init.iova = address;
    init.length = 0;
    const MrHandle mr = add_region(init);
    EXPECT_EQ(remote_fault(rkey(mr), address, 0), std::nullopt);
    EXPECT_EQ(remote_fault(rkey(mr), address, 1), AccessFault::kOutOfBounds);
    const LKey lkey = dma.keys_of(mr)->lkey;
    EXPECT_TRUE(dma.resolve_local(lkey, pd, address, 0, kLocalWrite));
    EXPECT_EQ(dma.resolve_local(lkey, pd, address, 1, kLocalWrite).error(),
              AccessFault::kOutOfBounds);
    EXPECT_TRUE(dma.deregister(mr));
  }
}

TEST_F(Regions, EveryBoundIsKept) {
  MrInit init = whole_buffer();
  init.iova = 0x1000;
  init.length = 100;
  const RKey key = rkey(add_region(init));
  EXPECT_EQ(dma.resolve_remote(key, by, 0x1000, 100, kRemoteWrite)->address, init.address);
  EXPECT_EQ(dma.resolve_remote(key, by, 0x1063, 1, kRemoteWrite)->address, init.address + 99);
  EXPECT_EQ(remote_fault(key, 0x1000, 101), AccessFault::kOutOfBounds);
  EXPECT_EQ(remote_fault(key, 0x1001, 100), AccessFault::kOutOfBounds);
  EXPECT_EQ(remote_fault(key, 0x1064, 1), AccessFault::kOutOfBounds);
  EXPECT_EQ(remote_fault(key, 0xfff, 1), AccessFault::kOutOfBounds);
  EXPECT_EQ(remote_fault(key, 0x1001, std::numeric_limits<std::uint64_t>::max()),
            AccessFault::kOutOfBounds);
  EXPECT_EQ(remote_fault(key, 0x1001, std::numeric_limits<std::uint64_t>::max() - 0x1000),
            AccessFault::kOutOfBounds);
}

TEST_F(Regions, ZeroBasedIgnoresTheIova) {
  MrInit init = whole_buffer(kAll | kZeroBased);
  init.iova = std::numeric_limits<std::uint64_t>::max();  // would wrap if it were used
  const RKey key = rkey(add_region(init));
  EXPECT_EQ(dma.resolve_remote(key, by, 5, 10, kRemoteRead)->address, init.address + 5);
  EXPECT_EQ(remote_fault(key, init.address, 1), AccessFault::kOutOfBounds);
}

TEST_F(Regions, AtomicsAreNotGrantedWhereTheWordsAreNotAligned) {
  MrInit init = whole_buffer(kAll | kZeroBased);
  ++init.address, --init.length;
  const RKey odd = rkey(add_region(init));
  EXPECT_EQ(remote_fault(odd, 0, 8, kRemoteAtomic), AccessFault::kNotPermitted);
  EXPECT_EQ(remote_fault(odd, 0, 8, kRemoteWrite), std::nullopt);
  init.address += 7, init.length -= 7;
  EXPECT_EQ(remote_fault(rkey(add_region(init)), 0, 8, kRemoteAtomic), std::nullopt);
}

TEST_F(Regions, ImplicitOnDemandCoversAllHostMemory) {
  constexpr auto kEnd = std::numeric_limits<std::uint64_t>::max();
  MrInit init{.pd = pd, .length = kEnd, .access = kAll | kOnDemand};
  const RKey key = rkey(add_region(init));
  const std::uint64_t here = address_of(buffer.data());
  EXPECT_EQ(dma.resolve_remote(key, by, here, 4096, kRemoteWrite)->address, here);

  test::VoidPort port;
  init.port = &port;
  EXPECT_EQ(refusal(init), ErrorCode::kInvalid);
  init.port = nullptr, init.iova = 1;
  EXPECT_EQ(refusal(init), ErrorCode::kInvalid);
  init.iova = 0, init.access = kAll;
  EXPECT_EQ(refusal(init), ErrorCode::kInvalid);
}

TEST_F(Regions, NoBytesNeedNoKeyButAFlushDoes) {
  EXPECT_EQ(remote_fault(RKey{}, 0, 0, kRemoteWrite), std::nullopt);
  EXPECT_TRUE(dma.resolve_local(LKey{}, pd, 0, 0, kLocalWrite));
  EXPECT_EQ(remote_fault(RKey{}, 0, 0, kFlushGlobal), AccessFault::kNoSuchKey);
  const RKey plain = rkey(add_region());
  EXPECT_EQ(remote_fault(plain, 0, 0, kFlushGlobal), AccessFault::kNotPermitted);
  const RKey flushable = rkey(add_region(whole_buffer(kRemoteRead | kFlushGlobal)));
  EXPECT_EQ(remote_fault(flushable, 0, 0, kFlushGlobal), std::nullopt);
  EXPECT_EQ(remote_fault(flushable, 0, 0, kFlushPersistent), AccessFault::kNotPermitted);
}

TEST_F(Regions, KeyZeroIsNeverValid) {
  add_region();
  EXPECT_EQ(remote_fault(RKey{}, 0, 1), AccessFault::kNoSuchKey);
  EXPECT_FALSE(dma.resolve_local(LKey{}, pd, 0, 1, kNone));
}

TEST_F(Regions, AnotherDomainIsRefused) {
  const MrHandle mr = add_region();
  const PdHandle other = *dma.alloc_pd();
  const std::uint64_t here = address_of(buffer.data());
  EXPECT_EQ(remote_fault(rkey(mr), here, 1, kRemoteRead, {.pd = other, .qpn = by.qpn}),
            AccessFault::kWrongDomain);
  EXPECT_EQ(dma.resolve_local(lkey(mr), other, here, 1, kNone).error(), AccessFault::kWrongDomain);
}

TEST_F(Regions, ReregisterReplacesWhatItIsToldTo) {
  const MrHandle mr = add_region();
  const PdHandle other = *dma.alloc_pd();
  const std::uint64_t here = address_of(buffer.data());
  const RKey first = rkey(mr);

  ASSERT_TRUE(dma.reregister(mr, MrChange::kAccess, {.access = kRemoteRead}));
  EXPECT_EQ(rkey(mr), first);  // peers continue to use the key, within the new rights
  EXPECT_EQ(remote_fault(first, here, 1), std::nullopt);
  EXPECT_EQ(remote_fault(first, here, 1, kRemoteWrite), AccessFault::kNotPermitted);

  ASSERT_TRUE(dma.reregister(mr, MrChange::kPd, {.pd = other}));
  EXPECT_EQ(remote_fault(first, here, 1), AccessFault::kNoSuchKey);
  EXPECT_EQ(remote_fault(rkey(mr), here, 1), AccessFault::kWrongDomain);
  EXPECT_EQ(dma.dealloc_pd(other).error().code, ErrorCode::kBusy);

  ASSERT_TRUE(
      dma.reregister(mr, MrChange::kTranslation | MrChange::kPd,
                     {.pd = pd, .address = here + 8, .length = 8, .iova = 0x100, .access = kAll}));
  EXPECT_EQ(dma.resolve_remote(rkey(mr), by, 0x100, 8, kRemoteRead)->address, here + 8);
  EXPECT_EQ(remote_fault(rkey(mr), 0x100, 8, kRemoteWrite), AccessFault::kNotPermitted);
  EXPECT_TRUE(dma.dealloc_pd(other));
}

TEST_F(Regions, AFailedReregisterChangesNothing) {
  const MrHandle mr = add_region();
  const RKey key = rkey(mr);
  const auto fails = [&](MrChange change, const MrInit& init) {
    const auto status = dma.reregister(mr, change, init);
    EXPECT_FALSE(status);
    EXPECT_EQ(rkey(mr), key);
    EXPECT_EQ(remote_fault(key, address_of(buffer.data()), buffer.size(), kRemoteWrite),
              std::nullopt);
    return status ? ErrorCode{} : status.error().code;
  };
  EXPECT_EQ(fails(MrChange::kNone, whole_buffer()), ErrorCode::kInvalid);
  EXPECT_EQ(fails(static_cast<MrChange>(8), whole_buffer()), ErrorCode::kInvalid);
  EXPECT_EQ(fails(MrChange::kTranslation, {.length = 8}), ErrorCode::kInvalid);
  EXPECT_EQ(fails(MrChange::kAccess, {.access = kRemoteWrite}), ErrorCode::kInvalid);
  EXPECT_EQ(fails(MrChange::kPd, {.pd = {7, 7}}), ErrorCode::kNoSuchObject);
  EXPECT_EQ(fails(MrChange::kPd | MrChange::kTranslation, {.pd = pd, .length = 8}),
            ErrorCode::kInvalid);
}

TEST_F(Regions, DeregisteredRegionsAreGone) {
  const MrHandle mr = add_region();
  const RKey key = rkey(mr);
  EXPECT_EQ(dma.dealloc_pd(pd).error().code, ErrorCode::kBusy);
  ASSERT_TRUE(dma.deregister(mr));
  EXPECT_EQ(remote_fault(key, address_of(buffer.data()), 1), AccessFault::kNoSuchKey);
  EXPECT_EQ(dma.deregister(mr).error().code, ErrorCode::kNoSuchObject);
  EXPECT_EQ(dma.keys_of(mr).error().code, ErrorCode::kNoSuchObject);
  EXPECT_EQ(dma.reregister(mr, MrChange::kPd, {.pd = pd}).error().code, ErrorCode::kNoSuchObject);
  EXPECT_TRUE(dma.dealloc_pd(pd));
  EXPECT_EQ(dma.dealloc_pd(pd).error().code, ErrorCode::kNoSuchObject);
  EXPECT_FALSE(dma.retain_pd(pd));
  EXPECT_EQ(refusal(whole_buffer()), ErrorCode::kNoSuchObject);
}

TEST_F(Regions, LimitsAreKept) {
  DmaEngine small{Limits{.max_pd = 1, .max_mr = 2, .max_mw = 1}, SipKey{1, 2}};
  MrInit init = whole_buffer();
  init.pd = *small.alloc_pd();
  EXPECT_EQ(small.alloc_pd().error().code, ErrorCode::kLimit);
  const MrHandle first = *small.register_region(init);
  ASSERT_TRUE(small.register_region(init));
  EXPECT_EQ(small.register_region(init).error().code, ErrorCode::kLimit);
  ASSERT_TRUE(small.alloc_window(init.pd, MwType::kType1));
  EXPECT_EQ(small.alloc_window(init.pd, MwType::kType1).error().code, ErrorCode::kLimit);
  EXPECT_TRUE(small.reregister(first, MrChange::kAccess, init));  // needs no additional slot
  ASSERT_TRUE(small.deregister(first));
  EXPECT_TRUE(small.register_region(init));
}

TEST_F(Regions, RetainedDomainsStay) {
  ASSERT_TRUE(dma.retain_pd(pd));
  EXPECT_EQ(dma.dealloc_pd(pd).error().code, ErrorCode::kBusy);
  dma.release_pd(pd);
  EXPECT_TRUE(dma.dealloc_pd(pd));
}

}  // namespace nerve::nic
