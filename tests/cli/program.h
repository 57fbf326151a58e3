// The built `nerve` as a person calls it.
#pragma once

#include <string>

namespace nerve::test {

struct Outcome {
  int exit_code{};
  std::string text;  // both streams
};

// Through a shell, for it is shells that people call from; without this machine's own settings but
// for `variables`, words of NAME=VALUE.
Outcome nerve(const std::string& arguments, const std::string& variables = "");

}  // namespace nerve::test
