// The bytes that applications send along with a message.
#pragma once

#include <algorithm>

#include "base/check.h"
#include "wire/cm_messages.h"

namespace nerve::nic {

// The caller has seen that they fit.
template <std::size_t N>
wire::PrivateData<N> private_data_of(Bytes given) {
  CHECK(given.size() <= N);
  wire::PrivateData<N> all{};
  std::ranges::copy(given, all.begin());
  return all;
}

}  // namespace nerve::nic
