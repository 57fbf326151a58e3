// Goal: collectives give the result of a plain reference with tensors on GPUs, also if only the
// input or only the output is on one, and errors of the GPU are reported.
#include <cstring>

#include "ai/staged_reduce.h"
#include "tests/ai_gpu/tensors.h"

namespace ai_gpu_test {
namespace {

using nerve::ai::Algorithm;
using nerve::ai::DataType;
using nerve::ai::ReduceOp;
using nerve::ai::Staging;
using nerve::ai::Status;

constexpr int kRanks = 3;
constexpr std::size_t kParts = kRanks;
// Where input and output are.
constexpr std::pair<Where, Where> kPlaces[] = {{Where::kGpu, Where::kGpu},
                                               {Where::kGpu, Where::kHost},
                                               {Where::kHost, Where::kGpu},
                                               {Where::kGpu, Where::kOtherGpu}};

Buffer part_of(const Buffer& whole, std::size_t index, std::size_t bytes) {
  const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(index * bytes);
  return {begin, begin + static_cast<std::ptrdiff_t>(bytes)};
}

std::string compare(const std::string& what, std::size_t bytes, const Status& done,
                    const Tensor& got, const Buffer& wanted) {
  if (!done) return what + ": " + done.error().text + "\n";
  return got.contents() == wanted ? "" : what + " of " + std::to_string(bytes) + ": wrong data\n";
}

std::string gather(Group& group, Where from, Where to, std::size_t bytes, std::size_t call = 0) {
  Buffer wanted;
  for (int rank = 0; rank < kRanks; ++rank) {
    const Buffer part = bytes_of(rank, bytes, call);
    wanted.insert(wanted.end(), part.begin(), part.end());
  }
  Tensor in{from, bytes_of(group.rank(), bytes, call)};
  Tensor out{to, bytes * kParts};
  Status done = group.all_gather(in.data(), out.data(), bytes);
  return compare("all_gather", bytes, done, out, wanted);
}

std::string exchange(Group& group, Where from, Where to, std::size_t bytes) {
  Buffer wanted;
  for (int rank = 0; rank < kRanks; ++rank) {
    const Buffer part =
        part_of(bytes_of(rank, bytes * kParts), static_cast<std::size_t>(group.rank()), bytes);
    wanted.insert(wanted.end(), part.begin(), part.end());
  }
  Tensor in{from, bytes_of(group.rank(), bytes * kParts)};
  Tensor out{to, bytes * kParts};
  Status done = group.all_to_all(in.data(), out.data(), bytes);
  return compare("all_to_all", bytes, done, out, wanted);
}

std::string move_all(Group& group) {
  std::string wrong;
  for (const std::size_t bytes : {1UL, 40UL, 3000UL, 20'000UL, 1'200'001UL}) {
    for (const auto& [from, to] : kPlaces) {
      wrong += gather(group, from, to, bytes);
      wrong += exchange(group, from, to, bytes);
    }
    for (int root = 0; root < kRanks; ++root) {
      // Not all of them on a GPU.
      const Where where = group.rank() == 1 ? Where::kHost : Where::kGpu;
      Tensor data{where, bytes_of(group.rank(), bytes)};
      Status done = group.broadcast(data.data(), bytes, root);
      wrong += compare("broadcast", bytes, done, data, bytes_of(root, bytes));
    }
  }
  return wrong;
}

// --- reductions

Buffer values_of(int rank, std::size_t count) {
  std::vector<std::int32_t> values(count);
  for (std::size_t at = 0; at < count; ++at) {
    values[at] = static_cast<std::int32_t>((static_cast<std::size_t>(rank + 1) * 7919 + at * 31) %
                                           1'000'003);
  }
  Buffer bytes(count * sizeof(std::int32_t));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Buffer sum_of(std::size_t count) {
  std::vector<std::int32_t> sum(count);
  for (int rank = 0; rank < kRanks; ++rank) {
    const Buffer bytes = values_of(rank, count);
    for (std::size_t at = 0; at < count; ++at) {
      std::int32_t value{};
      std::memcpy(&value, bytes.data() + at * sizeof value, sizeof value);
      sum[at] += value;
    }
  }
  Buffer bytes(count * sizeof(std::int32_t));
  std::memcpy(bytes.data(), sum.data(), bytes.size());
  return bytes;
}

constexpr std::size_t kBlock = Staging::kBlock / sizeof(std::int32_t);

std::string reduce_all(Group& group) {
  std::string wrong;
  for (const std::size_t count : {1UL, 1000UL, 100'000UL}) {
    for (const Algorithm algorithm :
         {Algorithm::kAuto, Algorithm::kExchange, Algorithm::kStar, Algorithm::kMesh,
          Algorithm::kPull, Algorithm::kRing, Algorithm::kTree}) {
      Tensor data{Where::kGpu, values_of(group.rank(), count)};
      Status done =
          group.all_reduce(data.data(), count, DataType::kInt32, ReduceOp::kSum, algorithm);
      wrong += compare(std::string{name_of(algorithm)}, count, done, data, sum_of(count));
    }
  }
  if (fake_cuda_counts().unpinned_copies != 0) wrong += "the staging memory is not pinned";
  return wrong;
}

// From one block to more blocks than the staging memory has; one rank's tensor is on another GPU.
std::string reduce_in_blocks(Group& group) {
  std::string wrong;
  for (const std::size_t count : {kBlock, kBlock + 1, 4 * kBlock + 3}) {
    Tensor data{group.rank() == 1 ? Where::kOtherGpu : Where::kGpu, values_of(group.rank(), count)};
    Status done = group.all_reduce(data.data(), count, DataType::kInt32, ReduceOp::kSum);
    wrong += compare("all_reduce", count, done, data, sum_of(count));
  }
  return wrong;
}

std::string scatter_all(Group& group) {
  std::string wrong;
  for (const std::size_t count : {1UL, 5000UL, 2 * kBlock / kParts + 7}) {
    const Buffer wanted = part_of(sum_of(count * kParts), static_cast<std::size_t>(group.rank()),
                                  count * sizeof(std::int32_t));
    for (const auto& [from, to] : kPlaces) {
      Tensor in{from, values_of(group.rank(), count * kParts)};
      Tensor out{to, count * sizeof(std::int32_t)};
      Status done =
          group.reduce_scatter(in.data(), out.data(), count, DataType::kInt32, ReduceOp::kSum);
      wrong += compare("reduce_scatter", count, done, out, wanted);
    }
  }
  return wrong;
}

// Host memory on one rank and GPU memory on the others: up to a block the sizes of the steps agree,
// beyond it all ranks must learn that they do not.
std::string reduce_mixed(Group& group) {
  const Where where = group.rank() == 1 ? Where::kHost : Where::kGpu;
  Tensor small{where, values_of(group.rank(), kBlock)};
  Status done = group.all_reduce(small.data(), kBlock, DataType::kInt32, ReduceOp::kSum);
  std::string wrong = compare("mixed all_reduce", kBlock, done, small, sum_of(kBlock));
  const std::size_t count = 2 * kBlock;
  Tensor large{where, values_of(group.rank(), count)};
  done = group.all_reduce(large.data(), count, DataType::kInt32, ReduceOp::kSum);
  if (done) return wrong + "no error of different sizes";
  // A rank that noticed it first may be gone already.
  const std::string& text = done.error().text;
  const bool named = text.find("all ranks must pass the same size") != std::string::npos ||
                     text.find("left the group") != std::string::npos;
  if (!named) wrong += text;
  return wrong;
}

// The GPU fails in the middle of a long reduction of one rank.
std::string reduce_on_failing_gpu(Group& group) {
  Tensor data{Where::kGpu, values_of(group.rank(), 3 * kBlock)};
  if (group.rank() == 0) fake_cuda_fail_copy(gpu_test::kIllegalAddress);
  Status done = group.all_reduce(data.data(), 3 * kBlock, DataType::kInt32, ReduceOp::kSum);
  if (done) return "no error";
  if (group.rank() != 0) {
    return done.error().rank == 0 ? "" : "the error is not about rank 0: " + done.error().text;
  }
  (void)data.gpu().let_go();
  const bool named = done.error().text.find("GPU memory at 0x") != std::string::npos &&
                     done.error().text.find("CUDA_ERROR") != std::string::npos;
  return named ? "" : done.error().text;
}

// A tensor is registered again when other memory is allocated at its address.
std::string reuse_address(Group& group) {
  constexpr std::size_t kBytes = 1U << 20;
  std::string wrong;
  for (std::size_t call = 0; call < 5; ++call) {
    wrong += gather(group, Where::kGpu, Where::kGpu, kBytes, call);
  }
  return wrong;
}

class CollectivesGpu : public ::testing::TestWithParam<Case> {};

TEST_P(CollectivesGpu, MoveTheRightBytes) {
  EXPECT_EQ(run_gpu_ranks(GetParam(), kRanks, move_all), "");
}
TEST_P(CollectivesGpu, ReduceWithAllAlgorithms) {
  EXPECT_EQ(run_gpu_ranks(GetParam(), kRanks, reduce_all), "");
}
TEST_P(CollectivesGpu, ReduceInBlocks) {
  EXPECT_EQ(run_gpu_ranks(GetParam(), kRanks, reduce_in_blocks), "");
}
TEST_P(CollectivesGpu, ReduceScatter) {
  EXPECT_EQ(run_gpu_ranks(GetParam(), kRanks, scatter_all), "");
}
TEST_P(CollectivesGpu, RanksWithAndWithoutGpu) {
  EXPECT_EQ(run_gpu_ranks(GetParam(), kRanks, reduce_mixed), "");
}
TEST_P(CollectivesGpu, AGpuThatFailsIsReported) {
  EXPECT_EQ(run_gpu_ranks(GetParam(), kRanks, reduce_on_failing_gpu), "");
}
TEST_P(CollectivesGpu, MemoryAllocatedAtTheSameAddress) {
  EXPECT_EQ(run_gpu_ranks(GetParam(), kRanks, reuse_address), "");
}

INSTANTIATE_TEST_SUITE_P(All, CollectivesGpu, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace ai_gpu_test
