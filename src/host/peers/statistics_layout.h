// The counters of every process of a user on this host, as they lie in shared memory.
//
//   header     magic, version, a sequence number that is odd while a process changes `ended`
//   pids       for each slot, the process whose counters its entry has; zero: none so far
//   ended      for each device, the sum of entries that a later owner of their slot has replaced
//   slots      for each slot, one entry, written by the shard that has the slot
//
// A shard counts here and nowhere else, so an entry is right at every moment, also after its
// process was killed. It stays until the slot has another owner. All numbers have 64 bits, and the
// memory is zero at first. Any process of the user can write anything here: readers bound every
// index, and take numbers for what they are worth.
#pragma once

#include <array>
#include <cstdint>

#include "host/peers/membership.h"
#include "nic/counters.h"

namespace nerve::host {

// Frames that left this process as packets, by transport.
struct ExchangeCounters {
  std::uint64_t unreachable{};  // frames to peers that no path leads to
  std::uint64_t forwarded{};    // arrived here by UDP for another process
  std::uint64_t wrong_path{};   // arrived by a path that the QP's peer does not use
  std::uint64_t shm_frames{};
  std::uint64_t shm_bytes{};
  std::uint64_t udp_frames{};
  std::uint64_t udp_bytes{};
  std::uint64_t sealed_frames{};  // among udp_frames
  ExchangeCounters& operator+=(const ExchangeCounters& other) {
    unreachable += other.unreachable;
    forwarded += other.forwarded;
    wrong_path += other.wrong_path;
    shm_frames += other.shm_frames;
    shm_bytes += other.shm_bytes;
    udp_frames += other.udp_frames;
    udp_bytes += other.udp_bytes;
    sealed_frames += other.sealed_frames;
    return *this;
  }
};

// Requests carried out in a peer's memory without packets.
struct DirectCounters {
  std::uint64_t writes{};
  std::uint64_t bytes_written{};
  std::uint64_t reads{};
  std::uint64_t bytes_read{};
  [[nodiscard]] std::uint64_t times() const { return writes + reads; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_written + bytes_read; }
  DirectCounters& operator+=(const DirectCounters& other) {
    writes += other.writes;
    bytes_written += other.bytes_written;
    reads += other.reads;
    bytes_read += other.bytes_read;
    return *this;
  }
};

// What a controller of paths has done to its QPs (host/steering.h).
struct SteeringCounters {
  std::uint64_t flows_redirected{};
  std::uint64_t orders_refused{};
  SteeringCounters& operator+=(const SteeringCounters& other) {
    flows_redirected += other.flows_redirected;
    orders_refused += other.orders_refused;
    return *this;
  }
};

struct DeviceCounters {
  nic::Counters engine;
  ExchangeCounters transports;
  DirectCounters direct;
  SteeringCounters steering;
  DeviceCounters& operator+=(const DeviceCounters& other) {
    engine += other.engine;
    transports += other.transports;
    direct += other.direct;
    steering += other.steering;
    return *this;
  }
};

struct DeviceEntry {
  std::array<char, 24> name{};  // empty: not in use
  DeviceCounters counters;
};

struct SlotEntry {
  // A process opens few devices; those beyond this are counted in its own memory alone.
  static constexpr std::size_t kDevices = 8;

  std::uint64_t started{};     // when the process began, as the kernel counts it: pids come again
  std::uint64_t run{};         // the pid of the `nerve run` that started it; zero: none
  std::uint64_t summarised{};  // the process has printed its summary
  std::array<char, 24> program{};
  std::array<DeviceEntry, kDevices> devices{};
};

struct StatisticsTable {
  static constexpr std::uint64_t kMagic = 0x4e72'7665'5374'6174;  // "NrveStat"
  static constexpr std::size_t kEndedDevices = 64;

  std::uint64_t magic{};
  std::uint64_t size{};  // of all this: another version has another size
  std::uint64_t sequence{};
  std::uint64_t padding{};
  std::array<std::uint64_t, kSlots> pids{};
  std::array<DeviceEntry, kEndedDevices> ended{};
  std::array<SlotEntry, kSlots> slots{};
};

static_assert(sizeof(DeviceCounters) % sizeof(std::uint64_t) == 0);
static_assert(sizeof(DeviceEntry) == 24 + sizeof(DeviceCounters));

}  // namespace nerve::host
