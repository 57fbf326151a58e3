// Flow lists in the format of the HPCC simulator: the number of flows, then a line for each:
//
//   src dst priority port bytes start_seconds
//
// src and dst are ranks. Priority and port are checked but ignored: a job has one traffic class,
// and the NIC chooses its ports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace nerve::sim {

inline constexpr std::uint64_t kMostFlowBytes = std::uint64_t{1} << 50;

struct ListedFlow {
  std::uint32_t from{};
  std::uint32_t to{};
  std::uint64_t bytes{};
  Duration start{};
};

// Sorted by start time, equal ones in file order. Errors have the file, line, value and what was
// expected.
[[nodiscard]] Result<std::vector<ListedFlow>, std::string> parse_flow_list(std::string_view text,
                                                                           std::string_view file,
                                                                           std::uint32_t ranks);
[[nodiscard]] Result<std::vector<ListedFlow>, std::string> read_flow_list(const std::string& file,
                                                                          std::uint32_t ranks);

}  // namespace nerve::sim
