// The speed of the CRC under the ICRC compared with a copy of the same bytes: every implementation
// that this machine supports, from a small packet to a long message.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "wire/crc32.h"
#include "wire/crc32_path.h"
#include "wire/crc32_shift.h"

namespace nerve::wire {
namespace {

struct Buffers {
  explicit Buffers(std::size_t size) : from(size, std::byte{0x5a}), to(size) {}
  std::vector<std::byte> from;
  std::vector<std::byte> to;
};

void count_bytes(benchmark::State& run) { run.SetBytesProcessed(run.iterations() * run.range(0)); }

void memory_copy(benchmark::State& run) {
  Buffers buffers{static_cast<std::size_t>(run.range(0))};
  for (auto _ : run) {
    std::memcpy(buffers.to.data(), buffers.from.data(), buffers.from.size());
    benchmark::DoNotOptimize(buffers.to.data());
    benchmark::ClobberMemory();
  }
  count_bytes(run);
}

// Each CRC starts from the previous one, as within a packet, so that latency counts.
void sum(benchmark::State& run, const Crc32Path& path) {
  Buffers buffers{static_cast<std::size_t>(run.range(0))};
  std::uint32_t state = ~0U;
  for (auto _ : run) {
    state = path.sum(state, buffers.from.data(), buffers.from.size());
    benchmark::DoNotOptimize(state);
  }
  count_bytes(run);
}

void sum_and_copy(benchmark::State& run, const Crc32Path& path) {
  Buffers buffers{static_cast<std::size_t>(run.range(0))};
  std::uint32_t state = ~0U;
  for (auto _ : run) {
    state = path.copy(state, buffers.to.data(), buffers.from.data(), buffers.from.size());
    benchmark::DoNotOptimize(state);
    benchmark::ClobberMemory();
  }
  count_bytes(run);
}

// The cost of giving the next packet of a train its own identification.
void next_identification(benchmark::State& run) {
  const Crc32Field16 field{static_cast<std::uint64_t>(run.range(0))};
  std::uint32_t state = ~0U;
  std::uint16_t id = 0;
  for (auto _ : run) {
    const auto next = static_cast<std::uint16_t>(id + 1);
    benchmark::DoNotOptimize(state ^= field(static_cast<std::uint16_t>(id ^ next)));
    id = next;
  }
}

// The additional cost of the first packet of a train.
void make_field(benchmark::State& run) {
  auto bytes = static_cast<std::uint64_t>(run.range(0));
  for (auto _ : run) {
    benchmark::DoNotOptimize(bytes);
    benchmark::DoNotOptimize(Crc32Field16{bytes});
  }
}

void combine(benchmark::State& run) {
  auto bytes = static_cast<std::uint64_t>(run.range(0));
  for (auto _ : run) {
    benchmark::DoNotOptimize(bytes);
    benchmark::DoNotOptimize(crc32_combine(~0U, 1, bytes));
  }
}

void with_sizes(benchmark::internal::Benchmark* benchmark) {
  for (const int size : {64, 256, 1 << 10, 4 << 10, 64 << 10, 1 << 20}) benchmark->Arg(size);
}

void register_all() {
  with_sizes(benchmark::RegisterBenchmark("memcpy", memory_copy));
  for (const Crc32Path* path : crc32_paths()) {
    if (path == nullptr) continue;
    const std::string name{path->name};
    with_sizes(benchmark::RegisterBenchmark(("crc32/" + name).c_str(),
                                            [path](benchmark::State& run) { sum(run, *path); }));
    with_sizes(
        benchmark::RegisterBenchmark(("crc32_copy/" + name).c_str(),
                                     [path](benchmark::State& run) { sum_and_copy(run, *path); }));
  }
  benchmark::RegisterBenchmark("next_identification", next_identification)->Arg(1024);
  benchmark::RegisterBenchmark("make_field", make_field)->Arg(1024)->Arg(4095);
  benchmark::RegisterBenchmark("crc32_combine", combine)->Arg(1024)->Arg(4095);
}

}  // namespace
}  // namespace nerve::wire

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  nerve::wire::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
