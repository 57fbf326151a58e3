// A host's memory beside what the model expects of it.
//
// The real bytes are what the engines read and write; the expected ones are what an independent
// model says they must be. They are compared byte by byte, so that a stray write anywhere is a
// violation. Where a request failed the standard leaves its effect open: its bytes may be the old
// or the new ones. Such loose ends are remembered and explain differences, and nothing else does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/prng.h"

namespace nerve::dst {

class MemoryModel;

// Bytes that a request replaces. `after` empty: what is left there is anybody's guess.
struct Patch {
  MemoryModel* memory{};
  std::size_t offset{};
  std::size_t length{};
  std::vector<std::byte> before{};
  std::vector<std::byte> after{};
};

class MemoryModel {
 public:
  // Each zone is registered on its own, with the rights that its name tells.
  enum Zone : std::uint8_t {
    kStatic,  // never changes; peers may read it
    kOpen,    // peers may do everything
    kLocal,   // receive buffers, results and message sources; peers may do nothing
    kZones
  };
  // The address of the first byte in the eyes of work requests and peers: not that of the real
  // memory, which differs from run to run.
  static constexpr std::uint64_t kIovaBase = 0x4000'0000'0000;

  MemoryModel(std::uint64_t seed, std::size_t zone_size);
  ~MemoryModel();
  MemoryModel(const MemoryModel&) = delete;
  MemoryModel& operator=(const MemoryModel&) = delete;

  [[nodiscard]] std::size_t zone_size() const { return zone_size_; }
  [[nodiscard]] std::size_t zone_start(Zone zone) const { return zone * zone_size_; }
  [[nodiscard]] static std::uint64_t iova(std::size_t offset) { return kIovaBase + offset; }
  [[nodiscard]] std::byte* pointer(std::size_t offset) { return actual_.data() + offset; }

  // Bytes that nobody was given before, with a gap of canaries around them.
  std::optional<std::size_t> take(Zone zone, std::size_t length, std::size_t alignment, Prng& prng);

  [[nodiscard]] Bytes actual(std::size_t offset, std::size_t length) const {
    return Bytes{actual_}.subspan(offset, length);
  }
  [[nodiscard]] Bytes expected(std::size_t offset, std::size_t length) const {
    return Bytes{expected_}.subspan(offset, length);
  }
  // The application writes its own memory.
  void store(std::size_t offset, Bytes bytes);
  void scramble(std::size_t offset, std::size_t length, Prng& prng);
  // From now on the model expects these bytes.
  void expect(std::size_t offset, Bytes bytes);
  // The same of what a request has done, which is no matter where the memory is sealed.
  void expect_of_request(std::size_t offset, Bytes bytes);
  // The patch may or may not have happened, in part or in whole.
  void leave_open(Patch patch) { loose_ends_.push_back(std::move(patch)); }

  // The application takes the memory back: from here on nobody else may change it, whatever is
  // still under way.
  void seal(std::size_t offset, std::size_t length, Prng& prng);
  // What requests have left there: where it is sealed, what they had left by then.
  [[nodiscard]] std::vector<std::byte> left_by_requests(std::size_t offset,
                                                        std::size_t length) const;

  // What differs without an explanation; empty when nothing does.
  [[nodiscard]] std::string verify() const;

 private:
  [[nodiscard]] bool sealed(std::size_t at) const;
  [[nodiscard]] bool explained(std::size_t at) const;

  std::size_t zone_size_;
  std::size_t next_[kZones];
  std::vector<std::byte> actual_;
  std::vector<std::byte> expected_;
  std::vector<Patch> loose_ends_;
  std::vector<Patch> seals_;  // `before`: what was there
};

}  // namespace nerve::dst
