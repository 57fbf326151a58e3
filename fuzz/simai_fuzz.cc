// Any text is either rejected with a line number, or is a workload whose program can run: in groups
// that exist, with every collective awaited.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "sim/workload/simai/simai_program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nerve::sim;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto workload = parse_simai(text, "f");
  if (!workload) {
    CHECK(workload.error().starts_with("f:"));
    return 0;
  }
  CHECK(!workload->layers.empty());
  const std::uint32_t ranks = workload->ranks == 0 ? 16 : workload->ranks;
  const auto by = parallelism_of(*workload, ranks);
  if (!by) {
    CHECK(!by.error().empty());
    return 0;
  }
  CHECK(std::uint64_t{by->data} * by->tensor * by->pipeline == ranks);
  CHECK(by->data % by->expert == 0);
  const auto pass = program_of(*workload, *by);
  if (!pass) return 0;
  bool open[kChannels] = {};
  for (const Instruction& instruction : pass->program) {
    switch (instruction.kind) {
      case Instruction::Kind::kCompute:
        CHECK(instruction.value > 0);
        break;
      case Instruction::Kind::kStart:
        CHECK(instruction.value > 0);
        open[static_cast<std::size_t>(instruction.channel)] = true;
        break;
      case Instruction::Kind::kWait:
        open[static_cast<std::size_t>(instruction.channel)] = false;
        break;
    }
  }
  for (const bool one : open) CHECK(!one);
  return 0;
}
