// The application's private data in CM messages.
#pragma once

#include <algorithm>

#include "base/check.h"
#include "wire/cm_messages.h"

namespace nerve::nic {

// The caller has checked that it fits.
template <std::size_t N>
wire::PrivateData<N> private_data_of(Bytes given) {
  CHECK(given.size() <= N);
  wire::PrivateData<N> all{};
  std::ranges::copy(given, all.begin());
  return all;
}

}  // namespace nerve::nic
