// Goal: GpuMemory moves the right bytes, never reports them too early, and never waits for a
// kernel.
#include "host/gpu/gpu_memory.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "tests/gpu/gpu.h"

namespace gpu_test {
namespace {

using nerve::host::GpuFinding;
using nerve::host::GpuMemory;
using Progress = nerve::LateMemory::Progress;
using Ticket = nerve::LateMemory::Ticket;
using Wanted = nerve::LateMemory::Wanted;

class GpuMemoryTest : public Cuda {
 protected:
  void add(const Memory& memory) {
    ASSERT_EQ(gpu.add(memory.address(), memory.size()).finding, GpuFinding::kGpu);
  }
  // Asks until the part is there or has failed; the engine sends what it has before each question.
  Progress ask(Wanted wanted, const std::byte*& bytes) {
    for (;;) {
      wanted.engine = this;
      gpu.release(this);
      const auto fetched = gpu.fetch(wanted);
      bytes = fetched.bytes;
      if (fetched.progress != Progress::kLater) return fetched.progress;
      rest();
    }
  }
  // Sends a message in parts; what it would have sent.
  Buffer send(std::uint64_t address, std::size_t length, std::uint32_t part) {
    Buffer sent;
    const std::uint64_t message = ++messages;
    for (std::size_t done = 0; done < length;) {
      const auto now = static_cast<std::uint32_t>(std::min<std::size_t>(part, length - done));
      const std::byte* bytes = nullptr;
      if (ask({.address = address + done,
               .length = now,
               .follow = length - done - now,
               .engine = this,
               .message = message},
              bytes) != Progress::kDone) {
        ADD_FAILURE() << "fetch failed";
        return sent;
      }
      sent.insert(sent.end(), bytes, bytes + now);
      done += now;
    }
    return sent;
  }
  Progress wait_landed(Ticket ticket) {
    for (;;) {
      if (const Progress reached = gpu.landed(ticket - 1, ticket); reached != Progress::kLater)
        return reached;
      rest();
    }
  }

  GpuMemory gpu;
  std::uint64_t messages{};
};

TEST_F(GpuMemoryTest, FetchReturnsTheBytesOfTheGpu) {
  const Memory memory{3 * kMiB + 17};
  const Buffer bytes = pattern(memory.size(), 1);
  memory.fill(bytes);
  add(memory);
  EXPECT_EQ(send(memory.address(), memory.size(), 4096), bytes);
  EXPECT_EQ(send(memory.address(), memory.size(), 60000), bytes);  // parts across windows
  EXPECT_EQ(send(memory.address() + 5, 1, 4096), Buffer(bytes.begin() + 5, bytes.begin() + 6));
  gpu.remove(memory.address(), memory.size(), memory.buffer());
}

TEST_F(GpuMemoryTest, FetchReadsAhead) {
  const Memory memory{2 * kMiB};
  add(memory);
  (void)send(memory.address(), memory.size(), 4096);
  const auto counts = fake_cuda_counts();
  EXPECT_LE(counts.copies, 9U);  // not one per part
  EXPECT_GE(counts.copied_bytes, memory.size());
  EXPECT_LE(counts.copied_bytes, memory.size() + 256 * kKiB);
}

TEST_F(GpuMemoryTest, FetchNeverWaits) {
  const Memory memory{4096};
  add(memory);
  fake_cuda_hold_copies();
  const Wanted wanted{
      .address = memory.address(), .length = 4096, .follow = 0, .engine = this, .message = 1};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(gpu.fetch(wanted).progress, Progress::kLater);
  EXPECT_EQ(fake_cuda_counts().copies, 1U);
  fake_cuda_let_copies_end();
  const std::byte* bytes{};
  EXPECT_EQ(ask(wanted, bytes), Progress::kDone);
}

TEST_F(GpuMemoryTest, AMessageNeverGetsTheBytesOfAnEarlierOne) {
  const Memory memory{8192};
  add(memory);
  for (std::uint64_t i = 0; i < 50; ++i) {
    const Buffer bytes = pattern(memory.size(), i);
    memory.fill(bytes);
    ASSERT_EQ(send(memory.address(), memory.size(), 4096), bytes);
  }
}

TEST_F(GpuMemoryTest, AMessageIsSentAgainFromItsWindow) {
  const Memory memory{64 * kKiB};
  memory.fill(pattern(memory.size(), 1));
  add(memory);
  const Wanted wanted{.address = memory.address(),
                      .length = 4096,
                      .follow = 60 * kKiB,
                      .engine = this,
                      .message = 1};
  const std::byte* first{};
  const std::byte* second{};
  ASSERT_EQ(ask(wanted, first), Progress::kDone);
  ASSERT_EQ(ask(wanted, second), Progress::kDone);
  EXPECT_EQ(first, second);
  EXPECT_EQ(fake_cuda_counts().copies, 1U);
}

TEST_F(GpuMemoryTest, BytesOfABurstStayWhileItIsFilled) {
  const Memory memory{2 * kMiB};
  const Buffer bytes = pattern(memory.size(), 12);
  memory.fill(bytes);
  add(memory);
  const auto part = [&](std::uint64_t number) {
    return Wanted{.address = memory.address() + number * 4096,
                  .length = 4096,
                  .follow = 0,
                  .engine = this,
                  .message = 1000 + number};
  };
  // Every message takes a window, ...
  std::vector<const std::byte*> held;
  while (held.size() < nerve::host::kGpuWindows) {
    const auto fetched = gpu.fetch(part(held.size()));
    ASSERT_NE(fetched.progress, Progress::kFailed);
    if (fetched.progress == Progress::kDone) held.push_back(fetched.bytes);
    rest();
  }
  // ... and then there is none for this burst, however long it takes.
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(gpu.fetch(part(held.size())).progress, Progress::kLater);
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    EXPECT_EQ(std::memcmp(held[i], bytes.data() + i * 4096, 4096), 0);
  }
  // What another engine sends releases nothing, ...
  const int other = 0;
  const Wanted next{.address = memory.address() + kMiB,
                    .length = 4096,
                    .follow = 0,
                    .engine = &other,
                    .message = 9};
  EXPECT_EQ(gpu.fetch(next).progress, Progress::kLater);
  gpu.release(&other);
  EXPECT_EQ(gpu.fetch(next).progress, Progress::kLater);
  EXPECT_EQ(fake_cuda_counts().copies, nerve::host::kGpuWindows);
  // ... what this one sends does.
  gpu.release(this);
  EXPECT_EQ(gpu.fetch(next).progress, Progress::kLater);
  EXPECT_EQ(fake_cuda_counts().copies, nerve::host::kGpuWindows + 1);
}

TEST_F(GpuMemoryTest, MoreMessagesThanWindowsAllProgress) {
  constexpr std::size_t kMessages = 40;
  constexpr std::size_t kLength = 32 * kKiB;
  const Memory memory{kMessages * kLength};
  const Buffer bytes = pattern(memory.size(), 3);
  memory.fill(bytes);
  add(memory);
  std::vector<std::size_t> done(kMessages);
  Buffer sent(memory.size());
  std::size_t left = kMessages;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  for (; left > 0 && std::chrono::steady_clock::now() < deadline; gpu.release(this)) {
    for (std::size_t i = 0; i < kMessages; ++i) {
      if (done[i] == kLength) continue;
      const std::size_t offset = i * kLength + done[i];
      const auto fetched = gpu.fetch({.address = memory.address() + offset,
                                      .length = 4096,
                                      .follow = kLength - done[i] - 4096,
                                      .engine = this,
                                      .message = i + 1});
      if (fetched.progress != Progress::kDone) continue;
      std::memcpy(sent.data() + offset, fetched.bytes, 4096);
      done[i] += 4096;
      if (done[i] == kLength) --left;
    }
    rest();
  }
  EXPECT_EQ(left, 0U);
  EXPECT_EQ(sent, bytes);
}

TEST_F(GpuMemoryTest, LandedWritesAreInGpuMemory) {
  const Memory memory{kMiB};
  add(memory);
  const Buffer bytes = pattern(memory.size(), 4);
  for (std::size_t at = 0; at < bytes.size(); at += 4096) {
    gpu.write(memory.address() + at, {bytes.data() + at, 4096});
  }
  EXPECT_EQ(gpu.written(), 256U);
  EXPECT_EQ(wait_landed(gpu.written()), Progress::kDone);
  EXPECT_EQ(memory.contents(), bytes);
  EXPECT_EQ(fake_cuda_counts().copies, 4U);  // collected
  EXPECT_EQ(fake_cuda_counts().copied_bytes, bytes.size());
}

TEST_F(GpuMemoryTest, AWriteHasNotLandedBeforeItsCopyHasEnded) {
  const Memory memory{4096};
  add(memory);
  fake_cuda_hold_copies();
  const Buffer bytes = pattern(8, 5);
  gpu.write(memory.address(), bytes);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(gpu.landed(0, 1), Progress::kLater);
  EXPECT_EQ(memory.contents(0, 8), Buffer(8));
  fake_cuda_let_copies_end();
  EXPECT_EQ(wait_landed(1), Progress::kDone);
  EXPECT_EQ(memory.contents(0, 8), bytes);
}

TEST_F(GpuMemoryTest, AWriteOfSeveralCopiesLandsWithTheLast) {
  const Memory memory{300 * kKiB};
  add(memory);
  const Buffer bytes = pattern(memory.size(), 13);
  gpu.write(memory.address(), bytes);
  // The first copy begins by itself, the second one is collected.
  while (memory.contents(0, 1) != Buffer(bytes.begin(), bytes.begin() + 1)) rest();
  fake_cuda_hold_copies();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(gpu.landed(0, 1), Progress::kLater);
  fake_cuda_let_copies_end();
  EXPECT_EQ(wait_landed(1), Progress::kDone);
  EXPECT_EQ(memory.contents(), bytes);
}

TEST_F(GpuMemoryTest, WritesOfTwoGpusLandInOrder) {
  const Memory one{4096, 0};
  const Memory other{4096, 1};
  add(one);
  add(other);
  fake_cuda_set_delay_us(0, 300);
  for (std::uint64_t i = 0; i < 40; ++i) {
    const Buffer bytes = pattern(64, i);
    const Memory& to = i % 2 == 0 ? one : other;
    gpu.write(to.address() + i * 64, bytes);
    if (i % 5 != 4) continue;
    ASSERT_EQ(wait_landed(i + 1), Progress::kDone);
    for (std::uint64_t j = 0; j <= i; ++j) {
      ASSERT_EQ((j % 2 == 0 ? one : other).contents(j * 64, 64), pattern(64, j));
    }
  }
}

TEST_F(GpuMemoryTest, AFullRingWaitsAndLosesNothing) {
  const Memory memory{24 * kMiB};
  add(memory);
  fake_cuda_set_delay_us(20, 60);
  const Buffer bytes = pattern(memory.size(), 6);
  const std::size_t part = 100'000;  // no divisor of the ring's size
  for (std::size_t at = 0; at < bytes.size(); at += part) {
    gpu.write(memory.address() + at, {bytes.data() + at, std::min(part, bytes.size() - at)});
  }
  EXPECT_EQ(wait_landed(gpu.written()), Progress::kDone);
  EXPECT_EQ(memory.contents(), bytes);
}

TEST_F(GpuMemoryTest, ManySmallWritesWaitAndLoseNothing) {
  const Memory memory{64 * kKiB};
  add(memory);
  const Buffer bytes = pattern(memory.size(), 7);
  for (std::size_t i = 0; i < 1024; ++i) {
    const std::size_t at = i * 389 % 1024 * 64;
    gpu.write(memory.address() + at, {bytes.data() + at, 64});
  }
  EXPECT_EQ(wait_landed(gpu.written()), Progress::kDone);
  EXPECT_EQ(memory.contents(), bytes);
}

TEST_F(GpuMemoryTest, AFetchReturnsEarlierWrites) {
  const Memory memory{64 * kKiB};
  add(memory);
  fake_cuda_set_delay_us(0, 200);
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Buffer bytes = pattern(memory.size(), i);
    gpu.write(memory.address(), bytes);
    ASSERT_EQ(send(memory.address(), memory.size(), 4096), bytes);
  }
}

TEST_F(GpuMemoryTest, WordsAreChangedBehindEarlierWrites) {
  const Memory memory{4096};
  add(memory);
  const std::uint64_t first = 40;
  Buffer bytes(sizeof first);
  std::memcpy(bytes.data(), &first, sizeof first);
  gpu.write(memory.address() + 8, bytes);
  EXPECT_EQ(gpu.fetch_add(memory.address() + 8, 2), 40U);
  EXPECT_EQ(gpu.compare_swap(memory.address() + 8, 41, 7), 42U);
  EXPECT_EQ(gpu.compare_swap(memory.address() + 8, 42, 43), 42U);
  std::uint64_t word{};
  gpu.read(memory.address() + 8, std::as_writable_bytes(std::span{&word, 1}));
  EXPECT_EQ(word, 43U);
  gpu.store_word(memory.address() + 8, 99);
  std::memcpy(&word, memory.contents(8, 8).data(), sizeof word);
  EXPECT_EQ(word, 99U);
}

TEST_F(GpuMemoryTest, ReadsOfAnySizeReturnTheBytes) {
  const Memory memory{200'000};
  const Buffer bytes = pattern(memory.size(), 8);
  memory.fill(bytes);
  add(memory);
  Buffer read(memory.size());
  gpu.read(memory.address(), read);
  EXPECT_EQ(read, bytes);
}

TEST_F(GpuMemoryTest, ThreadsAddToOneWord) {
  const Memory memory{64};
  add(memory);
  fake_cuda_set_delay_us(0, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 25; ++j) (void)gpu.fetch_add(memory.address(), 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(gpu.fetch_add(memory.address(), 0), 100U);
}

TEST_F(GpuMemoryTest, NothingWaitsForARunningKernel) {
  const Memory memory{kMiB};
  fake_cuda_begin_kernel();
  add(memory);
  const Buffer bytes = pattern(memory.size(), 9);
  gpu.write(memory.address(), bytes);
  EXPECT_EQ(wait_landed(gpu.written()), Progress::kDone);
  EXPECT_EQ(send(memory.address(), memory.size(), 4096), bytes);
  EXPECT_EQ(gpu.compare_swap(memory.address(), 0, 0) & 0xff, std::to_integer<unsigned>(bytes[0]));
  gpu.remove(memory.address(), memory.size(), memory.buffer());
  fake_cuda_end_kernel();
}

TEST_F(GpuMemoryTest, AGraphCaptureIsNotDisturbed) {
  const Memory memory{kMiB};
  fake_cuda_begin_capture();
  add(memory);
  const Buffer bytes = pattern(memory.size(), 10);
  gpu.write(memory.address(), bytes);
  EXPECT_EQ(wait_landed(gpu.written()), Progress::kDone);
  EXPECT_EQ(send(memory.address(), memory.size(), 4096), bytes);
  EXPECT_TRUE(fake_cuda_end_capture());
}

TEST_F(GpuMemoryTest, TheCurrentContextOfTheThreadStays) {
  const Memory memory{4096, 1};
  add(memory);
  (void)send(memory.address(), 4096, 4096);
  CUcontext current{};
  EXPECT_EQ(cuCtxGetCurrent(&current), kSuccess);
  EXPECT_EQ(current, nullptr);
}

TEST_F(GpuMemoryTest, RemovingWaitsForCopies) {
  const Memory memory{kMiB};
  add(memory);
  fake_cuda_set_delay_us(500, 1000);
  gpu.write(memory.address(), pattern(4096, 11));
  (void)gpu.fetch({.address = memory.address() + 8192,
                   .length = 4096,
                   .follow = 500'000,
                   .engine = this,
                   .message = 1});
  gpu.remove(memory.address(), memory.size(), memory.buffer());
  EXPECT_EQ(memory.contents(0, 4096), pattern(4096, 11));
  EXPECT_EQ(
      gpu.fetch(
             {.address = memory.address(), .length = 8, .follow = 0, .engine = this, .message = 2})
          .progress,
      Progress::kFailed);
}

TEST_F(GpuMemoryTest, ARangeIsRegisteredUntilItsLastRemoval) {
  const Memory memory{kMiB};
  add(memory);
  add(memory);
  ASSERT_EQ(gpu.add(memory.address() + 4096, 4096).finding, GpuFinding::kGpu);
  gpu.remove(memory.address(), memory.size(), memory.buffer());
  (void)send(memory.address(), 4096, 4096);
  gpu.remove(memory.address(), memory.size(), memory.buffer());
  (void)send(memory.address() + 4096, 4096, 4096);
  gpu.remove(memory.address() + 4096, 4096, memory.buffer());
  gpu.write(memory.address() + 4096, pattern(8, 1));
  EXPECT_EQ(gpu.landed(0, gpu.written()), Progress::kFailed);
}

TEST_F(GpuMemoryTest, EverythingIsReturnedAtTheEnd) {
  const auto before = fake_cuda_counts();
  const Memory memory{kMiB};
  {
    GpuMemory brief;
    ASSERT_EQ(brief.add(memory.address(), memory.size()).finding, GpuFinding::kGpu);
    brief.write(memory.address(), pattern(kMiB, 1));
    EXPECT_NE(brief.landed(0, 1), Progress::kFailed);
    EXPECT_GT(fake_cuda_counts().events, before.events);
  }
  const auto after = fake_cuda_counts();
  EXPECT_EQ(after.streams, before.streams);
  EXPECT_EQ(after.events, before.events);
  EXPECT_EQ(after.pinned, before.pinned);
}

// A byte model: several threads, each with its own part of the memory, and random operations.
TEST_F(GpuMemoryTest, RandomOperationsOfThreadsMatchAModel) {
  constexpr std::size_t kPart = 512 * kKiB;
  const Memory one{2 * kPart, 0};
  const Memory other{2 * kPart, 1};
  add(one);
  add(other);
  fake_cuda_set_delay_us(0, 40);
  const auto play = [&](const Memory& memory, std::size_t base, std::uint32_t seed) {
    std::mt19937 random{seed};
    const auto below = [&](std::size_t limit) { return random() % limit; };
    Buffer model(kPart);
    std::uint64_t message = std::uint64_t{seed} << 32U;
    for (int step = 0; step < 60; ++step) {
      const std::size_t offset = below(kPart - 1);
      const std::size_t length = 1 + below(std::min<std::size_t>(kPart - offset, 300'000));
      const std::uint64_t address = memory.address() + base + offset;
      if (below(2) == 0) {
        const Buffer bytes = pattern(length, random());
        const std::size_t part = 1 + below(9000);
        for (std::size_t at = 0; at < length; at += part) {
          gpu.write(address + at, {bytes.data() + at, std::min(part, length - at)});
        }
        std::ranges::copy(bytes, model.begin() + static_cast<std::ptrdiff_t>(offset));
        if (below(2) == 0) {
          ASSERT_EQ(wait_landed(gpu.written()), Progress::kDone);
          ASSERT_EQ(memory.contents(base + offset, length), bytes) << "seed " << seed;
        }
      } else {
        ++message;
        const std::size_t part = 1 + below(9000);
        for (std::size_t at = 0; at < length;) {
          const auto now = static_cast<std::uint32_t>(std::min(part, length - at));
          const auto fetched = gpu.fetch({.address = address + at,
                                          .length = now,
                                          .follow = length - at - now,
                                          .engine = &model,
                                          .message = message});
          ASSERT_NE(fetched.progress, Progress::kFailed);
          if (fetched.progress == Progress::kDone) {
            ASSERT_EQ(std::memcmp(fetched.bytes, model.data() + offset + at, now), 0)
                << "seed " << seed;
            at += now;
          }
          if (fetched.progress == Progress::kLater || below(8) == 0) {
            gpu.release(&model);
            rest();
          }
        }
        gpu.release(&model);
      }
    }
    ASSERT_EQ(wait_landed(gpu.written()), Progress::kDone);
    ASSERT_EQ(memory.contents(base, kPart), model) << "seed " << seed;
  };
  std::vector<std::thread> threads;
  threads.emplace_back(play, std::cref(one), 0, 1);
  threads.emplace_back(play, std::cref(one), kPart, 2);
  threads.emplace_back(play, std::cref(other), 0, 3);
  threads.emplace_back(play, std::cref(other), kPart, 4);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace gpu_test
