// How a process of a world ends when something is wrong: it prints what and in which world, and
// exits. Its peer notices, prints what it was waiting for, and exits too.
#pragma once

#include <cstdint>
#include <string>

namespace worlds {

enum ExitStatus : int { kRight = 0, kWrong = 1, kUsage = 2, kPeerGaveUp = 3 };

// The world that this process is in.
void set_world(std::uint64_t seed, std::size_t side, const std::string& settings);
// Describes the state of the world when it ends by a violation; the caller keeps it alive.
class Describes {
 public:
  virtual ~Describes() = default;
  [[nodiscard]] virtual std::string describe() const = 0;
};
void set_description(const Describes* describes);

[[noreturn]] void violation(const std::string& what);
[[noreturn]] void peer_gave_up();
// For a call that must not fail; the reason is errno.
[[noreturn]] void refused(const char* call);
inline void must(bool worked, const char* call) {
  if (!worked) refused(call);
}
void trace(const std::string& line);
[[nodiscard]] bool tracing();

[[nodiscard]] std::uint64_t now_us();

}  // namespace worlds
