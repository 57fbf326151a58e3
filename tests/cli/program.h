// The built `nerve` as a user calls it.
#pragma once

#include <string>

namespace nerve::test {

struct Outcome {
  int exit_code{};
  std::string text;  // both streams
};

// Runs it through a shell, as users do; without this machine's own settings, except for
// `variables`, words of the form NAME=VALUE.
Outcome nerve(const std::string& arguments, const std::string& variables = "");

}  // namespace nerve::test
