// What a program and the GPU copier share: an area of memory for each connection, and messages.
//
// The area, in memory that the program creates. Both sides map all of it.
//
//      0   commands begun by the program so far (8 bytes)             written by the program
//      8   requests sent so far (4 bytes)                             written by the program
//     64   1 while the copier sleeps: then a command needs a wake-up  written by the copier
//    128   results: 8 bytes for each slot                             written by the copier
//   4096   commands, 64 bytes each, in a ring
//  64 Ki   the staging area
//
// A result is the number of the last command with that slot that has ended, times 4, plus how it
// ended. There are more commands in the ring than slots, so it is never full.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "cuda/abi.h"
#include "host/gpu/gpu_staging.h"

namespace nerve::host::copier {

inline constexpr std::uint32_t kVersion = 1;
// The program in the folder of the verbs library.
inline constexpr const char* kProgram = "nerve-gpu-copier";
// The abstract name at which the copier of a user listens; one per network namespace. Tests have
// their own, by _NERVE_GPU_COPIER_NAME.
[[nodiscard]] std::string socket_name();
// The descriptor at which a copier finds its listening socket.
inline constexpr int kListener = 3;

struct Command {
  std::uint32_t kind{};  // GpuCopies::Kind
  std::uint32_t done{};
  std::uint32_t after{};  // a slot, plus one; zero: none
  std::uint32_t reserved{};
  std::uint64_t gpu{};    // the copier's address
  std::uint64_t other{};  // an offset in the staging area, or the copier's address
  std::uint64_t length{};
  std::array<std::uint64_t, 3> unused{};
};
static_assert(sizeof(Command) == 64);

inline constexpr std::size_t kCommands = 256;
static_assert(kCommands > kGpuSlots);
inline constexpr std::size_t kStagingAt = std::size_t{64} << 10U;
inline constexpr std::size_t kAreaSize = kStagingAt + kGpuStagingSize;

enum class Outcome : std::uint8_t {
  kDone = 0,
  kFailed = 1,
  kSlow = 2,  // done, but the GPU was busy with kernels of other processes
};

struct Area {
  std::atomic<std::uint64_t> begun;
  std::atomic<std::uint32_t> requests;
  std::array<std::byte, 52> gap0;
  std::atomic<std::uint32_t> sleeps;
  std::array<std::byte, 60> gap1;
  std::array<std::atomic<std::uint64_t>, kGpuSlots> results;
  std::array<std::byte, 4096 - 128 - 8 * kGpuSlots> gap2;
  std::array<Command, kCommands> commands;
};
static_assert(sizeof(Area) == 4096 + kCommands * sizeof(Command));
static_assert(sizeof(Area) <= kStagingAt);

// Requests, each with one reply.
enum class What : std::uint32_t {
  kJoin = 1,    // descriptors: the area, an eventfd that wakes the copier; value: its identity
  kImport = 2,  // opens memory of the program; value: the copier's address of its first byte
  kForget = 3,  // closes it, after every copy that was requested so far has ended
  kSettle = 4,  // answered after every copy that was requested so far, by any program, has ended
};
struct Request {
  std::uint32_t version{kVersion};
  What what{};
  cuda::Uuid device{};       // kJoin
  cuda::IpcHandle handle{};  // kImport, without a descriptor
  std::uint64_t size{};      // kImport
  std::uint64_t address{};   // kForget: the copier's
};
struct Reply {
  std::uint32_t refused{};
  std::uint32_t reserved{};
  std::uint64_t value{};
  std::array<char, 112> why{};  // if refused
};

}  // namespace nerve::host::copier
