// What the columns of a fabric's samples mean: which of them a port adds to, and the series that
// they become when the run is over.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/results/run_result.h"
#include "sim/results/samples.h"
#include "sim/results/tiers.h"

namespace nerve::sim {

class SampleColumns {
 public:
  // Columns that every fabric has. Those of groups of links, tiers and queues follow.
  enum Common : std::size_t { kDelivered, kPaused, kMarked, kDropped, kLost, kCommon };
  static constexpr std::size_t kNone = SIZE_MAX;
  // A queue of each port is kept up to this number; beyond it, the deepest queue of each switch.
  static constexpr std::size_t kMostPorts = 1024;

  struct Place {          // of a port; columns
    std::size_t group{};  // bytes that it sent; the next: the share of the busiest, in millionths
    std::size_t tier{kNone};   // the deepest queue of its switch's tier; the next: all that waits
    std::size_t queue{kNone};  // its own, or its switch's
  };

  SampleColumns(std::span<const NodeResult> nodes, std::span<const LinkResult> links);

  [[nodiscard]] const std::vector<Merge>& merges() const { return merges_; }
  [[nodiscard]] std::span<const Place> places() const { return places_; }

  // `last` is the length of the last sample: the run ended within it. Of the queues the deepest.
  [[nodiscard]] std::vector<Series> series(const Samples& samples, Duration last,
                                           std::uint32_t top_queues) const;

 private:
  struct Group {
    std::string name;
    double rate_bps{};  // of all its links
  };
  void lay_out_links(std::span<const NodeResult> nodes, std::span<const LinkResult> links);
  void lay_out_tiers(std::span<const NodeResult> nodes, std::span<const LinkResult> links);
  void lay_out_queues(std::span<const NodeResult> nodes, std::span<const LinkResult> links);
  [[nodiscard]] std::size_t add(std::initializer_list<Merge> columns);
  [[nodiscard]] std::vector<std::size_t> deepest(const Samples& samples, std::uint32_t most) const;

  std::vector<Merge> merges_;
  std::vector<Place> places_;
  std::vector<Group> groups_;
  std::vector<std::string> tiers_;
  std::vector<std::string> queues_;
  std::size_t first_group_{};
  std::size_t first_tier_{};
  std::size_t first_queue_{};
};

}  // namespace nerve::sim
