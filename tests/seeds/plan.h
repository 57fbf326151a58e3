// Decides which seeds a test tries and how, from its own count and the variables of tests/seeds.h.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

namespace nerve::test {

struct SeedPlan {
  std::uint64_t first{1};
  std::uint64_t last{};  // inclusive
  std::uint64_t failures{8};
  std::uint64_t jobs{1};

  friend bool operator==(const SeedPlan&, const SeedPlan&) = default;
  std::uint64_t count() const { return last - first + 1; }
  std::uint64_t workers() const { return std::min(jobs, count()); }
};

// Returns the value of a variable, or null: std::getenv, or a fake in the test of this function.
using Variables = std::function<const char*(const char*)>;

// Leaves `error` empty, or names the variable that cannot be parsed: a misspelt number must not
// become a test that tries nothing and passes.
SeedPlan plan_seeds(std::uint64_t count, const Variables& variables, std::string& error);

// The number of cores that this process may use.
std::uint64_t usable_cores();

}  // namespace nerve::test
