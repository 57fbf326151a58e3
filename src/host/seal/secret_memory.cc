#include "host/seal/secret_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>

#include "host/diagnostics/log.h"

namespace nerve::host {
namespace {

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

void complain_once(const char* what) {
  static std::atomic<bool> complained{};
  if (complained.exchange(true)) return;
  log(LogLevel::kDebug, "keys may be %s: %s", what, std::strerror(errno));
}

}  // namespace

void* SecretPages::do_allocate(std::size_t bytes, std::size_t /*alignment: at most a page*/) {
  const std::size_t size = whole_pages(bytes);
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc{};
  if (::madvise(memory, size, MADV_DONTDUMP) != 0) complain_once("in core dumps");
  if (::mlock(memory, size) != 0) complain_once("swapped (ulimit -l limits locked memory)");
  return memory;
}

void SecretPages::do_deallocate(void* memory, std::size_t bytes, std::size_t /*alignment*/) {
  const std::size_t size = whole_pages(bytes);
  ::explicit_bzero(memory, size);
  ::munmap(memory, size);
}

}  // namespace nerve::host
