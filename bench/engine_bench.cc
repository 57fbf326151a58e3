// The cost of the engine: two engines on one core, connected in memory, without a link or encoding.
// Counts everything between post_send() at one end and poll_cq() at both.
#include <benchmark/benchmark.h>

#include <array>
#include <cstring>

#include "bench/joined_pair.h"

namespace nerve::bench {
namespace {

using nic::Completion;
using nic::SendFlags;
using nic::SendOp;
using nic::Sge;

constexpr std::uint32_t kDepth = 128;
constexpr std::uint32_t kBatch = 32;

std::size_t drain(JoinedPair::End& end) {
  std::array<Completion, 64> completions;
  const std::size_t got = *end.nic.poll_cq(end.cq, completions);
  for (std::size_t i = 0; i < got; ++i) CHECK(completions[i].status == nic::WcStatus::kSuccess);
  return got;
}

// Keeps kDepth requests posted; one in kBatch is signalled, as fast senders do.
void stream(benchmark::State& state, SendOp op, std::uint32_t size, bool is_inline) {
  JoinedPair pair;
  const JoinedPair::Connection link = pair.connect();
  const Sge from{pair.a.address(), size, pair.a.keys.lkey};
  const Sge to{pair.b.address(), size, pair.b.keys.lkey};
  const bool two_sided = op == SendOp::kSend;
  const std::uint32_t depth = size > 65536 ? 8 : kDepth;
  const std::uint32_t batch = size > 65536 ? 1 : kBatch;
  std::uint64_t posted = 0;
  std::uint64_t completed = 0;
  std::uint64_t receives = 0;
  std::uint64_t received = 0;
  for (auto _ : state) {
    const std::uint64_t goal = completed + batch;
    while (completed < goal) {
      while (two_sided && receives - received < kDepth) {
        CHECK(pair.b.nic.post_recv(link.b, {.wr_id = receives++, .sges = {&to, 1}}).has_value());
      }
      while (posted - completed < depth) {
        const bool signaled = (posted + 1) % batch == 0;
        SendFlags flags = signaled ? SendFlags::kSignaled : SendFlags::kNone;
        if (is_inline) flags |= SendFlags::kInline;
        CHECK(pair.a.nic
                  .post_send(link.a, {.wr_id = posted++,
                                      .op = op,
                                      .flags = flags,
                                      .sges = {&from, 1},
                                      .remote_address = pair.b.address(),
                                      .rkey = pair.b.keys.rkey})
                  .has_value());
      }
      pair.exchange();
      completed += drain(pair.a) * batch;
      if (two_sided) received += drain(pair.b);
    }
  }
  const auto messages = static_cast<std::int64_t>(completed);
  state.SetItemsProcessed(messages);
  state.SetBytesProcessed(messages * size);
}

void write_inline(benchmark::State& state) {
  stream(state, SendOp::kWrite, static_cast<std::uint32_t>(state.range(0)), true);
}
void write_by_reference(benchmark::State& state) {
  stream(state, SendOp::kWrite, static_cast<std::uint32_t>(state.range(0)), false);
}
void send(benchmark::State& state) {
  stream(state, SendOp::kSend, static_cast<std::uint32_t>(state.range(0)), false);
}
void read(benchmark::State& state) {
  stream(state, SendOp::kRead, static_cast<std::uint32_t>(state.range(0)), false);
}

void copy(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  std::vector<std::byte> from(size, std::byte{1});
  std::vector<std::byte> to(size);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), size);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(size) * state.iterations());
}

// One iteration of the driver's loop with nothing to do and many connected QPs.
void idle_poll(benchmark::State& state) {
  JoinedPair pair;
  for (std::int64_t i = 0; i < state.range(0); ++i) pair.connect();
  while (pair.exchange()) {
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(pair.exchange());
    benchmark::DoNotOptimize(pair.a.nic.next_deadline());
    benchmark::DoNotOptimize(drain(pair.a));
  }
}

BENCHMARK(write_inline)->Arg(8);
BENCHMARK(write_by_reference)->Arg(8)->Arg(4096)->Arg(65536)->Arg(1 << 20);
BENCHMARK(send)->Arg(8)->Arg(65536);
BENCHMARK(read)->Arg(8)->Arg(65536);
BENCHMARK(copy)->Arg(65536)->Arg(1 << 20);
BENCHMARK(idle_poll)->Arg(10)->Arg(1000)->Arg(10000);

}  // namespace
}  // namespace nerve::bench

BENCHMARK_MAIN();
