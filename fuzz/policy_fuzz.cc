// Any text is either refused, with a line of the text, or a policy that is the same when it is
// written and read again, and whose decisions are within their limits.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/prng.h"
#include "nic/flow_control/policy_file.h"

using namespace nerve;
using nic::Policy;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto file = nic::read_policy(text);
  if (!file) {
    const auto lines = static_cast<std::uint32_t>(std::ranges::count(text, '\n')) + 1;
    CHECK(file.error().line >= 1 && file.error().line <= lines);
    CHECK(!file.error().message.empty());
    CHECK(nic::text_of(file.error(), "f").starts_with("f:"));
    return 0;
  }
  CHECK(nic::objection_to(file->policy) == nullptr);
  const auto again = nic::read_policy(nic::text_of(*file));
  CHECK(again && *again == *file);
  Prng prng{nic::hash_of(file->policy)};
  for (int i = 0; i < 64; ++i) {
    Policy::Inputs inputs{};
    for (std::int32_t& one : inputs) one = static_cast<std::int32_t>(prng.next() >> prng.below(32));
    const std::int32_t action = nic::decide(file->policy, inputs);
    CHECK(action >= -Policy::kOne && action <= Policy::kOne);
  }
  return 0;
}
