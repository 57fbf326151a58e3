#include "link/shm/placement.h"

#include <sys/uio.h>

#include <array>
#include <cerrno>

namespace nerve::link::shm {
namespace {

Placed verdict(ssize_t moved, std::size_t wanted) {
  // If only a part is mapped, the kernel moves that part and reports it only by the count.
  if (moved >= 0) return static_cast<std::size_t>(moved) == wanted ? Placed::kDone : Placed::kFault;
  switch (errno) {
    case EPERM:
    case EACCES:
      return Placed::kNotPermitted;
    case ESRCH:
      return Placed::kNoProcess;
    case EFAULT:
    case EINVAL:  // a length that overflows
      return Placed::kFault;
    default:
      return Placed::kUnsupported;
  }
}

iovec there(std::uint64_t address, std::size_t length) {
  return {.iov_base = reinterpret_cast<void*>(address), .iov_len = length};
}

}  // namespace

Placed place(pid_t pid, std::uint64_t address, Bytes from) {
  const iovec local{.iov_base = const_cast<std::byte*>(from.data()), .iov_len = from.size()};
  const iovec remote = there(address, from.size());
  return verdict(::process_vm_writev(pid, &local, 1, &remote, 1, 0), from.size());
}

Placed fetch(pid_t pid, std::uint64_t address, MutableBytes into) {
  const iovec local{.iov_base = into.data(), .iov_len = into.size()};
  const iovec remote = there(address, into.size());
  return verdict(::process_vm_readv(pid, &local, 1, &remote, 1, 0), into.size());
}

bool can_place(pid_t pid) {
  // The kernel checks the process and our permission before the address, so reading from an
  // unmapped address answers the question.
  std::array<std::byte, 1> byte{};
  return fetch(pid, 0, byte) == Placed::kFault;
}

}  // namespace nerve::link::shm
