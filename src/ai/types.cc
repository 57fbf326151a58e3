#include "ai/types.h"

#include <array>

#include "base/check.h"

namespace nerve::ai {
namespace {

struct TypeRow {
  std::string_view name;
  std::size_t size;
};
constexpr std::array<TypeRow, kDataTypes> kTypes{{{"float32", 4},
                                                  {"float64", 8},
                                                  {"float16", 2},
                                                  {"bfloat16", 2},
                                                  {"int8", 1},
                                                  {"uint8", 1},
                                                  {"int32", 4},
                                                  {"int64", 8}}};
constexpr std::array<std::string_view, kReduceOps> kOps{"sum", "product", "min", "max", "average"};
constexpr std::array<std::string_view, 7> kAlgorithms{"auto", "exchange", "star", "mesh",
                                                      "pull", "ring",     "tree"};

template <class Enum, std::size_t kCount>
std::optional<Enum> find(const std::array<std::string_view, kCount>& names, std::string_view name) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::size_t size_of(DataType type) { return kTypes[static_cast<std::size_t>(type)].size; }
std::string_view name_of(DataType type) { return kTypes[static_cast<std::size_t>(type)].name; }
std::string_view name_of(ReduceOp op) { return kOps[static_cast<std::size_t>(op)]; }
std::string_view name_of(Algorithm algorithm) {
  return kAlgorithms[static_cast<std::size_t>(algorithm)];
}

std::optional<DataType> data_type_named(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<DataType>(i);
  }
  return std::nullopt;
}
std::optional<ReduceOp> reduce_op_named(std::string_view name) {
  return find<ReduceOp>(kOps, name);
}
std::optional<Algorithm> algorithm_named(std::string_view name) {
  return find<Algorithm>(kAlgorithms, name);
}

}  // namespace nerve::ai
