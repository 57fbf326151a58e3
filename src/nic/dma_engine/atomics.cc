// Operations on one 64-bit word, atomic also with respect to the processor's own atomic
// instructions: an application may share a counter between its threads and its peers.
#include <atomic>
#include <cstring>

#include "nic/dma_engine/dma_engine.h"

namespace nerve::nic {
namespace {

// Null where the word is not aligned for an atomic instruction. Atomics never reach such an address
// (see Grant::allow); an ATOMIC_WRITE needs only the right to write, and may.
std::uint64_t* aligned_word(const wire::Piece& at) {
  if (at.address % alignof(std::uint64_t) != 0) return nullptr;
  return reinterpret_cast<std::uint64_t*>(at.address);
}

static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);

}  // namespace

std::uint64_t DmaEngine::compare_swap(const wire::Piece& at, std::uint64_t expected,
                                      std::uint64_t desired) {
  CHECK(at.length == sizeof(std::uint64_t));
  if (at.port != nullptr) {
    return at.port->has_contents() ? at.port->compare_swap(at.address, expected, desired) : 0;
  }
  std::uint64_t* word = aligned_word(at);
  CHECK(word != nullptr);
  // On failure compare_exchange stores the previous value in `expected`; on success it is equal to
  // it.
  std::atomic_ref{*word}.compare_exchange_strong(expected, desired);
  return expected;
}

std::uint64_t DmaEngine::fetch_add(const wire::Piece& at, std::uint64_t addend) {
  CHECK(at.length == sizeof(std::uint64_t));
  if (at.port != nullptr) {
    return at.port->has_contents() ? at.port->fetch_add(at.address, addend) : 0;
  }
  std::uint64_t* word = aligned_word(at);
  CHECK(word != nullptr);
  return std::atomic_ref{*word}.fetch_add(addend);
}

void DmaEngine::store_word(const wire::Piece& at, std::uint64_t value) {
  CHECK(at.length == sizeof(std::uint64_t));
  if (at.port != nullptr) {
    if (at.port->has_contents()) at.port->store_word(at.address, value);
  } else if (std::uint64_t* word = aligned_word(at)) {
    std::atomic_ref{*word}.store(value, std::memory_order_release);
  } else {
    std::memcpy(reinterpret_cast<void*>(at.address), &value, sizeof value);
  }
}

}  // namespace nerve::nic
