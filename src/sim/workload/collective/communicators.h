// The groups of a job that run collectives, and the collectives in progress.
//
// A group is a list of ranks; each member has a seat. Members start the same operations in the same
// order, each at its own time. A seat runs its operations one after the other, like NCCL. An
// operation is done at a seat when all its messages have arrived and all sent messages are
// acknowledged, so that its buffer can be reused. A member receives messages of an operation even
// before it has started it.
//
// The messenger's callbacks come later, never from within send().
//
// A seat stores its position in the plan and a window of counts; a message in flight takes a record
// of sixteen bytes. Nothing is stored for future steps.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "sim/workload/collective/arrival_window.h"
#include "sim/workload/collective/operation.h"
#include "sim/workload/job_context.h"

namespace nerve::sim {

using GroupId = Id<struct GroupTag, std::uint32_t, 32>;
using SeatId = Id<struct SeatTag, std::uint32_t, 32>;
inline constexpr SeatId kNoSeat{0xffff'ffff};

class CommunicatorUser {
 public:
  virtual ~CommunicatorUser() = default;
  // An operation is done at this seat. May start new ones.
  virtual void finished(SeatId seat) = 0;
};

class Communicators {
 public:
  // Both must outlive this object.
  Communicators(const JobContext& context, CommunicatorUser& user, bool on_front_end)
      : context_{context}, user_{user}, on_front_end_{on_front_end} {}

  GroupId add(std::vector<std::uint32_t> ranks);
  [[nodiscard]] const GroupLayout& layout(GroupId group) const {
    return groups_[group.value()].layout;
  }
  [[nodiscard]] SeatId seat(GroupId group, std::uint32_t member) const {
    return SeatId{groups_[group.value()].first_seat + member};
  }
  [[nodiscard]] std::uint32_t rank_of(SeatId seat) const;
  struct Place {
    GroupId group{};
    std::uint32_t member{};
  };
  [[nodiscard]] Place place_of(SeatId seat) const {
    return {GroupId{seats_[seat.value()].group}, seats_[seat.value()].member};
  }

  // objection() must have accepted the operation (operation.h).
  void start(SeatId seat, const Operation& operation);
  [[nodiscard]] bool idle(SeatId seat) const {
    return seats_[seat.value()].finished == seats_[seat.value()].started;
  }

  void delivered(const Token& token);
  void acknowledged(const Token& token);
  [[nodiscard]] std::uint64_t bytes_moved() const { return bytes_moved_; }

 private:
  struct Running {
    Operation operation;  // resolved
    std::unique_ptr<CollectivePlan> plan;
    std::uint32_t base{};     // offset of its item numbers
    std::uint32_t left_by{};  // members that have completed it
  };
  struct Group {
    std::vector<std::uint32_t> ranks;
    GroupLayout layout;
    std::uint32_t first_seat{};
    std::deque<Running> running;
    std::uint32_t first_running{};  // number of the first; earlier ones are done
    std::uint32_t next_base{};
  };
  struct Seat {
    std::uint32_t group{};
    std::uint32_t member{};
    std::uint32_t started{};  // number of operations
    std::uint32_t finished{};
    std::uint32_t on_their_way{};                // messages not acknowledged
    std::array<std::uint32_t, kMostLanes> at{};  // per lane: items done
    ArrivalWindow arrived;
  };
  struct Posted {
    std::uint32_t from{};  // seats
    std::uint32_t to{};
    std::uint32_t item{};
    bool delivered{};
    bool acknowledged{};
  };

  void begin(Group& group, std::uint32_t number, const Operation& operation);
  void advance(std::uint32_t seat);
  bool go_on(Seat& seat, std::uint32_t number, const Running& running);
  bool lane_goes_on(Seat& seat, std::uint32_t number, const Running& running, std::uint32_t lane);
  void finish(std::uint32_t number);
  void post(std::uint32_t from, const Transfer& transfer, std::uint32_t base);
  void free_if_over(std::uint32_t slot);
  void report_finished();

  const JobContext& context_;
  CommunicatorUser& user_;
  bool on_front_end_;
  std::deque<Group> groups_;  // a deque keeps addresses: plans refer to layouts
  std::vector<Seat> seats_;
  std::vector<Posted> posted_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> finished_;  // seats whose operation is done
  bool telling_{};
  Outgoing outgoing_;
  std::uint64_t bytes_moved_{};
};

}  // namespace nerve::sim
