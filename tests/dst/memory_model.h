// A host's memory, and what the model expects of it.
//
// The engines read and write the real bytes; an independent model predicts the expected ones. They
// are compared byte by byte, so that a stray write anywhere is a violation. If a request failed,
// the standard leaves its effect open: its bytes may be the old or the new ones. Such open ranges
// are recorded, and only they may explain a difference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/prng.h"

namespace nerve::dst {

class MemoryModel;

// Bytes that a request replaces. `after` empty: the contents are undefined.
struct Patch {
  MemoryModel* memory{};
  std::size_t offset{};
  std::size_t length{};
  std::vector<std::byte> before{};
  std::vector<std::byte> after{};
};

class MemoryModel {
 public:
  // Each zone is registered separately, with the rights that its name implies.
  enum Zone : std::uint8_t {
    kStatic,  // never changes; peers may read it
    kOpen,    // peers have all rights
    kLocal,   // receive buffers, results and message sources; peers have no rights
    kZones
  };
  // The address of the first byte as used by work requests and peers: not that of the real memory,
  // which differs from run to run.
  static constexpr std::uint64_t kIovaBase = 0x4000'0000'0000;

  MemoryModel(std::uint64_t seed, std::size_t zone_size);
  ~MemoryModel();
  MemoryModel(const MemoryModel&) = delete;
  MemoryModel& operator=(const MemoryModel&) = delete;

  [[nodiscard]] std::size_t zone_size() const { return zone_size_; }
  [[nodiscard]] std::size_t zone_start(Zone zone) const { return zone * zone_size_; }
  [[nodiscard]] static std::uint64_t iova(std::size_t offset) { return kIovaBase + offset; }
  [[nodiscard]] std::byte* pointer(std::size_t offset) { return actual_.data() + offset; }

  // Allocates unused bytes, with a gap of canaries around them.
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
  // The model expects these bytes from now on.
  void expect(std::size_t offset, Bytes bytes);
  // The same for the effect of a request, which does not matter where the memory is sealed.
  void expect_of_request(std::size_t offset, Bytes bytes);
  // The patch may have been applied, in part or in whole, or not.
  void leave_open(Patch patch) { loose_ends_.push_back(std::move(patch)); }

  // The application takes the memory back: from now on nothing else may change it, whatever is
  // still in flight.
  void seal(std::size_t offset, std::size_t length, Prng& prng);
  // The bytes that requests left there: where it is sealed, those at the time of sealing.
  [[nodiscard]] std::vector<std::byte> left_by_requests(std::size_t offset,
                                                        std::size_t length) const;

  // An unexplained difference; empty when there is none.
  [[nodiscard]] std::string verify() const;

 private:
  [[nodiscard]] bool sealed(std::size_t at) const;
  [[nodiscard]] bool explained(std::size_t at) const;

  std::size_t zone_size_;
  std::size_t next_[kZones];
  std::vector<std::byte> actual_;
  std::vector<std::byte> expected_;
  std::vector<Patch> loose_ends_;
  std::vector<Patch> seals_;  // `before`: the original bytes
};

}  // namespace nerve::dst
