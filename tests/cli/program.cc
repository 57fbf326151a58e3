#include "tests/cli/program.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>

namespace nerve::test {
namespace {

// A sanitizer must be loaded before all other libraries.
#ifdef NERVE_SANITIZED
constexpr const char* kOffer = "NERVE_OFFER=off ";
#else
constexpr const char* kOffer = "";
#endif

}  // namespace

Outcome nerve(const std::string& arguments, const std::string& variables) {
  // The leak check takes seconds; leaks.cli does it in this process, where the same code runs.
  const std::string line = std::string{"env -i PATH=\"$PATH\" ASAN_OPTIONS=detect_leaks=0 "} +
                           kOffer + variables + " " NERVE_PROGRAM " " + arguments + " 2>&1";
  Outcome outcome;
  std::FILE* out = ::popen(line.c_str(), "r");
  if (out == nullptr) return {.exit_code = -1, .text = "no shell"};
  std::array<char, 512> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), out)) {
    outcome.text.append(buffer.data(), n);
  }
  const int status = ::pclose(out);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

}  // namespace nerve::test
