// Any bytes are either rejected, or are a result that can be displayed and that survives writing
// and reading.
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "sim/results/result_json.h"
#include "sim/results/summary.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nerve::sim;
  const auto read = from_json({reinterpret_cast<const char*>(data), size});
  if (!read) return 0;
  const std::array<RunResult, 2> both{*read, *read};
  CHECK(!summary(*read).empty() && !comparison(both).empty());
  const auto again = from_json(to_json(*read));
  CHECK(again && hash_of(*again) == hash_of(*read));
  return 0;
}
