// Converts the engine's errors to errno, and logs them.
#include <cerrno>
#include <cinttypes>

#include "host/diagnostics/log.h"
#include "verbs/context.h"

namespace nerve::verbs {
namespace {

int errno_of(nic::ErrorCode code) {
  using enum nic::ErrorCode;
  switch (code) {
    case kInvalid:
    case kNoSuchObject:
      return EINVAL;
    case kBusy:
      return EBUSY;
    case kLimit:
    case kQueueFull:
      return ENOMEM;
    case kNotSupported:
      return EOPNOTSUPP;
    case kPermission:
      return EPERM;
  }
  return EINVAL;
}

}  // namespace

int refused(ibv_context* context, const nic::Error& error) {
  if (host::logs(host::LogLevel::kDebug)) {
    host::log(host::LogLevel::kDebug, "%s: %s: %" PRIu64 ", limit %" PRIu64, context->device->name,
              error.reason, error.value, error.limit);
  }
  return fail(errno_of(error.code));
}

int refused(const ibv_qp& qp, const nic::Error& error) {
  if (host::logs(host::LogLevel::kDebug)) {
    host::log(host::LogLevel::kDebug, "%s: qp 0x%x: %s: %" PRIu64 ", limit %" PRIu64,
              qp.context->device->name, qp.qp_num, error.reason, error.value, error.limit);
  }
  return fail(errno_of(error.code));
}

}  // namespace nerve::verbs
