// The clear-to-send messages of a carrier.
#include "sim/host/carrier.h"

namespace nerve::sim {
namespace {

constexpr std::uint32_t kClearToSendBytes = 64;  // an entry of NCCL's queue of them

}  // namespace

void Carrier::begin_admission(std::uint32_t number) {
  if (!admissions_[0].on() && !admissions_[1].on()) return;
  Admitted& made = admitted_.emplace_back();
  if (!admission_of(number).on()) return;
  made.lane.nics = lanes_of(connections_[number])[0].nics;
  const Joined joined = simulation_.join_urgent(made.lane.nics[0], made.lane.nics[1]);
  made.lane.qps = {joined.mine, joined.theirs};
  own(made.lane, number);
}

// The stream has so many more bytes.
void Carrier::ask(std::uint32_t number, unsigned direction, std::uint64_t bytes) {
  if (!admission_of(number).on()) return;
  const Pair& pair = connections_[number].pair;
  const PlaceId receiver = direction == 0 ? pair.high : pair.low;
  admission_of(number).ask(receiver.value(), stream_of(number, direction), bytes);
  permit(number, direction);
}

// The receiver of this direction permits what it may, to whoever is next.
void Carrier::permit(std::uint32_t number, unsigned direction) {
  Admission& admission = admission_of(number);
  const Pair& pair = connections_[number].pair;
  const PlaceId receiver = direction == 0 ? pair.high : pair.low;
  while (const auto next = admission.next(receiver.value())) {
    const std::uint32_t to = next->stream / 2;
    const unsigned its_direction = next->stream % 2;
    admitted_[to].unsent[its_direction] += next->bytes;
    clear_to_send(to, its_direction);
  }
}

// One message for all that is permitted, unless the lane is full. Then heard() calls again.
void Carrier::clear_to_send(std::uint32_t number, unsigned direction) {
  Admitted& admitted = admitted_[number];
  const unsigned receiver = 1 - direction;
  std::uint32_t& posted = admitted.lane.posted[receiver];
  std::uint64_t& bytes = admitted.unsent[direction];
  if (bytes == 0 || posted >= config_of(connections_[number].pair.on_front_end).queue_depth) return;
  ++posted;
  simulation_.write(
      admitted.lane.nics[receiver],
      {admitted.lane.qps[receiver], kClearToSendBytes, kOfPermission | stream_of(number, direction),
       kPermission | static_cast<std::uint32_t>(bytes)});
  bytes = 0;
}

// A sender has a clear-to-send message.
void Carrier::permitted(NodeId at, QpNumber qp, std::uint32_t bytes) {
  const std::uint32_t number = owners_[at.value()][qp.value()];
  const unsigned direction = admitted_[number].lane.nics[0] == at ? 0 : 1;
  admitted_[number].may_cut[direction] += bytes;
  pump(number, direction);
}

// The receiver has the acknowledgement of a clear-to-send message.
void Carrier::heard(std::uint64_t message) {
  const auto stream = static_cast<std::uint32_t>(message);
  const std::uint32_t number = stream / 2;
  const unsigned direction = stream % 2;
  --admitted_[number].lane.posted[1 - direction];
  if (!connections_[number].broken) clear_to_send(number, direction);
}

std::uint64_t Carrier::may_cut(const Moving& moving) {
  if (!admission_of(moving.connection).on()) return UINT64_MAX;
  return admitted_[moving.connection].may_cut[moving.direction];
}

void Carrier::has_cut(const Moving& moving, std::uint32_t bytes) {
  if (!admission_of(moving.connection).on()) return;
  admitted_[moving.connection].may_cut[moving.direction] -= bytes;
}

void Carrier::came_in(const Moving& moving, std::uint32_t bytes) {
  Admission& admission = admission_of(moving.connection);
  if (!admission.on()) return;
  admission.arrived(stream_of(moving.connection, moving.direction), bytes);
  permit(moving.connection, moving.direction);
}

}  // namespace nerve::sim
