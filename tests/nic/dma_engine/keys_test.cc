// Goal: a key that was not issued grants nothing. Method: the keys of many registrations are
// compared with each other, with earlier keys, and with the guesses of a peer.
#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/prng.h"
#include "tests/nic/dma_engine/dma_fixture.h"

namespace nerve::nic {

class Keys : public DmaTest {
 protected:
  bool answers(std::uint32_t key) {
    return remote_fault(RKey{key}, address_of(buffer.data()), 1) != AccessFault::kNoSuchKey;
  }
  std::uint32_t add_key() { return rkey(add_region()).value(); }
};

TEST_F(Keys, NeverRepeatAndNeverReturn) {
  constexpr int kRegistrations = 100'000;
  constexpr std::size_t kLive = 1000;
  std::deque<MrHandle> live;
  std::vector<std::uint32_t> stale;
  std::unordered_set<std::uint32_t> seen;
  for (int i = 0; i < kRegistrations; ++i) {
    live.push_back(add_region());
    const std::uint32_t key = rkey(live.back()).value();
    ASSERT_TRUE(seen.insert(key).second) << "key " << key << " was given before";
    ASSERT_TRUE(answers(key));
    if (live.size() > kLive) {
      stale.push_back(rkey(live.front()).value());
      ASSERT_TRUE(dma.deregister(live.front()));
      live.pop_front();
      ASSERT_FALSE(answers(stale.back()));
    }
  }
  for (const std::uint32_t key : stale) ASSERT_FALSE(answers(key));
  for (const MrHandle mr : live) ASSERT_TRUE(answers(rkey(mr).value()));
}

// The memory of a region that is gone is not reached by any key, old or new, even if the new one
// takes the place of the old one in the table.
TEST_F(Keys, OfOtherRegionsDoNotReachDeregisteredMemory) {
  std::vector<std::byte> secret(4096);
  MrInit init = whole_buffer();
  init.address = init.iova = address_of(secret.data());
  init.length = secret.size();
  std::vector<std::uint32_t> keys;
  for (int i = 0; i < 1000; ++i) {
    const MrHandle gone = add_region(init);
    keys.push_back(rkey(gone).value());
    ASSERT_TRUE(dma.resolve_remote(RKey{keys.back()}, by, init.iova, 1, Access::kRemoteRead));
    ASSERT_TRUE(dma.deregister(gone));
    keys.push_back(add_key());
  }
  for (const std::uint32_t key : keys) {
    for (const std::uint64_t at : {init.iova, init.iova + secret.size() - 1}) {
      ASSERT_FALSE(dma.resolve_remote(RKey{key}, by, at, 1, Access::kRemoteRead)) << key;
      ASSERT_FALSE(dma.resolve_remote(RKey{key}, by, at, 1, Access::kRemoteWrite)) << key;
    }
  }
}

TEST_F(Keys, ManyLiveOnesAreAllFound) {
  std::vector<std::pair<std::uint32_t, std::uint64_t>> given;
  std::unordered_set<std::uint32_t> indices;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    MrInit init = whole_buffer();
    init.iova = i << 16;
    given.emplace_back(rkey(add_region(init)).value(), init.iova);
    ASSERT_TRUE(indices.insert(given.back().first >> 8).second);
  }
  for (const auto& [key, iova] : given) {
    ASSERT_TRUE(dma.resolve_remote(RKey{key}, by, iova, 4096, Access::kRemoteWrite));
  }
}

// With 1000 live keys among 2^32, four million guesses hit one on average.
TEST_F(Keys, GuessingIsNoBetterThanChance) {
  for (int i = 0; i < 1000; ++i) add_key();
  Prng prng{7};
  int hits = 0;
  for (int i = 0; i < 4'000'000; ++i) hits += answers(static_cast<std::uint32_t>(prng.next()));
  EXPECT_LT(hits, 10);
}

// A peer that knows a key tries related ones: other variants, adjacent indices, single-bit changes,
// and the difference between two keys issued in sequence.
TEST_F(Keys, NeighboursOfAGivenKeyAreNotKeys) {
  std::vector<std::uint32_t> given;
  for (int i = 0; i < 1000; ++i) given.push_back(add_key());
  int hits = 0;
  for (std::size_t i = 1; i < given.size(); ++i) {
    const std::uint32_t key = given[i];
    for (std::uint32_t step = 1; step < 256; ++step) {
      hits += answers((key & ~0xffU) | ((key + step) & 0xff));
      hits += answers(key + (step << 8));
    }
    for (unsigned bit = 0; bit < 32; ++bit) hits += answers(key ^ (1U << bit));
    hits += answers(key + (key - given[i - 1]));
  }
  EXPECT_LT(hits, 5);  // 540 000 attempts; chance alone gives 0.13
}

TEST_F(Keys, DependOnTheSecret) {
  DmaEngine other{Limits{}, SipKey{1, 2}};
  MrInit init = whole_buffer();
  init.pd = *other.alloc_pd();
  int same = 0;
  for (int i = 0; i < 1000; ++i) {
    same += other.keys_of(*other.register_region(init))->rkey.value() == add_key();
  }
  EXPECT_EQ(same, 0);
}

TEST_F(Keys, EveryBitIsDrawn) {
  std::array<int, 32> ones{};
  for (int i = 0; i < 4096; ++i) {
    const std::uint32_t key = add_key();
    for (unsigned bit = 0; bit < 32; ++bit) ones[bit] += static_cast<int>((key >> bit) & 1U);
  }
  for (const int count : ones) EXPECT_NEAR(count, 2048, 200);  // six standard deviations
}

// In 2^20 draws, a plain hash would collide about 128 times.
TEST(KeySequence, DrawsNothingTwice) {
  KeySequence sequence{SipKey{3, 4}};
  std::vector<std::uint32_t> drawn(1U << 20);
  for (std::uint32_t& key : drawn) key = sequence.next();
  std::sort(drawn.begin(), drawn.end());
  EXPECT_EQ(std::adjacent_find(drawn.begin(), drawn.end()), drawn.end());
}

TEST_F(Keys, AreFoundByOthersWhileMoreAreGiven) {
  const std::uint32_t key = add_key();
  std::atomic<bool> over{};
  std::atomic<int> lost{};
  std::thread other{[&] {
    while (!over) {
      if (!answers(key)) ++lost;
    }
  }};
  for (int i = 0; i < 20'000; ++i) {
    const MrHandle region = add_region();
    if (i % 3 == 0) {
      ASSERT_TRUE(dma.deregister(region));
    }
  }
  over = true;
  other.join();
  EXPECT_EQ(lost, 0);
}

TEST_F(Keys, GiveNothingOnceRevoked) {
  const MrHandle region = add_region();
  const std::uint32_t key = rkey(region).value();
  ASSERT_TRUE(dma.revoke(region));
  EXPECT_FALSE(answers(key));
  EXPECT_TRUE(dma.revoke(region)) << "again";
  EXPECT_TRUE(dma.deregister(region));
  EXPECT_FALSE(dma.deregister(region));
}

}  // namespace nerve::nic
