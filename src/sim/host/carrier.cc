#include "sim/host/carrier.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace nerve::sim {
namespace {

constexpr std::uint64_t kLeastPiece = 64U
                                      << 10U;  // smaller pieces cost more than a further lane gains

// A free index, reused or new.
template <class T>
std::uint32_t take_slot(std::vector<T>& all, std::vector<std::uint32_t>& free) {
  if (free.empty()) {
    all.emplace_back();
    return static_cast<std::uint32_t>(all.size() - 1);
  }
  const std::uint32_t slot = free.back();
  free.pop_back();
  all[slot] = T{};
  return slot;
}

}  // namespace

Carrier::Carrier(Simulation& simulation, const ClusterShape& shape, const CarrierConfig& back_end,
                 const CarrierConfig& front_end, CarrierUser& user)
    : simulation_{simulation},
      shape_{shape},
      configs_{back_end, front_end},
      admissions_{Admission{back_end.admission}, Admission{front_end.admission}},
      user_{user},
      owners_(simulation.fabric().graph().nodes.size()) {
  simulation.serve(*this);
}

std::uint32_t Carrier::connection_for(const Pair& pair) {
  const auto [at, fresh] =
      known_.try_emplace(pair, static_cast<std::uint32_t>(connections_.size()));
  return fresh ? make_connection(pair) : at->second;
}

// The connection that was used last, so that as few as possible exist.
std::uint32_t Carrier::idle_connection_for(const Pair& pair) {
  std::vector<std::uint32_t>& idle = idle_[pair];
  if (idle.empty()) {
    const std::uint32_t made = make_connection(pair);
    connections_[made].of_one_parcel = true;
    return made;
  }
  const std::uint32_t number = idle.back();
  idle.pop_back();
  for (const Lane& lane : lanes_of(connections_[number])) {
    for (const std::size_t end : {0U, 1U}) {
      simulation_.restart_flow(lane.nics[end], lane.qps[end]);
    }
  }
  return number;
}

std::uint32_t Carrier::make_connection(const Pair& pair) {
  const auto made = static_cast<std::uint32_t>(connections_.size());
  const std::uint32_t lanes = pair.on_front_end
                                  ? config_of(true).lanes
                                  : std::max(config_of(false).lanes, shape_.nics_of_gpu());
  connections_.push_back(
      {.pair = pair, .first_lane = static_cast<std::uint32_t>(lanes_.size()), .lanes = lanes});
  for (std::uint32_t i = 0; i < lanes; ++i) {
    lanes_.push_back(make_lane(pair, i));
    own(lanes_.back(), made);
  }
  begin_admission(made);
  return made;
}

Carrier::Lane Carrier::make_lane(const Pair& pair, std::uint32_t number) {
  const NodeId low = shape_.nic_of(pair.low, pair.high, number, pair.on_front_end);
  const NodeId high = shape_.nic_of(pair.high, pair.low, number, pair.on_front_end);
  const Joined joined = simulation_.join(low, high);
  return {.nics = {low, high}, .qps = {joined.mine, joined.theirs}};
}

void Carrier::own(const Lane& lane, std::uint32_t connection) {
  for (const std::size_t end : {0U, 1U}) {
    auto& owners = owners_[lane.nics[end].value()];
    owners.resize(std::max<std::size_t>(owners.size(), lane.qps[end].value() + 1));
    owners[lane.qps[end].value()] = connection;
  }
}

ParcelId Carrier::send(const Parcel& parcel) {
  const bool forward = parcel.from.value() < parcel.to.value();
  const Pair pair{forward ? parcel.from : parcel.to, forward ? parcel.to : parcel.from, parcel.job,
                  parcel.on_front_end};
  const std::uint32_t connection =
      parcel.own_connection ? idle_connection_for(pair) : connection_for(pair);
  const std::uint32_t number = take_slot(parcels_, free_parcels_);
  Moving& moving = parcels_[number];
  moving.parcel = parcel;
  moving.connection = connection;
  moving.direction = forward ? 0 : 1;
  wait(number);
  ask(connection, moving.direction, parcel.ready);
  pump(connection, forward ? 0 : 1);
  return ParcelId{number};
}

// Joins the queue of its connection.
void Carrier::wait(std::uint32_t number) {
  const Moving& moving = parcels_[number];
  Waiting& queue = connections_[moving.connection].waiting[moving.direction];
  (queue.first == kNone ? queue.first : parcels_[queue.last].behind) = number;
  queue.last = number;
}

void Carrier::ready(ParcelId id, std::uint64_t bytes) {
  Moving& moving = parcels_[id.value()];
  if (moving.failed) return;
  moving.parcel.ready += bytes;
  ask(moving.connection, moving.direction, bytes);
  pump(moving.connection, moving.direction);
}

void Carrier::pump(std::uint32_t number, unsigned direction) {
  while (!connections_[number].broken && connections_[number].waiting[direction].first != kNone) {
    std::uint32_t& first = connections_[number].waiting[direction].first;
    const std::uint32_t parcel = first;
    Moving& moving = parcels_[parcel];
    if (moving.cut == moving.parcel.ready && moving.parcel.ready < moving.parcel.bytes) return;
    if (moving.parcel.bytes > 0 && may_cut(moving) == 0) return;
    if (!post_piece(moving, parcel)) return;
    if (moving.all_cut()) first = std::exchange(moving.behind, kNone);
  }
}

std::uint32_t Carrier::size_of_next_piece(const Moving& moving) {
  const Connection& connection = connections_[moving.connection];
  const std::uint32_t lanes = connection.lanes;
  const std::uint64_t largest = config_of(connection.pair.on_front_end).most_piece;
  const Admission& admission = admission_of(moving.connection);
  const std::uint64_t whole = admission.on()
                                  ? std::min<std::uint64_t>(moving.parcel.bytes, admission.chunk())
                                  : moving.parcel.bytes;
  const std::uint64_t share = (whole + lanes - 1) / lanes;
  const std::uint64_t most = lanes == 1 ? largest : std::clamp(share, kLeastPiece, largest);
  return static_cast<std::uint32_t>(
      std::min({most, moving.parcel.ready - moving.cut, may_cut(moving)}));
}

// Posts on the next lane with room; returns false if there is none.
bool Carrier::post_piece(Moving& moving, std::uint32_t parcel) {
  Connection& connection = connections_[moving.connection];
  const unsigned direction = moving.direction;
  const std::uint32_t depth = config_of(connection.pair.on_front_end).queue_depth;
  const std::span<Lane> lanes = lanes_of(connection);
  const auto in_turn = [&](std::size_t i) {
    return (connection.turn[direction] + i) % lanes.size();
  };
  std::size_t tried = 0;
  while (tried < lanes.size() && lanes[in_turn(tried)].posted[direction] >= depth) ++tried;
  if (tried == lanes.size()) return false;
  const auto number = static_cast<std::uint32_t>(in_turn(tried));
  connection.turn[direction] = (number + 1) % connection.lanes;
  Lane& lane = lanes[number];
  const std::uint32_t bytes = size_of_next_piece(moving);
  const std::uint32_t piece = take_slot(pieces_, free_pieces_);
  pieces_[piece] = {.parcel = parcel, .bytes = bytes, .lane = number};
  has_cut(moving, bytes);
  moving.cut += bytes;
  moving.begun = true;
  ++moving.coming;
  ++moving.unacknowledged;
  ++lane.posted[direction];
  simulation_.write(lane.nics[direction], {lane.qps[direction], bytes, piece, piece});
  return true;
}

void Carrier::give_back(std::uint32_t piece) {
  if (pieces_[piece].arrived && pieces_[piece].acknowledged) free_pieces_.push_back(piece);
}

void Carrier::received(NodeId at, QpNumber qp, std::uint32_t number) {
  if ((number & kPermission) != 0) return permitted(at, qp, number & ~kPermission);
  Piece& piece = pieces_[number];
  const std::uint32_t parcel = piece.parcel;
  Moving& moving = parcels_[parcel];
  if (moving.failed) return;
  piece.arrived = true;
  --moving.coming;
  came_in(moving, piece.bytes);
  const bool whole = moving.arrived();
  const std::uint32_t name = moving.parcel.name;
  give_back(number);
  settle(parcel);
  if (whole) user_.carried(name);
}

void Carrier::sent(NodeId, std::uint64_t message) {
  if ((message & kOfPermission) != 0) return heard(message & ~kOfPermission);
  const auto number = static_cast<std::uint32_t>(message);
  Piece& piece = pieces_[number];
  const std::uint32_t parcel = piece.parcel;
  Moving& moving = parcels_[parcel];
  if (moving.failed) return;
  const std::uint32_t connection = moving.connection;
  const unsigned direction = moving.direction;
  piece.acknowledged = true;
  --lanes_of(connections_[connection])[piece.lane].posted[direction];
  --moving.unacknowledged;
  const bool whole = moving.acknowledged();
  const std::uint32_t name = moving.parcel.name;
  give_back(number);
  settle(parcel);
  if (whole) user_.acknowledged(name);
  pump(connection, direction);
}

// Frees a parcel that has arrived and is acknowledged, and its connection if that was its own.
void Carrier::settle(std::uint32_t number) {
  const Moving& moving = parcels_[number];
  if (!moving.arrived() || !moving.acknowledged()) return;
  free_parcels_.push_back(number);
  const Connection& connection = connections_[moving.connection];
  if (connection.of_one_parcel && !connection.broken) {
    idle_[connection.pair].push_back(moving.connection);
  }
}

void Carrier::failed(NodeId at, QpNumber qp, std::string_view why) {
  break_off(owners_[at.value()][qp.value()], why);
}

// The next parcel of this pair gets a new connection. The old connection keeps its index, since
// events for it may still arrive.
void Carrier::break_off(std::uint32_t number, std::string_view why) {
  if (connections_[number].broken) return;
  connections_[number].broken = true;
  if (!connections_[number].of_one_parcel) known_.erase(connections_[number].pair);
  for (const unsigned direction : {0U, 1U}) {
    admission_of(number).forget(stream_of(number, direction));
    permit(number, direction);
  }
  for (std::uint32_t i = 0; i < parcels_.size(); ++i) {
    if (parcels_[i].connection == number) fail(i, why);
  }
}

void Carrier::fail(std::uint32_t number, std::string_view why) {
  Moving& moving = parcels_[number];
  if (moving.failed || std::ranges::find(free_parcels_, number) != free_parcels_.end()) return;
  moving.failed = true;
  ++failed_parcels_;
  user_.failed(moving.parcel.name, why);
}

}  // namespace nerve::sim
