// A program that we start, with a time limit. It is killed, with all processes it started, when we
// exit.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "host/config/config.h"

namespace nerve::cli {

class Child {
 public:
  // Both output streams go to `log`. `environment` is its whole environment.
  Child(const std::vector<std::string>& command, const host::Environment& environment,
        std::string log);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] bool running();

  // Waits for it until `limit`, then kills it.
  struct Ended {
    bool well{};       // exited by itself with code 0
    std::string text;  // its output
    std::string why;   // the reason, if it did not end well
  };
  [[nodiscard]] Ended wait(std::chrono::milliseconds limit);

  // Kills it without waiting.
  void end();

 private:
  void reap(int options);

  std::string log_;
  pid_t pid_{};
  std::optional<int> status_;
};

// Waits until a process listens at this TCP port. False if the time is over, or the child has
// exited.
[[nodiscard]] bool wait_until_listening(Child& child, std::uint16_t port,
                                        std::chrono::milliseconds limit);

// A TCP port that is free at the moment.
[[nodiscard]] std::uint16_t free_tcp_port();

}  // namespace nerve::cli
