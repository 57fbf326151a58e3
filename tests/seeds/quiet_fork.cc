// fork() of test programs under AddressSanitizer, whose allocator (GCC 12) knows nothing of forks:
// if another thread is allocating at that moment, the child inherits a lock that nobody releases,
// and hangs. So the fork waits until all other threads of the process sleep.
#if defined(__SANITIZE_ADDRESS__)
#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

// The state follows the name, which is in parentheses and may contain any character.
bool sleeps(const std::filesystem::path& thread) {
  std::ifstream file{thread / "stat"};
  std::string line;
  std::getline(file, line);
  const std::size_t end_of_name = line.rfind(')');
  return end_of_name == std::string::npos || line.compare(end_of_name, 3, ") S") == 0;
}

bool others_sleep() {
  const std::string self = std::to_string(::gettid());
  for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task"}) {
    if (thread.path().filename() != self && !sleeps(thread.path())) return false;
  }
  return true;
}

}  // namespace

extern "C" pid_t fork() {
  static const auto libc_fork = reinterpret_cast<decltype(&fork)>(::dlsym(RTLD_NEXT, "fork"));
  constexpr int kMostTries = 1000;
  for (int i = 0; i < kMostTries && !others_sleep(); ++i) ::usleep(1000);
  return libc_fork();
}
#endif
