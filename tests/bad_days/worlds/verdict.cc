#include "tests/bad_days/worlds/verdict.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace worlds {
namespace {

struct Here {
  std::uint64_t seed{};
  std::size_t side{};
  std::string settings;
  const Describes* describes{};
  std::uint64_t waited_ms{};
  std::uint64_t began_us{};
};
Here& here() {
  static Here one;
  return one;
}

// The total time that the threads of this process have waited for a CPU.
std::uint64_t waited_ms() {
  std::uint64_t sum = 0;
  std::error_code none;
  for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task", none}) {
    std::uint64_t ran = 0;
    std::uint64_t waited = 0;
    std::ifstream{task.path() / "schedstat"} >> ran >> waited;
    sum += waited / 1'000'000;
  }
  return sum;
}

[[noreturn]] void end(const std::string& what, ExitStatus status) {
  const Here& h = here();
  const std::string state = h.describes != nullptr ? "; " + h.describes->describe() : "";
  std::printf("world %llu side %zu (%s): %s%s; threads waited %llu of %llu ms for a processor\n",
              static_cast<unsigned long long>(h.seed), h.side, h.settings.c_str(), what.c_str(),
              state.c_str(), static_cast<unsigned long long>(waited_ms() - h.waited_ms),
              static_cast<unsigned long long>((now_us() - h.began_us) / 1000));
  std::fflush(stdout);
  ::_exit(status);
}

}  // namespace

void set_world(std::uint64_t seed, std::size_t side, const std::string& settings) {
  here().seed = seed;
  here().side = side;
  here().settings = settings;
  here().waited_ms = waited_ms();
  here().began_us = now_us();
}

void set_description(const Describes* describes) { here().describes = describes; }

void violation(const std::string& what) { end(what, kWrong); }
void peer_gave_up() { end("the peer has ended", kPeerGaveUp); }
void refused(const char* call) { violation(std::string{call} + ": " + std::strerror(errno)); }

bool tracing() {
  static const bool on = std::getenv("WORLDS_TRACE") != nullptr;
  return on;
}

void trace(const std::string& line) {
  const Here& h = here();
  std::printf("%llu world %llu side %zu %s\n", static_cast<unsigned long long>(now_us()),
              static_cast<unsigned long long>(h.seed), h.side, line.c_str());
}

std::uint64_t now_us() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

}  // namespace worlds
