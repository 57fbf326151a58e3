// Set operations on an enum class whose enumerators are single bits.
//
// An enum opts in by `template <> inline constexpr bool nerve::kIsMask<E> = true;`.
#pragma once

#include <type_traits>

namespace nerve {

template <class E>
inline constexpr bool kIsMask = false;

template <class E>
concept Mask = std::is_enum_v<E> && kIsMask<E>;

template <Mask E>
constexpr E operator|(E a, E b) {
  using Rep = std::underlying_type_t<E>;
  return static_cast<E>(static_cast<Rep>(a) | static_cast<Rep>(b));
}
template <Mask E>
constexpr E operator&(E a, E b) {
  using Rep = std::underlying_type_t<E>;
  return static_cast<E>(static_cast<Rep>(a) & static_cast<Rep>(b));
}
template <Mask E>
constexpr E& operator|=(E& a, E b) {
  return a = a | b;
}
// The members of `all` that are not in `some`.
template <Mask E>
constexpr E without(E all, E some) {
  using Rep = std::underlying_type_t<E>;
  return static_cast<E>(static_cast<Rep>(all) & ~static_cast<Rep>(some));
}
template <Mask E>
constexpr bool contains(E all, E some) {
  return (all & some) == some;
}
template <Mask E>
constexpr bool intersects(E a, E b) {
  return (a & b) != E{};
}

}  // namespace nerve
