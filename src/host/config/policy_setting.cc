#include "host/config/policy_setting.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "host/diagnostics/log.h"
#include "link/descriptor.h"
#include "nic/flow_control/policy_file.h"

namespace nerve::host {

Result<nic::Policy, std::string> read_policy_file(const std::string& path) {
  const link::Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    return Unexpected{path + ": cannot be read: " + std::strerror(errno)};
  }
  if (!S_ISREG(status.st_mode)) return Unexpected{path + ": not a file"};
  std::string text(nic::kLongestPolicy + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = ::read(file.get(), text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Unexpected{path + ": cannot be read: " + std::strerror(errno)};
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  text.resize(size);
  const auto policy = nic::read_policy(text);
  if (!policy) return Unexpected{nic::text_of(policy.error(), path)};
  return policy->policy;
}

std::unique_ptr<const nic::Policy> load_policy(const Config& config) {
  if (config.congestion != nic::CcAlgorithm::kLearned || config.policy.empty()) return nullptr;
  auto policy = read_policy_file(config.policy);
  if (policy) return std::make_unique<const nic::Policy>(*policy);
  log(LogLevel::kError, "%s; the shipped policy is used", policy.error().c_str());
  return nullptr;
}

}  // namespace nerve::host
