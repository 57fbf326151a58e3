// The policy file that `policy` names, for congestion = learned.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "host/config/config.h"
#include "nic/flow_control/policy.h"

namespace nerve::host {

// The error is a sentence with file, line and key.
[[nodiscard]] Result<nic::Policy, std::string> read_policy_file(const std::string& path);

// Null: the shipped policy. A file that cannot be used is reported, and the shipped one is used.
[[nodiscard]] std::unique_ptr<const nic::Policy> load_policy(const Config& config);

}  // namespace nerve::host
