// A QP in a list of what a NIC is doing.
#pragma once

#include <optional>

#include "base/ids.h"
#include "base/rate.h"
#include "nic/attributes.h"
#include "wire/gid.h"

namespace nerve::nic {

struct QpGlance {
  Qpn qpn{};
  QpType type{};
  QpState state{};
  Qpn peer{};                // connected QPs, once they know it; else zero
  wire::Gid destination{};   // likewise
  std::optional<Rate> rate;  // what congestion control allows; none: it has none
};

}  // namespace nerve::nic
