// The JSON name of a result field: its own name, with _ps if it is a time.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "base/time.h"

namespace nerve::sim {

template <class T>
std::string json_key(const char* name) {
  constexpr bool is_time = std::is_same_v<T, Duration> || std::is_same_v<T, Time> ||
                           std::is_same_v<T, std::vector<Duration>>;
  return is_time ? std::string{name} + "_ps" : name;
}

}  // namespace nerve::sim
