// Signals as something to wait for: blocked, and read from a descriptor between two steps of a
// loop, so that no handler runs in the middle of anything.
#pragma once

#include <initializer_list>
#include <optional>

#include "host/peers/mapping.h"

namespace nerve::cli {

class Signals {
 public:
  // From here on they arrive at descriptor() alone, also when this is gone: a program that is
  // ending must not die of the second of two Ctrl-C.
  Signals(std::initializer_list<int> wanted);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  struct Arrived {
    int number{};
    bool by_process{};  // not by the terminal, which sends to all programs on it
  };
  // One that has arrived; nothing when none has.
  [[nodiscard]] std::optional<Arrived> take() const;
  // Blocks what was blocked before, and nothing more: for the child of a fork.
  void restore() const;

 private:
  host::Descriptor descriptor_;
  struct Mask;
  Mask* before_;
};

}  // namespace nerve::cli
