// Any text is either rejected with a line number, or is a list of flows that a job can run: in
// order, between existing ranks.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "sim/workload/flow_list.h"

namespace {

std::string text_of(const std::vector<nerve::sim::ListedFlow>& flows) {
  std::string text = std::to_string(flows.size()) + "\n";
  for (const auto& flow : flows) {
    text += std::to_string(flow.from) + " " + std::to_string(flow.to) + " 3 100 " +
            std::to_string(flow.bytes) + " 0\n";
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint32_t kRanks = 16;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto flows = nerve::sim::parse_flow_list(text, "list", kRanks);
  if (!flows) {
    CHECK(flows.error().starts_with("list:"));
    return 0;
  }
  nerve::Duration last{};
  for (const auto& flow : *flows) {
    CHECK(flow.from < kRanks && flow.to < kRanks && flow.from != flow.to && flow.bytes > 0);
    CHECK(flow.start >= last);
    last = flow.start;
  }
  const auto again = nerve::sim::parse_flow_list(text_of(*flows), "list", kRanks);
  CHECK(again && again->size() == flows->size());
  for (std::size_t i = 0; i < flows->size(); ++i) {
    CHECK((*again)[i].from == (*flows)[i].from && (*again)[i].bytes == (*flows)[i].bytes);
  }
  return 0;
}
