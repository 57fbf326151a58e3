// Prefetches the cache lines of an object that will be needed soon.
//
// GCC does not count a prefetch as an effect, so it removes calls of functions that do nothing
// else, unless it inlines them. The empty instruction, which has no result, keeps them.
#pragma once

#include <cstddef>

namespace nerve {

inline void fetch_line(const void* at) {
  __builtin_prefetch(at);
  asm("" : : "r"(at));
}

inline void fetch_lines(const void* begin, const void* end) {
  constexpr std::ptrdiff_t kCacheLine = 64;
  const auto* at = static_cast<const std::byte*>(begin);
  const auto* const last = static_cast<const std::byte*>(end) - 1;
  for (; at < last; at += kCacheLine) fetch_line(at);
  fetch_line(last);
}

}  // namespace nerve
