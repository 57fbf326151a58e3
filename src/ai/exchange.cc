// Collectives that move data without combining it, and the choice of an all-reduce algorithm.
#include <algorithm>

#include "ai/collectives.h"

namespace nerve::ai {
namespace {

// Longer data travels in pieces, which spread over the lanes.
constexpr std::size_t kPiece = 1U << 20;
// Up to this size every rank sends everything to all others.
constexpr std::size_t kExchangeLimit = 16384;
constexpr std::size_t kExchangeTotal = 65536;  // sent by one rank
constexpr int kExchangeRanks = 4;              // if they share CPUs

// Long data goes into the memory that the peer announced, from this offset on.
Status send_pieces(const Collective& c, const Call& call, int peer, const std::byte* from,
                   std::size_t bytes, const Registration& memory, const Streams::Announced& to,
                   std::size_t offset) {
  for (std::size_t at = 0; at < bytes; at += kPiece) {
    Status sent = c.streams.send_direct(peer, from + at, std::min(kPiece, bytes - at), memory, to,
                                        offset + at, call.counter());
    if (!sent) return sent;
  }
  return Done{};
}

Status receive_pieces(const Collective& c, int peer, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kPiece) {
    if (Status got = c.streams.receive_direct(peer); !got) return got;
  }
  return Done{};
}

// Every rank sends `bytes` from source(peer) into the part of `out` that belongs to this rank.
template <class SourceOf>
Status exchange_direct(const Collective& c, const Call& call, const Registration& in_memory,
                       SourceOf source_of, const Memory& out, std::size_t bytes) {
  const std::size_t whole = bytes * static_cast<std::size_t>(c.size());
  auto out_memory = c.streams.memory().find_or_add(out, whole);
  if (!out_memory) return passed_on(out_memory);
  for (int step = 1; step < c.size(); ++step) {
    Status announced = c.streams.announce(c.peer(step), out.data, whole, **out_memory);
    if (!announced) return announced;
  }
  for (int step = 1; step < c.size(); ++step) {
    const int peer = c.peer(step);
    auto to = c.streams.wait_announced(peer);
    if (!to) return passed_on(to);
    Status sent = send_pieces(c, call, peer, source_of(peer), bytes, in_memory, *to,
                              bytes * static_cast<std::size_t>(c.rank()));
    if (!sent) return sent;
  }
  for (int step = 1; step < c.size(); ++step) {
    if (Status got = receive_pieces(c, c.peer(step), bytes); !got) return got;
  }
  return call.finish();
}

// Receives one chunk of every peer into its part of `out`.
Status receive_chunks(const Collective& c, const Memory& out, std::size_t bytes) {
  for (int step = 1; step < c.size(); ++step) {
    const int peer = c.peer(step);
    auto slot = c.streams.receive(peer);
    if (!slot) return passed_on(slot);
    const Memory part = out.at(bytes * static_cast<std::size_t>(peer));
    if (Status stored = copy(part, host_memory(*slot), bytes); !stored) return stored;
    if (Status released = c.streams.release(peer); !released) return released;
  }
  return Done{};
}

// What is copied when it is posted needs no copy of ours.
Result<Streams::Copy, Error> copy_of(const Collective& c, const Memory& data, std::size_t bytes) {
  if (bytes <= kInline && data.gpu == nullptr) return Streams::Copy{data.data, nullptr};
  auto made = c.streams.copy();
  if (!made) return made;
  if (Status copied = copy(host_memory(made->data), data, bytes); !copied) return passed_on(copied);
  return made;
}

// What fits into the slots of a stream does not wait for its receiver.
bool is_long(const Collective& c, std::size_t bytes) {
  return bytes > Streams::kSlots * c.streams.slot_bytes();
}

}  // namespace

Status send_copy_to_all(const Collective& c, const Memory& data, std::size_t bytes) {
  auto source = copy_of(c, data, bytes);
  if (!source) return passed_on(source);
  for (int step = 1; step < c.size(); ++step) {
    Status sent = c.streams.send(c.peer(step), source->data, bytes, source->memory, std::nullopt);
    if (!sent) return sent;
  }
  return Done{};
}

Status send_copy(const Collective& c, const Memory& data, std::size_t bytes, int peer) {
  auto source = copy_of(c, data, bytes);
  if (!source) return passed_on(source);
  return c.streams.send(peer, source->data, bytes, source->memory, std::nullopt);
}

Unexpected<Error> wrong_size(const char* what, int peer, std::uint64_t theirs, std::uint64_t ours) {
  return failure(Error::Kind::kProtocol,
                 "rank " + std::to_string(peer) + " " + what + " " + std::to_string(theirs) +
                     " bytes, this rank " + std::to_string(ours) +
                     "; all ranks must pass the same size",
                 peer);
}

Status all_gather(const Collective& c, const Memory& in, const Memory& out, std::size_t bytes) {
  if (bytes == 0) return Done{};
  const Memory own = out.at(bytes * static_cast<std::size_t>(c.rank()));
  if (Status kept = copy(own, in, bytes); !kept) return kept;
  if (c.size() == 1) return Done{};
  if (bytes <= Streams::kCopied) {
    if (Status sent = send_copy_to_all(c, in, bytes); !sent) return sent;
    return receive_chunks(c, out, bytes);
  }
  const Call call{c};
  auto memory = c.streams.memory().find_or_add(in, bytes);
  if (!memory) return passed_on(memory);
  return exchange_direct(
      c, call, **memory, [&](int /*peer*/) { return in.data; }, out, bytes);
}

Status all_to_all(const Collective& c, const Memory& in, const Memory& out, std::size_t bytes) {
  if (bytes == 0) return Done{};
  const std::size_t own = bytes * static_cast<std::size_t>(c.rank());
  if (Status kept = copy(out.at(own), in.at(own), bytes); !kept) return kept;
  if (c.size() == 1) return Done{};
  const Call call{c};
  auto memory = c.streams.memory().find_or_add(in, bytes * static_cast<std::size_t>(c.size()));
  if (!memory) return passed_on(memory);
  const auto source = [&](int peer) { return in.data + bytes * static_cast<std::size_t>(peer); };
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
  return receive_chunks(c, {}, 0);
}

Status send(const Collective& c, const Memory& data, std::size_t bytes, int peer) {
  if (bytes == 0) return Done{};
  const Call call{c};
  auto memory = c.streams.memory().find_or_add(data, bytes);
  if (!memory) return passed_on(memory);
  if (is_long(c, bytes)) {
    auto to = c.streams.wait_announced(peer);
    if (!to) return passed_on(to);
    if (to->length != bytes) return wrong_size("receives", peer, to->length, bytes);
    Status sent = send_pieces(c, call, peer, data.data, bytes, **memory, *to, 0);
    return sent ? call.finish() : sent;
  }
  const std::size_t chunk = c.streams.slot_bytes();
  for (std::size_t at = 0; at < bytes; at += chunk) {
    Status sent =
        c.streams.send(peer, data.data + at, std::min(chunk, bytes - at), *memory, call.counter());
    if (!sent) return sent;
  }
  return call.finish();
}

Status receive(const Collective& c, const Memory& data, std::size_t bytes, int peer) {
  if (is_long(c, bytes)) {
    const Call call{c};
    auto memory = c.streams.memory().find_or_add(data, bytes);
    if (!memory) return passed_on(memory);
    Status announced = c.streams.announce(peer, data.data, bytes, **memory);
    return announced ? receive_pieces(c, peer, bytes) : announced;
  }
  const std::size_t chunk = c.streams.slot_bytes();
  for (std::size_t at = 0; at < bytes; at += chunk) {
    auto slot = c.streams.receive(peer);
    if (!slot) return passed_on(slot);
    Status stored = copy(data.at(at), host_memory(*slot), std::min(chunk, bytes - at));
    if (!stored) return stored;
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
