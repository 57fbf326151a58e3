// The traces of all ranks together: the steps of each rank, and the groups in which they
// communicate.
//
// A group is a process group, or the sender and the receiver of messages with one tag. Its members
// run the same operations in the same order: the order of their nodes in the trace. The ranks of a
// process group are those whose traces use its name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sim/workload/chakra/chakra_file.h"

namespace nerve::sim {

// A node of a trace, without what is only needed to read it.
struct ChakraStep {
  ChakraType type{};
  std::uint32_t lane{};         // kSend, kReceive, kCollective: index in ChakraRank::lanes
  std::uint32_t waits_for{};    // dependencies
  std::uint32_t first_child{};  // index in ChakraRank::children; ends at the next step's
  Duration time{};              // kGpu, kCpu, kMemory
};

// The operations of a rank in one group.
struct ChakraLane {
  std::uint32_t group{};
  std::vector<std::uint32_t> steps;  // in the order in which they start
};

struct ChakraRank {
  std::vector<ChakraStep> steps;  // each after those that it depends on
  std::vector<std::uint32_t> children;
  std::vector<ChakraLane> lanes;
  Duration compute{};  // that no order of the steps can avoid
};

struct ChakraOperation {
  CollectiveKind kind{};
  std::uint64_t bytes{};  // as the file has it

  friend bool operator==(const ChakraOperation&, const ChakraOperation&) = default;
};

struct ChakraGroup {
  std::string pg_name;  // of collectives; empty: all ranks
  bool pair{};          // messages with this tag, from the first rank to the second
  std::uint32_t tag{};
  std::vector<std::uint32_t> ranks;  // of collectives, in ascending order
  std::vector<ChakraOperation> operations;
  std::uint32_t first_reader{};  // the rank whose trace the operations are from

  [[nodiscard]] bool everyone() const { return !pair && pg_name.empty(); }
  [[nodiscard]] std::uint32_t member_of(std::uint32_t rank) const;
};
// For errors: group 3, messages from rank 0 to 1 with tag 7.
[[nodiscard]] std::string words_of(const ChakraGroup& group);

class ChakraWorld {
 public:
  // Compute nodes without a duration take num_ops at this rate, in 10^12 per second.
  ChakraWorld(std::uint32_t ranks, double tflops) : ranks_{ranks}, tflops_{tflops} {}

  // Adds the trace of the next rank. Returns what is wrong with it; empty if nothing is.
  [[nodiscard]] std::string add(const ChakraTrace& trace, const std::string& file);
  // To be called after the last one.
  [[nodiscard]] std::string objection() const;

  [[nodiscard]] std::vector<ChakraRank>& ranks() { return all_; }
  [[nodiscard]] const std::vector<ChakraGroup>& groups() const { return groups_; }

 private:
  // Name, or sender, receiver and tag.
  using GroupKey = std::tuple<std::string, std::uint32_t, std::uint32_t, std::uint32_t>;

  std::uint32_t find_group(const ChakraTrace& trace, const ChakraNode& node);
  [[nodiscard]] Duration time_of(const ChakraNode& node) const;
  void link_children(const ChakraTrace& trace, ChakraRank& rank) const;
  void find_compute(const ChakraTrace& trace, ChakraRank& rank) const;
  [[nodiscard]] std::string join(const ChakraTrace& trace, const std::string& file,
                                 const ChakraRank& rank);
  [[nodiscard]] std::string objection_to_sizes() const;
  [[nodiscard]] std::string differs(const ChakraGroup& group, std::size_t at,
                                    const ChakraOperation& found) const;

  std::uint32_t ranks_;
  double tflops_;
  std::vector<ChakraRank> all_;
  std::vector<ChakraGroup> groups_;
  std::map<GroupKey, std::uint32_t> group_of_;
  std::uint64_t steps_{};  // of all ranks
};

}  // namespace nerve::sim
