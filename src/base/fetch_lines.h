// Prefetches the cache lines of an object that will be needed soon.
#pragma once

#include <cstddef>

namespace nerve {

inline void fetch_lines(const void* begin, const void* end) {
  constexpr std::ptrdiff_t kCacheLine = 64;
  const auto* at = static_cast<const std::byte*>(begin);
  const auto* const last = static_cast<const std::byte*>(end) - 1;
  for (; at < last; at += kCacheLine) __builtin_prefetch(at);
  __builtin_prefetch(last);
}

}  // namespace nerve
