#include "sim/part.h"

#include <algorithm>

namespace nerve::sim {

void NicReport::tell(NicUser& user) const {
  switch (kind) {
    case Kind::kReceived:
      return user.received(nic, qp, immediate);
    case Kind::kSent:
      return user.sent(nic, message);
    case Kind::kFailed:
      return user.failed(nic, qp, why);
  }
}

void Part::set_parts(std::size_t count) {
  for (std::vector<Outbox>& set : outboxes_) set.resize(count);
  begin(0);
}

void Part::begin(unsigned set) {
  fabric.leaving = outboxes_[set];
  fabric.next_elsewhere = FabricPart::kNever;
}

void Part::end() {
  outcome_.here = fabric.clockwork.wheel.due().value_or(FabricPart::kNever);
  outcome_.elsewhere = fabric.next_elsewhere;
  outcome_.executed = fabric.clockwork.wheel.executed();
  outcome_.has_reports = !reports_.empty();
}

void Part::take(Outbox& arrivals) {
  expect(arrivals.first());
  (void)arrivals.empty_into(fabric.clockwork);
}

bool Part::is_idle() const {
  return fabric.clockwork.wheel.empty() && fabric.next_elsewhere == FabricPart::kNever;
}

void Part::post_at(Time when, NodeId nic, const NicMessage& message) {
  if (free_posts_.empty()) {
    free_posts_.push_back(static_cast<std::uint32_t>(posts_.size()));
    posts_.emplace_back();
  }
  const std::uint32_t number = free_posts_.back();
  free_posts_.pop_back();
  posts_[number] = message;
  fabric.clockwork.wheel.at(when, Happening::kPost, nic.value(), number);
  expect(when);
}

NicMessage Part::take_post(std::uint32_t number) {
  free_posts_.push_back(number);
  return posts_[number];
}

void Part::collect(std::vector<NicReport>& into) {
  if (!outcome_.has_reports) return;
  into.insert(into.end(), reports_.begin(), reports_.end());
  reports_.clear();
  outcome_.has_reports = false;
}

void Part::received(NodeId at, QpNumber qp, std::uint32_t immediate) {
  reports_.push_back({.when = fabric.clockwork.now(),
                      .why = {},
                      .nic = at,
                      .qp = qp,
                      .immediate = immediate,
                      .kind = NicReport::Kind::kReceived});
}

void Part::sent(NodeId from, std::uint64_t message) {
  reports_.push_back({.when = fabric.clockwork.now(),
                      .message = message,
                      .why = {},
                      .nic = from,
                      .kind = NicReport::Kind::kSent});
}

void Part::failed(NodeId at, QpNumber qp, std::string_view why) {
  reports_.push_back({.when = fabric.clockwork.now(),
                      .why = why,
                      .nic = at,
                      .qp = qp,
                      .kind = NicReport::Kind::kFailed});
}

}  // namespace nerve::sim
