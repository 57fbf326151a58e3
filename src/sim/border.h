// The border of a process: its simulation runs some of the parts, other ranks run the others.
//
// At the end of a window every rank sends each other rank one message: when its next event is due,
// how many it has run, what its NICs report, and what has left for the parts of that rank. All
// ranks then have the same reports, and run the programs with them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sim/part.h"
#include "sim/ranks.h"

namespace nerve::sim {

class Border {
 public:
  // `memory` returns what the payload of packets to this NIC refers to.
  using Memory = std::function<MemoryPort&(NodeId)>;
  Border(Ranks& ranks, std::size_t parts, std::size_t ports, Memory memory);

  // The parts that run here: `count_here()` of them from `first_here()` on.
  [[nodiscard]] std::size_t first_here() const { return first_of(ranks_.rank()); }
  [[nodiscard]] std::size_t count_here() const {
    return first_of(ranks_.rank() + 1) - first_here();
  }
  [[nodiscard]] bool is_first_rank() const { return ranks_.rank() == 0; }

  // What all ranks must agree on when they exchange something.
  struct Place {
    Time when{};
    std::uint64_t programs{};  // events of the programs so far
    friend bool operator==(const Place&, const Place&) = default;
  };

  // The end of a window: `set` are the outboxes that the parts have used. Adds the reports of other
  // ranks. False if it failed.
  [[nodiscard]] bool exchange(const Place& place, std::deque<Part>& parts, unsigned set,
                              std::vector<NicReport>& reports);
  // Something else: this rank's message to all others, and theirs.
  [[nodiscard]] bool share(const Packed& mine, std::span<Packed> all);
  [[nodiscard]] bool gather(const Packed& mine, std::span<Packed> all);
  [[nodiscard]] std::size_t ranks() const { return ranks_.count(); }

  // A program has posted a message there.
  void expect_elsewhere(Time when) { next_ = std::min(next_, when); }
  [[nodiscard]] Time next_elsewhere() const { return next_; }
  [[nodiscard]] std::uint64_t executed_elsewhere() const { return executed_; }
  // Why it failed; empty if it did not.
  [[nodiscard]] std::string trouble() const;
  void fail(std::string why) { why_ = std::move(why); }

 private:
  [[nodiscard]] std::size_t first_of(std::size_t rank) const;
  void pack_reports(std::span<const NicReport> reports, Packed& into);
  void pack_departures(std::size_t rank, std::deque<Part>& parts, unsigned set, Packer& to);
  [[nodiscard]] bool take(std::size_t rank, const Place& place, std::deque<Part>& parts,
                          std::vector<NicReport>& reports);
  [[nodiscard]] bool take_arrivals(Unpacker& from, std::deque<Part>& parts);
  [[nodiscard]] std::string_view kept(const std::string& why);

  Ranks& ranks_;
  std::size_t parts_;
  std::size_t ports_;
  Memory memory_;
  Time next_{FabricPart::kNever};  // of the events of other ranks
  std::uint64_t executed_{};       // by other ranks
  std::vector<Packed> out_;
  std::vector<Packed> in_;
  Packed common_;
  Outbox arrivals_;
  std::deque<std::string> reasons_;  // of failures; NicReport refers to them
  std::string why_;
};

}  // namespace nerve::sim
