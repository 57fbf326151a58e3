// A program that we start, with a limit on its time. It is ended with us, and with all it started.
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
  // What it prints goes to `log`, both streams. `environment` is all that it gets.
  Child(const std::vector<std::string>& command, const host::Environment& environment,
        std::string log);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] bool running();

  // What became of it, within this time; then it is ended.
  struct Ended {
    bool well{};       // by itself, with exit code 0
    std::string text;  // what it printed
    std::string why;   // when it did not end well
  };
  [[nodiscard]] Ended wait(std::chrono::milliseconds limit);

  // Without waiting for it to be done.
  void end();

 private:
  void reap(int options);

  std::string log_;
  pid_t pid_{};
  std::optional<int> status_;
};

// Whether something listens at this TCP port within the time, while the child runs.
[[nodiscard]] bool wait_until_listening(Child& child, std::uint16_t port,
                                        std::chrono::milliseconds limit);

// A TCP port that is free just now.
[[nodiscard]] std::uint16_t free_tcp_port();

}  // namespace nerve::cli
