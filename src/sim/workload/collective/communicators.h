// The groups of a job that do collectives, and the collectives on their way.
//
// A group is a list of ranks; each of its members has a seat. Members start the same operations in
// the same order, each when it likes; a seat does them one after the other, as NCCL does. An
// operation is done at a seat when all that it awaits has arrived and all that it has sent is
// acknowledged, so that its buffer may be used again. A member that has not started an operation
// receives for it all the same.
//
// The messenger calls back later, never while a message is being sent.
//
// For each seat there is its place in the plan and a window of counts; for each message on its way
// a record of sixteen bytes. Nothing is kept for steps to come.
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
  // An operation is done at this seat. New ones may be started from here.
  virtual void finished(SeatId seat) = 0;
};

class Communicators {
 public:
  // Both outlive this.
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

  // There is no objection to it (operation.h).
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
    std::uint32_t base{};     // its items are numbered from here
    std::uint32_t left_by{};  // members that are done with it
  };
  struct Group {
    std::vector<std::uint32_t> ranks;
    GroupLayout layout;
    std::uint32_t first_seat{};
    std::vector<Running> running;   // few at a time
    std::uint32_t first_running{};  // number of the first: those before are done
    std::uint32_t next_base{};
  };
  struct Seat {
    std::uint32_t group{};
    std::uint32_t member{};
    std::uint32_t started{};  // operations
    std::uint32_t finished{};
    std::uint32_t on_their_way{};                // messages that are not acknowledged
    std::array<std::uint32_t, kMostLanes> at{};  // of each lane: how many of its items have gone
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
  void tell();

  const JobContext& context_;
  CommunicatorUser& user_;
  bool on_front_end_;
  std::deque<Group> groups_;  // plans refer to their layouts: addresses stay
  std::vector<Seat> seats_;
  std::vector<Posted> posted_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> to_tell_;  // seats whose operation is done
  bool telling_{};
  Outgoing outgoing_;
  std::uint64_t bytes_moved_{};
};

}  // namespace nerve::sim
