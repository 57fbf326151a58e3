// A capture file that several processes may write to at once.
//
// Records collect in a buffer and reach the file whole, many at a time: appended under a lock, the
// file's header first when the file is empty. Two ends of a run that are given the same name thus
// share one file and neither overwrites the other; records of different processes can stand
// slightly out of order, by as much as their buffers waited.
//
// The locks are of the kind that belongs to the open file, on bytes far behind its end, so that
// they mean nothing to readers and vanish with the process however it ends. Taking one never waits:
// a process that was stopped while it wrote must not stop the others.
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

// The longest packet there is: what an IP header can say.
inline constexpr std::size_t kMaxPcapPacket = 0xffff;

struct PcapOptions {
  std::string file;  // %p becomes the process's id
  // One instant on both clocks: frames are stamped in monotonic time, captures in wall time.
  Time start{};
  std::uint64_t start_wall_ns{};        // since 1970
  std::uint32_t snap_length{0x4'0000};  // bytes of each packet that are kept
  std::uint64_t packet_limit{};         // of this process; zero for none
  std::size_t buffer{1U << 20};         // bytes collected before they are written
};

struct PcapCounters {
  std::uint64_t written{};  // records that are in the file, or in the buffer still
  std::uint64_t dropped{};  // could not be written: the disk is full, or the lock stayed taken
  std::uint64_t limited{};  // beyond the limit
};

class PcapFile {
 public:
  // The reason why not is a sentence that names the file and tells what to do.
  [[nodiscard]] static Result<std::shared_ptr<PcapFile>, std::string> open(PcapOptions options);

  // Empties a capture that is left from an earlier run. One that a living process writes to is left
  // as it is, and what is not a capture of ours is refused. Empty when all is well.
  [[nodiscard]] static std::string start_anew(const std::string& file);

  ~PcapFile();
  PcapFile(const PcapFile&) = delete;
  PcapFile& operator=(const PcapFile&) = delete;

  // One packet: asked for, written into the room, recorded. A packet that is not wanted is counted
  // and need not be encoded.
  [[nodiscard]] bool wants_packet();
  [[nodiscard]] MutableBytes packet_room();
  void record(std::size_t packet_bytes, Time now);

  // Writes what has collected, if the lock is free. Cheap when there is nothing.
  void flush();
  // The same at the end, when nobody will come again: worth a short wait for the lock.
  void finish();

  // Whether another process captures into this file at this moment.
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
