#include "sim/workload/collective/communicators.h"

#include <algorithm>

#include "base/check.h"

namespace nerve::sim {

GroupId Communicators::add(std::vector<std::uint32_t> ranks) {
  const GroupId id{static_cast<std::uint32_t>(groups_.size())};
  const auto first_seat = static_cast<std::uint32_t>(seats_.size());
  std::vector<std::uint32_t> servers;
  servers.reserve(ranks.size());
  for (std::uint32_t member = 0; member < ranks.size(); ++member) {
    servers.push_back(context_.server_of_rank[ranks[member]]);
    Seat seat;
    seat.group = id.value();
    seat.member = member;
    seats_.push_back(std::move(seat));
  }
  Group& group = groups_.emplace_back();
  group.ranks = std::move(ranks);
  group.layout = layout_of(servers);
  group.layout.least_chunk = context_.least_chunk;
  group.first_seat = first_seat;
  return id;
}

std::uint32_t Communicators::rank_of(SeatId seat) const {
  const Seat& of = seats_[seat.value()];
  return groups_[of.group].ranks[of.member];
}

void Communicators::start(SeatId id, const Operation& operation) {
  Seat& seat = seats_[id.value()];
  begin(groups_[seat.group], seat.started, operation);
  ++seat.started;
  if (seat.started - seat.finished == 1) advance(id.value());
  report_finished();
}

// The first member to start an operation creates its plan; all members share it.
void Communicators::begin(Group& group, std::uint32_t number, const Operation& operation) {
  const std::uint32_t index = number - group.first_running;
  const Operation resolved = resolve(operation, group.layout);
  if (index < group.running.size()) {
    CHECK(group.running[index].operation == resolved);
    return;
  }
  CHECK(index == group.running.size());
  auto plan = make_plan(resolved, group.layout);
  CHECK(plan->lanes() <= kMostLanes);
  const std::uint32_t base = group.next_base;
  group.next_base += plan->items();
  group.running.push_back({resolved, std::move(plan), base, 0});
}

void Communicators::advance(std::uint32_t number) {
  Seat& seat = seats_[number];
  Group& group = groups_[seat.group];
  while (seat.finished != seat.started) {
    const Running& running = group.running[seat.finished - group.first_running];
    if (!go_on(seat, number, running)) return;
    finish(number);
  }
}

// Returns true when the operation is done.
bool Communicators::go_on(Seat& seat, std::uint32_t number, const Running& running) {
  const std::uint32_t lanes = running.plan->lanes();
  bool through = true;
  std::uint32_t least = running.plan->items() / lanes;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    through &= lane_goes_on(seat, number, running, lane);
    least = std::min(least, seat.at[lane]);
  }
  seat.arrived.drop_before(running.base + least * lanes);
  return through && seat.on_their_way == 0;
}

bool Communicators::lane_goes_on(Seat& seat, std::uint32_t number, const Running& running,
                                 std::uint32_t lane) {
  const CollectivePlan& plan = *running.plan;
  const std::uint32_t window = plan.window();
  for (std::uint32_t& at = seat.at[lane]; at < plan.items() / plan.lanes(); ++at) {
    const std::uint32_t item = at * plan.lanes() + lane;
    if (window > 0 && seat.on_their_way >= window) return false;
    const std::uint32_t before = plan.waits_for(item);
    if (before != kNoItem && seat.at[before % plan.lanes()] <= before / plan.lanes()) return false;
    if (seat.arrived.at(running.base + item) < plan.arrivals(seat.member, item)) return false;
    outgoing_.clear();
    plan.sends(seat.member, item, outgoing_);
    for (const Transfer& transfer : outgoing_.transfers()) post(number, transfer, running.base);
  }
  return true;
}

void Communicators::finish(std::uint32_t number) {
  Seat& seat = seats_[number];
  Group& group = groups_[seat.group];
  ++group.running[seat.finished - group.first_running].left_by;
  ++seat.finished;
  seat.at = {};
  while (!group.running.empty() && group.running.front().left_by == group.ranks.size()) {
    group.running.pop_front();
    ++group.first_running;
  }
  finished_.push_back(number);
}

void Communicators::post(std::uint32_t from, const Transfer& transfer, std::uint32_t base) {
  Seat& seat = seats_[from];
  const Group& group = groups_[seat.group];
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(posted_.size()));
    posted_.emplace_back();
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  posted_[slot] = {from, group.first_seat + transfer.to, base + transfer.item, false, false};
  ++seat.on_their_way;
  bytes_moved_ += transfer.bytes;
  const std::uint32_t to = group.ranks[transfer.to];
  context_.messenger.send({.from = context_.places[group.ranks[seat.member]],
                           .to = context_.places[to],
                           .bytes = transfer.bytes,
                           .on_front_end = on_front_end_,
                           .token = {context_.number, to, slot}});
}

void Communicators::delivered(const Token& token) {
  Posted& posted = posted_[token.argument];
  CHECK(!posted.delivered);
  posted.delivered = true;
  const std::uint32_t to = posted.to;
  seats_[to].arrived.add(posted.item);
  free_if_over(token.argument);
  advance(to);
  report_finished();
}

void Communicators::acknowledged(const Token& token) {
  Posted& posted = posted_[token.argument];
  CHECK(!posted.acknowledged);
  posted.acknowledged = true;
  const std::uint32_t from = posted.from;
  --seats_[from].on_their_way;
  free_if_over(token.argument);
  advance(from);
  report_finished();
}

void Communicators::free_if_over(std::uint32_t slot) {
  if (posted_[slot].delivered && posted_[slot].acknowledged) free_.push_back(slot);
}

// Iterates instead of recursing: an operation started by the callback may be done at once.
void Communicators::report_finished() {
  if (telling_) return;
  telling_ = true;
  for (std::size_t i = 0; i < finished_.size(); ++i) user_.finished(SeatId{finished_[i]});
  finished_.clear();
  telling_ = false;
}

}  // namespace nerve::sim
