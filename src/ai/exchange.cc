// Collectives that move data without combining it, and the choice of an all-reduce algorithm.
#include <algorithm>
#include <cstring>

#include "ai/collectives.h"

namespace nerve::ai {
namespace {

// Longer data travels in pieces, which spread over the lanes.
constexpr std::size_t kPiece = 1U << 20;
// Up to this size every rank sends everything to all others.
constexpr std::size_t kExchangeLimit = 16384;
constexpr std::size_t kExchangeTotal = 65536;  // sent by one rank
constexpr int kExchangeRanks = 4;              // if they share CPUs

std::size_t pieces_of(std::size_t bytes) { return (bytes + kPiece - 1) / kPiece; }

// Every rank sends `bytes` from source(peer) into the part of `out` that belongs to this rank.
template <class SourceOf>
Status exchange_direct(const Collective& c, const Call& call, const Registration& in_memory,
                       SourceOf source_of, std::byte* out, std::size_t bytes) {
  const std::size_t whole = bytes * static_cast<std::size_t>(c.size());
  auto out_memory = c.streams.memory().find_or_add(out, whole);
  if (!out_memory) return passed_on(out_memory);
  for (int step = 1; step < c.size(); ++step) {
    Status announced = c.streams.announce(c.peer(step), out, whole, **out_memory);
    if (!announced) return announced;
  }
  for (int step = 1; step < c.size(); ++step) {
    const int peer = c.peer(step);
    auto to = c.streams.wait_announced(peer);
    if (!to) return passed_on(to);
    const std::byte* from = source_of(peer);
    const std::size_t offset = bytes * static_cast<std::size_t>(c.rank());
    for (std::size_t at = 0; at < bytes; at += kPiece) {
      Status sent = c.streams.send_direct(peer, from + at, std::min(kPiece, bytes - at), in_memory,
                                          *to, offset + at, call.counter());
      if (!sent) return sent;
    }
  }
  for (int step = 1; step < c.size(); ++step) {
    for (std::size_t piece = 0; piece < pieces_of(bytes); ++piece) {
      if (Status got = c.streams.receive_direct(c.peer(step)); !got) return got;
    }
  }
  return call.finish();
}

// Receives one chunk of every peer into its part of `out`.
Status receive_chunks(const Collective& c, std::byte* out, std::size_t bytes) {
  for (int step = 1; step < c.size(); ++step) {
    const int peer = c.peer(step);
    auto slot = c.streams.receive(peer);
    if (!slot) return passed_on(slot);
    if (bytes > 0) std::memcpy(out + bytes * static_cast<std::size_t>(peer), *slot, bytes);
    if (Status released = c.streams.release(peer); !released) return released;
  }
  return Done{};
}

// What is copied when it is posted needs no copy of ours.
Result<Streams::Copy, Error> copy_of(const Collective& c, const std::byte* data,
                                     std::size_t bytes) {
  if (bytes <= kInline) return Streams::Copy{const_cast<std::byte*>(data), nullptr};
  auto copy = c.streams.copy();
  if (copy) std::memcpy(copy->data, data, bytes);
  return copy;
}

void keep_own(const std::byte* from, std::byte* to, std::size_t bytes) {
  if (from != to && bytes > 0) std::memmove(to, from, bytes);
}

}  // namespace

Status send_copy_to_all(const Collective& c, const std::byte* data, std::size_t bytes) {
  auto source = copy_of(c, data, bytes);
  if (!source) return passed_on(source);
  for (int step = 1; step < c.size(); ++step) {
    Status sent = c.streams.send(c.peer(step), source->data, bytes, source->memory, std::nullopt);
    if (!sent) return sent;
  }
  return Done{};
}

Status send_copy(const Collective& c, const std::byte* data, std::size_t bytes, int peer) {
  auto source = copy_of(c, data, bytes);
  if (!source) return passed_on(source);
  return c.streams.send(peer, source->data, bytes, source->memory, std::nullopt);
}

Status all_gather(const Collective& c, const std::byte* in, std::byte* out, std::size_t bytes) {
  if (bytes == 0) return Done{};
  keep_own(in, out + bytes * static_cast<std::size_t>(c.rank()), bytes);
  if (c.size() == 1) return Done{};
  if (bytes <= Streams::kCopied) {
    if (Status sent = send_copy_to_all(c, in, bytes); !sent) return sent;
    return receive_chunks(c, out, bytes);
  }
  const Call call{c};
  auto memory = c.streams.memory().find_or_add(in, bytes);
  if (!memory) return passed_on(memory);
  return exchange_direct(
      c, call, **memory, [&](int /*peer*/) { return in; }, out, bytes);
}

Status all_to_all(const Collective& c, const std::byte* in, std::byte* out, std::size_t bytes) {
  if (bytes == 0) return Done{};
  const std::size_t own = bytes * static_cast<std::size_t>(c.rank());
  keep_own(in + own, out + own, bytes);
  if (c.size() == 1) return Done{};
  const Call call{c};
  auto memory = c.streams.memory().find_or_add(in, bytes * static_cast<std::size_t>(c.size()));
  if (!memory) return passed_on(memory);
  const auto source = [&](int peer) { return in + bytes * static_cast<std::size_t>(peer); };
  if (bytes > Streams::kCopied) return exchange_direct(c, call, **memory, source, out, bytes);
  for (int step = 1; step < c.size(); ++step) {
    const int peer = c.peer(step);
    Status sent = c.streams.send(peer, source(peer), bytes, *memory, call.counter());
    if (!sent) return sent;
  }
  if (Status received = receive_chunks(c, out, bytes); !received) return received;
  return call.finish();
}

Status barrier(const Collective& c) {
  for (int step = 1; step < c.size(); ++step) {
    Status sent = c.streams.send(c.peer(step), nullptr, 0, nullptr, std::nullopt);
    if (!sent) return sent;
  }
  return receive_chunks(c, nullptr, 0);
}

Status send(const Collective& c, const std::byte* data, std::size_t bytes, int peer) {
  if (bytes == 0) return Done{};
  const Call call{c};
  auto memory = c.streams.memory().find_or_add(data, bytes);
  if (!memory) return passed_on(memory);
  const std::size_t chunk = c.streams.slot_bytes();
  for (std::size_t at = 0; at < bytes; at += chunk) {
    Status sent =
        c.streams.send(peer, data + at, std::min(chunk, bytes - at), *memory, call.counter());
    if (!sent) return sent;
  }
  return call.finish();
}

Status receive(const Collective& c, std::byte* data, std::size_t bytes, int peer) {
  const std::size_t chunk = c.streams.slot_bytes();
  for (std::size_t at = 0; at < bytes; at += chunk) {
    auto slot = c.streams.receive(peer);
    if (!slot) return passed_on(slot);
    std::memcpy(data + at, *slot, std::min(chunk, bytes - at));
    if (Status released = c.streams.release(peer); !released) return released;
  }
  return Done{};
}

namespace {

Algorithm choose(const Collective& c, std::size_t bytes) {
  const std::size_t sent = bytes * static_cast<std::size_t>(c.size() - 1);
  if (bytes <= kExchangeLimit) {
    if (c.shares_cpus && c.size() > kExchangeRanks) return Algorithm::kStar;
    if (sent <= kExchangeTotal) return Algorithm::kExchange;
  }
  return c.copies_directly ? Algorithm::kPull : Algorithm::kMesh;
}

}  // namespace

Status all_reduce(const Collective& c, std::byte* data, std::size_t count, Reduction how,
                  Algorithm algorithm) {
  if (count == 0 || c.size() == 1) return Done{};
  const std::size_t bytes = count * how.element();
  if (algorithm == Algorithm::kAuto) algorithm = choose(c, bytes);
  const bool copies = algorithm == Algorithm::kExchange || algorithm == Algorithm::kStar;
  if (copies && bytes > Streams::kCopied) algorithm = Algorithm::kMesh;
  switch (algorithm) {
    case Algorithm::kExchange:
      return exchange_all_reduce(c, data, count, how);
    case Algorithm::kStar:
      return star_all_reduce(c, data, count, how);
    case Algorithm::kPull:
      return pull_all_reduce(c, data, count, how);
    case Algorithm::kRing:
      return ring_all_reduce(c, data, count, how);
    case Algorithm::kTree:
      return tree_all_reduce(c, data, count, how);
    case Algorithm::kAuto:
    case Algorithm::kMesh:
      break;
  }
  return mesh_all_reduce(c, data, count, how);
}

}  // namespace nerve::ai
