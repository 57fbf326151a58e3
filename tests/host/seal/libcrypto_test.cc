// Goal: the library works as long as we seal packets, also while the process exits.
#include "host/seal/libcrypto.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace nerve::host {
namespace {

void seal_and_end() {
  const std::array<std::byte, 32> key{};
  const seal::HashValue value = (*Libcrypto::load())->authenticate(key, key);
  ::_exit(value == seal::HashValue{} ? 1 : 0);
}

// Connections end at exit, in a function that was registered before the library was loaded.
TEST(Libcrypto, WorksUntilTheProcessHasEnded) {
  const auto exits = [] {
    (void)std::atexit(seal_and_end);
    (void)(*Libcrypto::load())->hash({});
    std::exit(2);
  };
  EXPECT_EXIT(exits(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace nerve::host
