// The columns of a fabric's samples: which of them a port adds to, and the series that they become
// at the end of the run.
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
  // Columns of every fabric. Those of link groups, tiers and queues follow.
  enum Common : std::size_t { kDelivered, kPaused, kMarked, kDropped, kLost, kCommon };
  static constexpr std::size_t kNone = SIZE_MAX;
  // Up to this many ports, each has its own queue column; beyond, each switch has one for its
  // deepest queue.
  static constexpr std::size_t kMostPorts = 1024;

  struct Place {              // the columns of a port
    std::size_t group{};      // bytes sent; next column: share of the busiest link, in millionths
    std::size_t tier{kNone};  // deepest queue of its switch's tier; next column: total queued bytes
    std::size_t queue{kNone};  // its own queue, or its switch's
  };

  SampleColumns(std::span<const NodeResult> nodes, std::span<const LinkResult> links);

  [[nodiscard]] const std::vector<Merge>& merges() const { return merges_; }
  [[nodiscard]] std::span<const Place> places() const { return places_; }

  // `last` is the length of the last sample, in which the run ended. Of the queues, only the
  // deepest are returned.
  [[nodiscard]] std::vector<Series> series(const Samples& samples, Duration last,
                                           std::uint32_t top_queues) const;
  // The first of these series, which do not depend on packets: throughput and utilisation.
  [[nodiscard]] std::size_t series_of_flows() const { return 1 + 2 * groups_.size(); }

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
