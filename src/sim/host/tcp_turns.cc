// The work of a core for a connection in one turn.
#include <algorithm>

#include "sim/host/tcp_nic.h"

namespace nerve::sim {
namespace {

constexpr std::uint32_t kBatch = 65'536;  // bytes of a segmentation offload batch
constexpr std::uint32_t kBatchPackets = 64;
// The limit on bytes that a connection queues for the cable (TCP small queues in Linux), so that
// other connections get their turn and queued bytes do not use up the congestion window.
constexpr std::uint32_t kSmallQueue = 2 * kBatch;

}  // namespace

bool TcpNic::has_work(const Connection& connection) const {
  return connection.calls > 0 || connection.inbox.head != kNoPacket ||
         (connection.queued < kSmallQueue && connection.sender.could_send());
}

void TcpNic::wake(std::uint32_t number) {
  Connection& connection = connections_[number];
  if (!connection.waits) {
    connection.waits = true;
    cores_.enqueue(connection.core, number);
  }
  start(connection.core);
}

void TcpNic::start(std::uint32_t core) {
  while (const auto number = cores_.take(core)) {
    Connection& connection = connections_[*number];
    connection.waits = false;
    if (!has_work(connection)) continue;
    Turn& turn = turns_[core];
    turn.connection = *number;
    Duration work = connection.calls * spec_.per_message;
    connection.calls = 0;
    work += take_packets(connection, turn);
    work += take_pieces(connection, turn);
    cores_.begin(core, work);
    schedule(clockwork_.now() + work, What::kCore, core);
  }
}

Duration TcpNic::take_packets(Connection& connection, Turn& turn) {
  PacketPool& packets = clockwork_.packets;
  Duration work{};
  std::uint32_t bytes = 0;
  std::uint32_t count = 0;
  for (; connection.inbox.head != kNoPacket && bytes < kBatch && count < kBatchPackets; ++count) {
    const PacketId id = connection.inbox.pop(packets);
    const std::uint32_t length = packets[id].segment.length;
    work += length > 0 ? spec_.per_packet_received : spec_.per_packet;
    bytes += length;
    turn.packets.push(packets, id);
  }
  in_ring_[connection.core] -= count;
  return work + spec_.copy.time_to_send(bytes);
}

Duration TcpNic::take_pieces(Connection& connection, Turn& turn) {
  Duration work{};
  std::uint32_t copied = 0;
  for (std::uint32_t bytes = 0; bytes < kBatch && connection.queued < kSmallQueue;) {
    const auto piece = connection.sender.next();
    if (!piece) break;
    work += spec_.per_packet;
    bytes += piece->length;
    copied += piece->again ? 0 : piece->length;
    connection.queued += piece->length;
    turn.pieces.push_back(*piece);
  }
  return work + spec_.copy_out.time_to_send(copied);
}

void TcpNic::finish(std::uint32_t core) {
  Turn& turn = turns_[core];
  const std::uint32_t number = turn.connection;
  while (turn.packets.head != kNoPacket) {
    const PacketId id = turn.packets.pop(clockwork_.packets);
    handle(number, clockwork_.packets[id]);
    clockwork_.packets.give_back(id);
  }
  std::deque<Waiting>& outgoing = outgoing_[lane_of(connections_[number])];
  for (const TcpPiece& piece : turn.pieces) outgoing.push_back({number, piece});
  turn.pieces.clear();
  acknowledge_if_due(number);
  pull();
  settle(number);
  cores_.end(core);
  Connection& connection = connections_[number];
  if (!connection.waits && has_work(connection)) {
    connection.waits = true;
    cores_.enqueue(core, number);
  }
  start(core);
}

void TcpNic::handle(std::uint32_t number, Packet& packet) {
  Connection& connection = connections_[number];
  if (packet.segment.length > 0) {
    const std::uint64_t before = connection.receiver.next();
    connection.receiver.take(packet.segment, packet.marked);
    counters_.delivered_bytes += connection.receiver.next() - before;
  }
  connection.sender.on_ack(packet.segment, clockwork_.now());
}

// Reports messages that have been received or acknowledged. The callback may send more.
void TcpNic::settle(std::uint32_t number) {
  Connection* connection = &connections_[number];
  const std::uint64_t come = connection->receiver.next();
  while (!connection->receiving.empty() && connection->receiving.front().end <= come) {
    const auto immediate = static_cast<std::uint32_t>(connection->receiving.front().name);
    connection->receiving.pop_front();
    ++connection->calls;
    deliveries_.push_back({number, immediate});
    schedule(clockwork_.now() + spec_.latency, What::kDeliver, 0);
  }
  while (!connection->sending.empty() &&
         connection->sending.front().end <= connection->sender.unacked()) {
    const std::uint64_t message = connection->sending.front().name;
    connection->sending.pop_front();
    user_->sent(node_, message);
    connection = &connections_[number];  // the callback may have added connections
  }
}

}  // namespace nerve::sim
