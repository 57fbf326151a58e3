// A capture file that several processes may write at the same time.
//
// Records are buffered and appended many at a time under a lock, after the file header if the file
// is empty. So both ends of a run can use the same file name without overwriting each other.
// Records of different processes may be slightly out of order, by as much as their buffers waited.
//
// The locks are open file description locks on bytes far beyond the end, so that they do not affect
// readers and are released when the process ends, however it ends. Taking one never blocks: a
// process that was stopped while writing must not block the others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "link/descriptor.h"

namespace nerve::link {

// The longest packet that an IP header can describe.
inline constexpr std::size_t kMaxPcapPacket = 0xffff;

struct PcapOptions {
  std::string file;  // %p becomes the process's id
  // The same instant on both clocks: frames have monotonic timestamps, captures have wall time.
  Time start{};
  std::uint64_t start_wall_ns{};        // since 1970
  std::uint32_t snap_length{0x4'0000};  // bytes kept of each packet
  std::uint64_t packet_limit{};         // for this process; zero: no limit
  std::size_t buffer{1U << 20};         // bytes collected before a write
};

struct PcapCounters {
  std::uint64_t written{};  // records in the file or still in the buffer
  std::uint64_t dropped{};  // could not be written: the disk is full, or the lock remained taken
  std::uint64_t limited{};  // beyond the limit
};

class PcapFile {
 public:
  // The error is a sentence that names the file and says what to do.
  [[nodiscard]] static Result<std::shared_ptr<PcapFile>, std::string> open(PcapOptions options);

  // Empties a capture from an earlier run. A capture that a live process is writing is left alone,
  // and a file that is not our capture is refused. Returns an empty string on success, otherwise
  // the error.
  [[nodiscard]] static std::string start_anew(const std::string& file);

  ~PcapFile();
  PcapFile(const PcapFile&) = delete;
  PcapFile& operator=(const PcapFile&) = delete;

  // To record a packet: check wants_packet(), encode it into packet_room(), then call record(). A
  // packet that is not wanted is only counted.
  [[nodiscard]] bool wants_packet();
  [[nodiscard]] MutableBytes packet_room();
  void record(std::size_t packet_bytes, Time now);

  // Writes the buffer if the lock is free. Cheap if there is nothing to write.
  void flush();
  // The same at the end of the process: waits a short time for the lock.
  void finish();

  // True if another process is capturing into this file now.
  [[nodiscard]] bool is_shared() const;

  [[nodiscard]] const std::string& path() const { return options_.file; }
  [[nodiscard]] const PcapCounters& counters() const { return counters_; }

 private:
  PcapFile(PcapOptions options, int fd);
  [[nodiscard]] bool append(Bytes bytes);

  PcapOptions options_;
  Descriptor fd_;
  std::vector<std::byte> buffer_;
  std::size_t used_{};
  std::uint64_t buffered_records_{};
  bool failed_{};
  PcapCounters counters_;
};

}  // namespace nerve::link
