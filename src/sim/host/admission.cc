#include "sim/host/admission.h"

#include <algorithm>

namespace nerve::sim {
namespace {

template <class T>
T& at(std::vector<T>& all, std::uint32_t number) {
  if (number >= all.size()) all.resize(number + 1);
  return all[number];
}

}  // namespace

void Admission::ask(std::uint32_t receiver, std::uint32_t number, std::uint64_t bytes) {
  Stream& stream = at(streams_, number);
  Receiver& its = at(receivers_, receiver);
  stream.receiver = receiver;
  const std::uint64_t permitted = std::min(bytes, stream.ahead);
  stream.ahead -= permitted;
  its.ahead -= permitted;
  if (bytes == permitted) return;
  if (stream.wanted == 0) its.turn.push_back(number);
  stream.wanted += bytes - permitted;
}

std::optional<Admission::Permission> Admission::next(std::uint32_t number) {
  if (number >= receivers_.size()) return std::nullopt;
  Receiver& receiver = receivers_[number];
  if (receiver.turn.empty()) return next_ahead(receiver);
  const std::uint32_t first = receiver.turn.front();
  Stream& stream = streams_[first];
  const std::uint64_t bytes = std::min<std::uint64_t>(stream.wanted, spec_.chunk);
  if (receiver.outstanding + bytes > spec_.limit) return std::nullopt;
  receiver.turn.pop_front();
  stream.wanted -= bytes;
  if (stream.wanted > 0) receiver.turn.push_back(first);
  permit(receiver, first, bytes);
  return Permission{first, static_cast<std::uint32_t>(bytes)};
}

std::optional<Admission::Permission> Admission::next_ahead(Receiver& receiver) {
  if (!receiver.last) return std::nullopt;
  Stream& stream = streams_[*receiver.last];
  if (stream.ahead > spec_.chunk / 2) return std::nullopt;
  const std::uint64_t bytes = spec_.chunk - stream.ahead;
  const std::uint64_t most_ahead = std::min(spec_.limit / 2, spec_.limit - spec_.chunk);
  if (receiver.ahead + bytes > most_ahead) return std::nullopt;
  if (receiver.outstanding + bytes > spec_.limit) return std::nullopt;
  stream.ahead += bytes;
  receiver.ahead += bytes;
  permit(receiver, *receiver.last, bytes);
  return Permission{*receiver.last, static_cast<std::uint32_t>(bytes)};
}

void Admission::permit(Receiver& receiver, std::uint32_t stream, std::uint64_t bytes) {
  streams_[stream].outstanding += bytes;
  receiver.outstanding += bytes;
  most_ = std::max(most_, receiver.outstanding);
  ++permissions_;
}

void Admission::arrived(std::uint32_t number, std::uint64_t bytes) {
  Stream& stream = streams_[number];
  CHECK(stream.outstanding >= stream.ahead + bytes);
  stream.outstanding -= bytes;
  receivers_[stream.receiver].outstanding -= bytes;
  receivers_[stream.receiver].last = number;
}

void Admission::forget(std::uint32_t number) {
  if (number >= streams_.size()) return;
  Stream& stream = streams_[number];
  if (stream.receiver >= receivers_.size()) return;
  Receiver& receiver = receivers_[stream.receiver];
  if (stream.wanted > 0) std::erase(receiver.turn, number);
  receiver.outstanding -= stream.outstanding;
  receiver.ahead -= stream.ahead;
  if (receiver.last == number) receiver.last.reset();
  stream = {};
}

std::uint64_t Admission::outstanding(std::uint32_t receiver) const {
  if (receiver >= receivers_.size()) return 0;
  return receivers_[receiver].outstanding - receivers_[receiver].ahead;
}

}  // namespace nerve::sim
