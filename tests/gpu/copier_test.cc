// Goal: the GPU copier moves the right bytes for several programs, survives all of them, and can be
// survived.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>

#include "host/gpu/copier_client.h"
#include "host/gpu/copier_start.h"
#include "host/gpu/gpu_memory.h"
#include "host/peers/unix_socket.h"
#include "tests/gpu/gpu.h"

namespace gpu_test {
namespace {

using nerve::host::GpuFinding;
using nerve::host::GpuMemory;
using Progress = nerve::LateMemory::Progress;
using Ticket = nerve::LateMemory::Ticket;

// The process of this test's copier; zero if there is none.
pid_t copier_process() {
  const std::string mark = "_NERVE_GPU_COPIER_NAME=" + std::to_string(::getpid());
  for (const auto& entry : std::filesystem::directory_iterator{"/proc"}) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry.path() / "exe", ignored) != NERVE_GPU_COPIER_FILE) {
      continue;
    }
    std::ifstream file{entry.path() / "environ"};
    const std::string variables{std::istreambuf_iterator<char>{file}, {}};
    if (('\0' + variables).find('\0' + mark + '\0') == std::string::npos) continue;
    return std::stoi(entry.path().filename());
  }
  return 0;
}

class Copier : public ::testing::Test {
 protected:
  // The driver does not survive a fork: in tests with two processes, each begins with it.
  void begin() {
    ASSERT_EQ(cuInit(0), kSuccess);
    fake_cuda_reset();
    gpu.emplace(NERVE_GPU_COPIER_FILE);
  }
  void SetUp() override { use_copier(true); }
  void TearDown() override {
    gpu.reset();
    if (const pid_t left = copier_process(); left != 0) ::kill(left, SIGKILL);
  }

  void add(const Memory& memory) {
    ASSERT_EQ(gpu->add(memory.address(), memory.size()).finding, GpuFinding::kGpu);
  }
  Progress landed(Ticket ticket) {
    for (;;) {
      const Progress reached = gpu->landed(ticket - 1, ticket);
      if (reached != Progress::kLater) return reached;
      rest();
    }
  }
  Progress write(std::uint64_t address, const Buffer& bytes) {
    gpu->write(address, bytes);
    return landed(gpu->written());
  }
  Buffer read(std::uint64_t address, std::size_t length) {
    Buffer bytes(length);
    gpu->read(address, bytes);
    return bytes;
  }

  std::optional<GpuMemory> gpu;
};

TEST_F(Copier, MovesBytesWithoutACopyInThisProcess) {
  begin();
  const Memory memory{3 * kMiB + 17};
  add(memory);
  const Buffer bytes = pattern(memory.size(), 1);
  EXPECT_EQ(write(memory.address(), bytes), Progress::kDone);
  EXPECT_EQ(memory.contents(), bytes);
  const Buffer others = pattern(memory.size(), 2);
  memory.fill(others);
  EXPECT_EQ(read(memory.address() + 5, 100'000),
            Buffer(others.begin() + 5, others.begin() + 100'005));
  const std::uint64_t before = gpu->fetch_add(memory.address() + 8, 1);
  EXPECT_EQ(gpu->fetch_add(memory.address() + 8, 0), before + 1);
  EXPECT_EQ(fake_cuda_counts().copies, 0U);
  gpu->remove(memory.address(), memory.size(), memory.buffer());
}

TEST_F(Copier, MemoryOfTheMappingApiIsSharedByItsDescriptor) {
  begin();
  const CUdeviceptr address = fake_cuda_alloc_mapped(0, kMiB, true);
  const auto added = gpu->add(address, kMiB);
  ASSERT_EQ(added.finding, GpuFinding::kGpu);
  const Buffer bytes = pattern(kMiB, 3);
  EXPECT_EQ(write(address, bytes), Progress::kDone);
  Buffer there(kMiB);
  EXPECT_TRUE(fake_cuda_peek(there.data(), address, kMiB));
  EXPECT_EQ(there, bytes);
  EXPECT_EQ(fake_cuda_counts().copies, 0U);
  EXPECT_TRUE(gpu->share(address, kMiB));
  gpu->remove(address, kMiB, added.range.buffer);
  fake_cuda_free_mapped(address);
}

TEST_F(Copier, MemoryThatCannotBeSharedIsCopiedInThisProcess) {
  begin();
  for (const CUdeviceptr address :
       {fake_cuda_alloc_pool(0, 4096), fake_cuda_alloc_mapped(0, 4096, false)}) {
    const auto before = fake_cuda_counts().copies;
    const auto added = gpu->add(address, 4096);
    ASSERT_EQ(added.finding, GpuFinding::kGpu);
    EXPECT_EQ(write(address, pattern(4096, 4)), Progress::kDone);
    EXPECT_EQ(fake_cuda_counts().copies, before + 1);
    EXPECT_FALSE(gpu->share(address, 4096));
    gpu->remove(address, 4096, added.range.buffer);
  }
}

TEST_F(Copier, WithoutItsProgramCopiesAreMadeInThisProcess) {
  begin();
  gpu.emplace("/nonexistent/nerve-gpu-copier");
  const Memory memory{4096};
  add(memory);
  EXPECT_EQ(write(memory.address(), pattern(4096, 5)), Progress::kDone);
  EXPECT_EQ(memory.contents(), pattern(4096, 5));
}

TEST_F(Copier, MemoryThatIsAllocatedAgainIsOpenedAgain) {
  begin();
  std::optional<Memory> memory{std::in_place, 64 * 1024U};
  const std::uint64_t address = memory->address();
  add(*memory);
  EXPECT_EQ(write(address, pattern(4096, 6)), Progress::kDone);
  memory.reset();  // freed while it is registered
  memory.emplace(64 * 1024U);
  ASSERT_EQ(memory->address(), address);
  add(*memory);
  EXPECT_EQ(write(address, pattern(4096, 7)), Progress::kDone);
  EXPECT_EQ(memory->contents(0, 4096), pattern(4096, 7));
}

TEST_F(Copier, SeveralGpusHaveTheirOwnStagingArea) {
  begin();
  const Memory first{kMiB, 0};
  const Memory second{kMiB, 1};
  add(first);
  add(second);
  EXPECT_EQ(write(first.address(), pattern(kMiB, 8)), Progress::kDone);
  EXPECT_EQ(write(second.address(), pattern(kMiB, 9)), Progress::kDone);
  EXPECT_EQ(first.contents(), pattern(kMiB, 8));
  EXPECT_EQ(second.contents(), pattern(kMiB, 9));
}

TEST_F(Copier, WhenItIsKilledCopiesFailAndNewMemoryWorks) {
  begin();
  const Memory memory{4096};
  add(memory);
  EXPECT_EQ(write(memory.address(), pattern(4096, 1)), Progress::kDone);
  const pid_t copier = copier_process();
  ASSERT_NE(copier, 0);
  ASSERT_EQ(::kill(copier, SIGKILL), 0);
  EXPECT_EQ(write(memory.address(), pattern(4096, 2)), Progress::kFailed);
  const Memory another{4096};
  add(another);
  EXPECT_EQ(write(another.address(), pattern(4096, 3)), Progress::kDone);
  EXPECT_EQ(another.contents(), pattern(4096, 3));
  EXPECT_NE(copier_process(), copier);
}

TEST_F(Copier, EndsWithItsLastProgram) {
  begin();
  {
    const Memory memory{4096};
    add(memory);
    EXPECT_NE(copier_process(), 0);
    gpu.reset();
  }
  for (int tries = 0; copier_process() != 0 && tries < 1000; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  EXPECT_EQ(copier_process(), 0);
}

TEST_F(Copier, RefusesCommandsThatMakeNoSense) {
  begin();
  const Memory memory{4096};
  add(memory);
  std::string why;
  nerve::cuda::Uuid uuid{};
  uuid.fill(std::byte{1});
  const auto client = nerve::host::CopierClient::join(uuid, NERVE_GPU_COPIER_FILE, why);
  ASSERT_TRUE(client) << why;
  auto* const area = reinterpret_cast<nerve::host::copier::Area*>(client->staging() -
                                                                  nerve::host::copier::kStagingAt);
  const auto shared = gpu->share(memory.address(), 4096);
  ASSERT_TRUE(shared);
  using Command = nerve::host::copier::Command;
  const std::uint64_t there = shared->address;
  const Command good{.kind = 2, .done = 3, .gpu = there, .other = 0, .length = 4096};
  std::vector<Command> commands(9, good);
  commands[0].kind = 0;
  commands[1].kind = 6;
  commands[2].gpu = there + 1;  // beyond its end
  commands[3].gpu = 0x1000;
  commands[4].length = ~std::uint64_t{0};
  commands[5].other = nerve::host::kGpuStagingSize - 1;
  commands[6].after = nerve::host::kGpuSlots + 1;
  commands[7] = {.kind = 4, .done = 3, .gpu = there, .other = 0x1000, .length = 8};
  std::uint64_t number = 0;
  for (const Command& command : commands) {
    area->commands[number % nerve::host::copier::kCommands] = command;
    area->begun.store(++number);
    client->settle();
    const std::uint64_t result = area->results[3].load();
    EXPECT_EQ(result / 4, number);
    const bool failed = result % 4 == static_cast<unsigned>(nerve::host::copier::Outcome::kFailed);
    EXPECT_EQ(failed, number != commands.size()) << number;
  }
  Command lost = good;
  lost.done = nerve::host::kGpuSlots;  // nowhere to report it
  area->commands[number] = lost;
  area->begun.store(++number);
  client->settle();
  EXPECT_EQ(write(memory.address(), pattern(4096, 3)), Progress::kDone);
  // More commands than the ring has: others go on.
  area->begun.store(~std::uint64_t{0} / 8);
  EXPECT_EQ(write(memory.address(), pattern(4096, 4)), Progress::kDone);
  gpu->settle();
}

// Two processes. The child copies from its memory into the parent's.
struct Meeting {
  GpuMemory::Shared target{};
  std::atomic<int> step{};
};

class TwoPrograms : public Copier {
 protected:
  TwoPrograms()
      : meeting{static_cast<Meeting*>(::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE,
                                             MAP_SHARED | MAP_ANONYMOUS, -1, 0))} {}
  void reach(int step) const { meeting->step.store(step); }
  void await(int step) const {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds{30};
    while (meeting->step.load() < step) {
      rest();
      if (std::chrono::steady_clock::now() < limit) continue;
      ADD_FAILURE() << "the other process has not reached step " << step;
      return;
    }
  }
  // Runs `other` in a child and `own` here, and expects both to be content.
  void run(const std::function<void()>& own, const std::function<bool()>& other) {
    if (fake_cuda_was_used()) GTEST_SKIP() << "this process has used the driver before";
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      begin();
      ::_exit(other() ? 0 : 1);
    }
    begin();
    own();
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }

  Meeting* meeting;
};

TEST_F(TwoPrograms, OneCopiesFromItsMemoryIntoTheOther) {
  const Buffer bytes = pattern(3 * kMiB, 1);
  run(
      [&] {
        const Memory memory{4 * kMiB};
        add(memory);
        meeting->target = *gpu->share(memory.address() + kMiB, 3 * kMiB);
        reach(1);
        await(2);
        EXPECT_EQ(memory.contents(kMiB, 3 * kMiB), bytes);
        EXPECT_EQ(fake_cuda_counts().copies, 0U);
        reach(3);
      },
      [&] {
        const Memory memory{3 * kMiB};
        memory.fill(bytes);
        add(memory);
        await(1);
        const bool begun =
            gpu->copy(GpuMemory::Direction::kSend, memory.address(), meeting->target, 3 * kMiB);
        const bool done = begun && landed(gpu->written()) == Progress::kDone;
        memory.fill(pattern(3 * kMiB, 2));
        const bool back =
            gpu->copy(GpuMemory::Direction::kTake, memory.address(), meeting->target, 3 * kMiB) &&
            landed(gpu->written()) == Progress::kDone && memory.contents() == bytes;
        reach(2);
        await(3);
        return done && back && fake_cuda_counts().copies == 0;
      });
}

TEST_F(TwoPrograms, RemovingMemoryWaitsForCopiesOfTheOther) {
  ::setenv("FAKE_CUDA_DELAY_US", "300000,300000", 1);
  run(
      [&] {
        const Memory memory{4096};
        add(memory);
        meeting->target = *gpu->share(memory.address(), 4096);
        reach(1);
        await(2);
        gpu->remove(memory.address(), memory.size(), memory.buffer());
        EXPECT_EQ(memory.contents(), pattern(4096, 1));
        reach(3);
      },
      [&] {
        const Memory memory{4096};
        memory.fill(pattern(4096, 1));
        add(memory);
        await(1);
        const bool begun =
            gpu->copy(GpuMemory::Direction::kSend, memory.address(), meeting->target, 4096);
        reach(2);
        const bool done = landed(gpu->written()) == Progress::kDone;
        await(3);  // from now on there is no such memory
        (void)gpu->copy(GpuMemory::Direction::kSend, memory.address(), meeting->target, 4096);
        return begun && done && landed(gpu->written()) == Progress::kFailed;
      });
}

TEST_F(TwoPrograms, SettlingWaitsForCopiesOfTheOther) {
  ::setenv("FAKE_CUDA_DELAY_US", "300000,300000", 1);
  run(
      [&] {
        const Memory memory{4096};
        add(memory);
        meeting->target = *gpu->share(memory.address(), 4096);
        reach(1);
        await(2);
        gpu->settle();
        EXPECT_EQ(memory.contents(), pattern(4096, 1));
        reach(3);
      },
      [&] {
        const Memory memory{4096};
        memory.fill(pattern(4096, 1));
        add(memory);
        await(1);
        const bool begun =
            gpu->copy(GpuMemory::Direction::kSend, memory.address(), meeting->target, 4096);
        reach(2);
        await(3);
        return begun;
      });
}

TEST_F(TwoPrograms, CopiesThatWaitForTheGpuAreAvoidedForAWhile) {
  ::setenv("FAKE_CUDA_DELAY_US", "3000,3000", 1);
  run(
      [&] {
        const Memory memory{4096};
        add(memory);
        meeting->target = *gpu->share(memory.address(), 4096);
        reach(1);
        await(2);
      },
      [&] {
        const Memory memory{4096};
        add(memory);
        await(1);
        const auto copy = [&] {
          return gpu->copy(GpuMemory::Direction::kSend, memory.address(), meeting->target, 4096);
        };
        bool avoided = false;
        for (int i = 0; i < 50 && !avoided; ++i) {
          avoided = !copy();
          if (!avoided && landed(gpu->written()) != Progress::kDone) return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{150});
        const bool right = avoided && copy() && landed(gpu->written()) == Progress::kDone;
        reach(2);
        return right;
      });
}

TEST_F(TwoPrograms, AProgramThatIsKilledLeavesTheOtherAlone) {
  run(
      [&] {
        const Memory memory{kMiB};
        add(memory);
        meeting->target = *gpu->share(memory.address(), kMiB);
        reach(1);
        await(2);
        // Copies that the killed program had begun may still land.
        const Buffer ours = pattern(kMiB, 5);
        for (int i = 0; i < 500 && memory.contents() != ours; ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds{20});
          ASSERT_EQ(write(memory.address(), ours), Progress::kDone);
        }
        EXPECT_EQ(memory.contents(), ours);
      },
      [&] {
        const Memory memory{kMiB};
        add(memory);
        await(1);
        for (int i = 0; i < 50; ++i) {
          (void)gpu->copy(GpuMemory::Direction::kSend, memory.address(), meeting->target, kMiB);
        }
        reach(2);
        ::_exit(0);
        return true;
      });
}

}  // namespace
}  // namespace gpu_test
