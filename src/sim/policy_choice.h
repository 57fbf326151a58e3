// The policy of NICs with learned congestion control.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "sim/scenario/host_spec.h"

namespace nerve::sim {

// Null: the shipped one. The error has the form FILE:LINE: KEY: what is wrong.
[[nodiscard]] Result<std::shared_ptr<const nic::Policy>, std::string> policy_of(
    const NicSpec& nics);

}  // namespace nerve::sim
