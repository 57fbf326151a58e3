#include "link/descriptor.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace nerve::link {
namespace {

// One bit for each descriptor of ours. Higher descriptors are not tracked.
constexpr std::size_t kDescriptors = std::size_t{1} << 16;
constexpr std::size_t kBits = 64;
std::array<std::atomic<std::uint64_t>, kDescriptors / kBits> ours;

std::atomic<std::uint64_t>* word_of(int fd) {
  const auto index = static_cast<std::size_t>(fd) / kBits;
  return index < ours.size() ? &ours[index] : nullptr;
}

std::uint64_t bit_of(int fd) { return std::uint64_t{1} << (static_cast<unsigned>(fd) % kBits); }

}  // namespace

Descriptor::Descriptor(int fd) : fd_{fd} {
  if (fd < 0) return;
  if (auto* word = word_of(fd)) word->fetch_or(bit_of(fd));
}

void Descriptor::close() {
  if (fd_ < 0) return;
  if (auto* word = word_of(fd_)) {
    // The bit is clear if close_inherited() has closed it in the child of a fork.
    if ((word->fetch_and(~bit_of(fd_)) & bit_of(fd_)) == 0) return;
  }
  ::close(fd_);
}

int Descriptor::release() {
  if (fd_ < 0) return -1;
  if (auto* word = word_of(fd_)) word->fetch_and(~bit_of(fd_));
  return std::exchange(fd_, -1);
}

void Descriptor::close_inherited() {
  for (std::size_t i = 0; i < ours.size(); ++i) {
    for (std::uint64_t bits = ours[i].exchange(0); bits != 0; bits &= bits - 1) {
      ::close(static_cast<int>(i * kBits) + std::countr_zero(bits));
    }
  }
}

}  // namespace nerve::link
