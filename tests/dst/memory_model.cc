#include "tests/dst/memory_model.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace nerve::dst {

namespace {

// Creating memory is a third of the work of a small world. So its contents are part of one long
// pattern, in which any two words differ so that misplaced bytes are detected, and buffers are
// reused.
constexpr std::size_t kLongest = std::size_t{3} << 20U;
constexpr std::size_t kOffsets = std::size_t{1} << 20U;

std::span<const std::byte> pattern_of(std::uint64_t seed, std::size_t length) {
  static const std::vector<std::byte> kPattern = [] {
    std::vector<std::byte> bytes(kLongest + kOffsets);
    Prng prng{1};
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
      const std::uint64_t word = prng.next();
      std::memcpy(bytes.data() + at, &word, 8);
    }
    return bytes;
  }();
  CHECK(length <= kLongest);
  return std::span{kPattern}.subspan(Prng{seed}.next() % kOffsets, length);
}

std::vector<std::vector<std::byte>>& spare_buffers() {
  static std::vector<std::vector<std::byte>> buffers;
  return buffers;
}

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
  std::vector<std::byte> buffer;
  if (!spare_buffers().empty()) {
    buffer = std::move(spare_buffers().back());
    spare_buffers().pop_back();
  }
  buffer.assign(bytes.begin(), bytes.end());
  return buffer;
}

}  // namespace

MemoryModel::MemoryModel(std::uint64_t seed, std::size_t zone_size)
    : zone_size_{zone_size},
      actual_{copy_of(pattern_of(seed, kZones * zone_size))},
      expected_{copy_of(actual_)} {
  for (std::size_t zone = 0; zone < kZones; ++zone) next_[zone] = zone * zone_size_;
}

MemoryModel::~MemoryModel() {
  spare_buffers().push_back(std::move(actual_));
  spare_buffers().push_back(std::move(expected_));
}

std::optional<std::size_t> MemoryModel::take(Zone zone, std::size_t length, std::size_t alignment,
                                             Prng& prng) {
  std::size_t at = next_[zone] + prng.between(1, 9);
  at = (at + alignment - 1) / alignment * alignment;
  if (at + length + 1 > zone_start(zone) + zone_size_) return std::nullopt;
  next_[zone] = at + length;
  return at;
}

void MemoryModel::store(std::size_t offset, Bytes bytes) {
  if (bytes.empty()) return;
  std::memcpy(actual_.data() + offset, bytes.data(), bytes.size());
  expect(offset, bytes);
}

void MemoryModel::scramble(std::size_t offset, std::size_t length, Prng& prng) {
  for (std::size_t i = 0; i < length; i += 8) {
    const std::uint64_t word = prng.next();
    std::memcpy(actual_.data() + offset + i, &word, std::min<std::size_t>(8, length - i));
  }
  expect(offset, actual(offset, length));
}

void MemoryModel::expect(std::size_t offset, Bytes bytes) {
  if (bytes.empty()) return;
  std::memcpy(expected_.data() + offset, bytes.data(), bytes.size());
}

void MemoryModel::expect_of_request(std::size_t offset, Bytes bytes) {
  if (seals_.empty()) return expect(offset, bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (!sealed(offset + i)) expected_[offset + i] = bytes[i];
  }
}

bool MemoryModel::sealed(std::size_t at) const {
  return std::ranges::any_of(seals_, [&](const Patch& seal) {
    return at >= seal.offset && at < seal.offset + seal.length;
  });
}

void MemoryModel::seal(std::size_t offset, std::size_t length, Prng& prng) {
  const Bytes before = actual(offset, length);
  seals_.push_back({.offset = offset, .length = length, .before = {before.begin(), before.end()}});
  scramble(offset, length, prng);
}

std::vector<std::byte> MemoryModel::left_by_requests(std::size_t offset, std::size_t length) const {
  const Bytes now = actual(offset, length);
  std::vector<std::byte> left{now.begin(), now.end()};
  for (const Patch& seal : seals_) {
    const std::size_t first = std::max(offset, seal.offset);
    const std::size_t end = std::min(offset + length, seal.offset + seal.length);
    for (std::size_t at = first; at < end; ++at) left[at - offset] = seal.before[at - seal.offset];
  }
  return left;
}

bool MemoryModel::explained(std::size_t at) const {
  if (sealed(at)) return false;
  return std::ranges::any_of(loose_ends_, [&](const Patch& patch) {
    if (at < patch.offset || at >= patch.offset + patch.length) return false;
    const std::size_t i = at - patch.offset;
    return patch.after.empty() || actual_[at] == patch.after[i] ||
           (!patch.before.empty() && actual_[at] == patch.before[i]);
  });
}

std::string MemoryModel::verify() const {
  constexpr std::size_t kBlock = 256;  // most blocks are as expected
  for (std::size_t block = 0; block < actual_.size(); block += kBlock) {
    const std::size_t end = std::min(block + kBlock, actual_.size());
    if (std::memcmp(actual_.data() + block, expected_.data() + block, end - block) == 0) continue;
    for (std::size_t at = block; at < end; ++at) {
      if (actual_[at] == expected_[at] || explained(at)) continue;
      static constexpr const char* kNames[] = {"static", "open", "local"};
      return std::string{kNames[at / zone_size_]} + " memory differs at iova offset " +
             std::to_string(at) + ": is " + std::to_string(std::to_integer<int>(actual_[at])) +
             ", must be " + std::to_string(std::to_integer<int>(expected_[at]));
    }
  }
  return {};
}

}  // namespace nerve::dst
