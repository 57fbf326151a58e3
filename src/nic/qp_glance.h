// What diagnostics show of a QP.
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

// Between which addresses a connected QP sends.
struct QpRoute {
  wire::Gid source{};
  wire::Gid destination{};
  Qpn peer{};       // zero until the QP knows it
  bool answered{};  // the peer has acknowledged something
};

}  // namespace nerve::nic
