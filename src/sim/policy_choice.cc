#include "sim/policy_choice.h"

#include "nic/flow_control/policy_file.h"
#include "sim/workload/whole_file.h"

namespace nerve::sim {

Result<std::shared_ptr<const nic::Policy>, std::string> policy_of(const NicSpec& nics) {
  if (nics.policy || nics.policy_file.empty()) return nics.policy;
  const auto text = read_whole_file(nics.policy_file, nic::kLongestPolicy);
  if (!text) return Unexpected{text.error()};
  auto file = nic::read_policy(*text);
  if (!file) return Unexpected{nic::text_of(file.error(), nics.policy_file)};
  return std::make_shared<const nic::Policy>(file->policy);
}

}  // namespace nerve::sim
