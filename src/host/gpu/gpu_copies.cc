#include "host/gpu/gpu_copies.h"

#include <cinttypes>

#include "host/diagnostics/log.h"

namespace nerve::host {
namespace {

constexpr unsigned kFailuresLogged = 8;

bool reads(GpuCopies::Kind kind) {
  return kind != GpuCopies::Kind::kWrite && kind != GpuCopies::Kind::kTake;
}

}  // namespace

void GpuCopies::give_up(const char* why) {
  if (dead_) return;
  dead_ = true;
  log(LogLevel::kError, "gpu memory: %s; all regions of this CUDA context fail from now on", why);
}

void GpuCopies::report_failure(const Copy& copy, const char* why) {
  if (failures_logged_++ >= kFailuresLogged) return;
  log(LogLevel::kWarn,
      "gpu memory: %s of %" PRIu64 " bytes at 0x%" PRIx64
      " failed: %s; was the memory freed while it was registered?",
      reads(copy.kind) ? "a read" : "a write", copy.length, copy.gpu, why);
}

}  // namespace nerve::host
