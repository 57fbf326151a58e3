// Hierarchical reduce-scatter, all-gather, and all-reduce as both in sequence, for servers with a
// fast interconnect: data is reduced within each server, then goes round a ring along each rail,
// then is gathered within each server. A NIC carries only the share of its own column.
//
// Block b is the result of a reduce-scatter at member b; column c has the blocks of its members.
// Within a server each member sends directly to each other. Blocks are cut into chunks, and each
// chunk has its own lane: while some are on the rails, the next ones are scattered within the
// server, and those before are gathered. Chunks enter one after the other: all at once they would
// share every link evenly, and so all be at the same place.
#pragma once

#include "sim/workload/collective/grid.h"
#include "sim/workload/collective/plan.h"
#include "sim/workload/collective/shares.h"

namespace nerve::sim {

class HierarchicalPlan final : public CollectivePlan {
 public:
  struct Parts {
    bool reduce_scatter{};
    bool all_gather{};
  };
  // The grid must outlive the plan. At most kMostLanes chunks.
  HierarchicalPlan(const Grid& grid, std::uint64_t bytes, Parts parts, std::uint32_t chunks);

  [[nodiscard]] std::uint32_t items() const override { return (steps_ + 4) * chunks_; }
  [[nodiscard]] std::uint32_t lanes() const override { return chunks_; }
  [[nodiscard]] std::uint32_t arrivals(std::uint32_t member, std::uint32_t item) const override;
  void sends(std::uint32_t member, std::uint32_t item, Outgoing& out) const override;
  [[nodiscard]] std::uint32_t waits_for(std::uint32_t item) const override;
  // With several chunks, the phases of different chunks overlap.
  [[nodiscard]] std::uint32_t phases() const override { return chunks_ == 1 ? kPhases : 1; }
  void load(std::uint32_t member, std::uint32_t phase, std::vector<PeerLoad>& out) const override;

 private:
  static constexpr std::uint32_t kPhases = 3;
  // How many chunks are scattered at once, and the least on the rails: while a message of one is on
  // its way, one of the other is sent.
  static constexpr std::uint32_t kCrossing = 2;
  static constexpr std::uint32_t kOnRails = 2;
  static constexpr std::uint64_t kBytesOnRails = 96U << 10U;  // more chunks, if messages are small

  // The items of a lane: scatter within the server, scattered, one item per ring step, gather, end.
  static constexpr std::uint32_t kScatter = 0;
  static constexpr std::uint32_t kScattered = 1;
  static constexpr std::uint32_t kFirstStep = 2;
  [[nodiscard]] std::uint32_t gather_at() const { return kFirstStep + steps_; }
  [[nodiscard]] std::uint32_t row_sent(std::uint32_t row, std::uint32_t step) const;
  [[nodiscard]] bool reduces(std::uint32_t step) const { return step < reducing_; }
  [[nodiscard]] std::uint64_t bytes_of(std::uint32_t block, std::uint32_t chunk) const {
    return Shares{shares_.bytes(block), chunks_}.bytes(chunk);
  }
  [[nodiscard]] std::uint64_t bytes_of_column(std::uint32_t column, std::uint32_t chunk) const {
    return of_column_[chunk * grid_.columns() + column];
  }
  void add_block(std::uint32_t block, std::uint32_t chunk, Action action, Outgoing& out) const;
  void add_column(std::uint32_t column, std::uint32_t chunk, Action action, Outgoing& out) const;
  void load_within(std::uint32_t member, bool scatter, std::vector<PeerLoad>& out) const;
  void load_along(std::uint32_t member, std::vector<PeerLoad>& out) const;

  const Grid& grid_;
  Parts parts_;
  std::uint32_t chunks_;
  Shares shares_;
  std::uint32_t on_rails_{};              // chunks at once
  std::vector<std::uint64_t> of_column_;  // bytes of a chunk of its blocks, by chunk and column
  std::uint32_t reducing_;                // reducing steps on the ring
  std::uint32_t steps_;
};

}  // namespace nerve::sim
