// The element types and the operations of the collectives, and their names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace nerve::ai {

enum class DataType : std::uint8_t {
  kFloat32,
  kFloat64,
  kFloat16,
  kBfloat16,
  kInt8,
  kUint8,
  kInt32,
  kInt64,
};
inline constexpr int kDataTypes = 8;

// The average of integers is the sum divided by the number of ranks, rounded towards zero.
enum class ReduceOp : std::uint8_t { kSum, kProduct, kMin, kMax, kAverage };
inline constexpr int kReduceOps = 5;

enum class Algorithm : std::uint8_t {
  kAuto,      // chosen by the size
  kExchange,  // every rank sends everything to all others: one latency
  kStar,      // every rank sends everything to rank 0, which returns the result: few messages
  kMesh,      // every rank reduces one part of the data and sends it to all: two latencies
  kPull,      // the same, but each rank reads its part from the others: few notifications
  kRing,      // reduce-scatter and all-gather around a ring
  kTree,      // reduce towards rank 0 in a binomial tree, then broadcast
};

std::size_t size_of(DataType type);
std::string_view name_of(DataType type);
std::string_view name_of(ReduceOp op);
std::string_view name_of(Algorithm algorithm);
std::optional<DataType> data_type_named(std::string_view name);
std::optional<ReduceOp> reduce_op_named(std::string_view name);
std::optional<Algorithm> algorithm_named(std::string_view name);

}  // namespace nerve::ai
