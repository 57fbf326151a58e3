#include <atomic>
#include <thread>

#include "base/prng.h"
#include "tests/nic/dma_engine/dma_fixture.h"
#include "tests/nic/dma_engine/ports.h"
#include "tests/seeds.h"

namespace nerve::nic {

class Atomics : public DmaTest {
 protected:
  static wire::Piece at(const std::uint64_t& word) { return {address_of(&word), 8, nullptr}; }
};

TEST_F(Atomics, ReturnTheValueBefore) {
  std::uint64_t word = 40;
  EXPECT_EQ(DmaEngine::fetch_add(at(word), 2), 40U);
  EXPECT_EQ(word, 42U);
  EXPECT_EQ(DmaEngine::compare_swap(at(word), 41, 7), 42U);
  EXPECT_EQ(word, 42U);
  EXPECT_EQ(DmaEngine::compare_swap(at(word), 42, 7), 42U);
  EXPECT_EQ(word, 7U);
  EXPECT_EQ(DmaEngine::fetch_add(at(word), ~std::uint64_t{0}), 7U);  // wraps
  EXPECT_EQ(word, 6U);
  DmaEngine::store_word(at(word), 0x0102030405060708);
  EXPECT_EQ(word, 0x0102030405060708U);
}

TEST_F(Atomics, StoreServesAWordThatIsNotAligned) {
  DmaEngine::store_word({address_of(&buffer[3]), 8, nullptr}, ~std::uint64_t{0});
  EXPECT_EQ(buffer[2], std::byte{0});
  EXPECT_EQ(buffer[3], std::byte{0xff});
  EXPECT_EQ(buffer[10], std::byte{0xff});
  EXPECT_EQ(buffer[11], std::byte{0});
}

TEST_F(Atomics, WithoutContentsNothingHappens) {
  test::VoidPort port;
  EXPECT_EQ(DmaEngine::fetch_add({64, 8, &port}, 1), 0U);
  EXPECT_EQ(DmaEngine::compare_swap({64, 8, &port}, 0, 1), 0U);
  DmaEngine::store_word({64, 8, &port}, 1);
}

TEST(AtomicsBySeed, PortAndHostAgree) {
  test::for_each_seed(200, [](std::uint64_t seed) {
    Prng prng{seed};
    test::FakeGpu gpu{0x1000, 8};
    std::uint64_t word = 0;
    const wire::Piece host{address_of(&word), 8, nullptr};
    const wire::Piece remote{0x1000, 8, &gpu};
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t a = prng.chance(700) ? prng.below(4) : prng.next();
      const std::uint64_t b = prng.below(4);
      switch (prng.below(3)) {
        case 0:
          ASSERT_EQ(DmaEngine::fetch_add(host, a), DmaEngine::fetch_add(remote, a));
          break;
        case 1:
          ASSERT_EQ(DmaEngine::compare_swap(host, b, a), DmaEngine::compare_swap(remote, b, a));
          break;
        default:
          DmaEngine::store_word(host, b);
          DmaEngine::store_word(remote, b);
      }
    }
  });
}

// A thread of the application and peers increment the same word.
TEST(AtomicsWithThreads, NoIncrementIsLost) {
  constexpr std::uint64_t kEach = 200'000;
  alignas(8) std::uint64_t word = 0;
  std::thread application{[&word] {
    for (std::uint64_t i = 0; i < kEach; ++i) std::atomic_ref{word}.fetch_add(1);
  }};
  const wire::Piece at{address_of(&word), 8, nullptr};
  for (std::uint64_t i = 0; i < kEach; ++i) {
    if (i % 2 == 0) {
      DmaEngine::fetch_add(at, 1);
      continue;
    }
    for (std::uint64_t seen = 0;;) {
      const std::uint64_t found = DmaEngine::compare_swap(at, seen, seen + 1);
      if (found == seen) break;
      seen = found;
    }
  }
  application.join();
  EXPECT_EQ(word, 2 * kEach);
}

}  // namespace nerve::nic
