// A trace file: what one shard of a process recorded (nic/trace.h).
//
//   header    4096 bytes
//   records   `capacity` of them, 40 bytes each; the first min(count, capacity) are used
//
// The file is mapped by its writer, so it is right at every moment, also after the writer was
// killed. Bytes are in the order of the machine. A reader trusts nothing in it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "nic/trace.h"

namespace nerve::host {

inline constexpr std::array<char, 8> kTraceMagic{'N', 'E', 'R', 'V', 'E', 'T', 'R', 'C'};
inline constexpr std::uint32_t kTraceVersion = 1;
inline constexpr std::size_t kTraceHeaderSize = 4096;
inline constexpr std::size_t kTraceFileSize = std::size_t{64} << 20;
inline constexpr std::uint64_t kTraceCapacity =
    (kTraceFileSize - kTraceHeaderSize) / sizeof(nic::TraceRecord);

struct TraceDevice {
  static constexpr std::size_t kAddresses = 16;
  std::array<char, 64> name;                        // ends with a zero
  std::array<char, 48> address;                     // the first one, as text
  std::array<std::uint64_t, kAddresses> addresses;  // nic::short_address(); zero: none
};

struct TraceHeader {
  static constexpr std::size_t kDevices = 8;  // those beyond are left out
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t record_size;
  std::uint64_t capacity;
  std::uint64_t messages;  // that each QP records, in each direction
  std::uint32_t pid;
  std::uint32_t slot;
  std::array<char, 64> program;
  std::uint64_t count;  // records added; those beyond the capacity were lost
  std::uint64_t device_count;
  std::array<TraceDevice, kDevices> devices;
};
static_assert(sizeof(TraceHeader) <= kTraceHeaderSize);
static_assert(sizeof(std::atomic<std::uint64_t>) == sizeof(std::uint64_t));

}  // namespace nerve::host
