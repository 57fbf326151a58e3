// The collectives, written on the streams. Every rank makes the same calls in the same order, with
// the same sizes. All of them return when the result is complete in this rank and its memory is no
// longer read.
#pragma once

#include <cstddef>

#include "ai/streams.h"
#include "ai/types.h"

namespace nerve::ai {

struct Collective {
  Engine& engine;
  Streams& streams;
  bool shares_cpus{};      // more ranks than CPUs on some machine
  bool copies_directly{};  // between all ranks: reading is as fast as writing

  [[nodiscard]] int rank() const { return engine.rank(); }
  [[nodiscard]] int size() const { return engine.size(); }
  // The peers in the order in which this rank sends to them: the next rank first, so that not all
  // send to the same one.
  [[nodiscard]] int peer(int step) const { return (rank() + step) % size(); }
};

struct Reduction {
  DataType type;
  ReduceOp op;

  [[nodiscard]] std::size_t element() const { return size_of(type); }
};

// Elements [begin, begin + count) of `total`, of one of `parts` parts of nearly equal size.
struct Part {
  std::size_t begin;
  std::size_t count;
};
Part part_of(std::size_t total, int parts, int index);

// Reductions are made by the CPU, so their memory is the process's; staged_reduce.h has those of
// GPU memory.
Status all_reduce(const Collective& c, std::byte* data, std::size_t count, Reduction how,
                  Algorithm algorithm);
// `in` has `count` elements for each rank.
Status reduce_scatter(const Collective& c, const std::byte* in, std::byte* out, std::size_t count,
                      Reduction how);
// `out` has `bytes` for each rank; `in` may be its part of this rank.
Status all_gather(const Collective& c, const Memory& in, const Memory& out, std::size_t bytes);
// `in` and `out` have `bytes` for each rank.
Status all_to_all(const Collective& c, const Memory& in, const Memory& out, std::size_t bytes);
Status broadcast(const Collective& c, const Memory& data, std::size_t bytes, int root);
Status barrier(const Collective& c);
Status send(const Collective& c, const Memory& data, std::size_t bytes, int peer);
Status receive(const Collective& c, const Memory& data, std::size_t bytes, int peer);

// Sends up to Streams::kCopied bytes to every other rank, or to one; they may change when it
// returns.
Status send_copy_to_all(const Collective& c, const Memory& data, std::size_t bytes);
Status send_copy(const Collective& c, const Memory& data, std::size_t bytes, int peer);
// The peer passed another size.
Unexpected<Error> wrong_size(const char* what, int peer, std::uint64_t theirs, std::uint64_t ours);

// The algorithms of all_reduce.
Status exchange_all_reduce(const Collective& c, std::byte* data, std::size_t count, Reduction how);
Status star_all_reduce(const Collective& c, std::byte* data, std::size_t count, Reduction how);
Status mesh_all_reduce(const Collective& c, std::byte* data, std::size_t count, Reduction how);
Status pull_all_reduce(const Collective& c, std::byte* data, std::size_t count, Reduction how);
Status ring_all_reduce(const Collective& c, std::byte* data, std::size_t count, Reduction how);
Status tree_all_reduce(const Collective& c, std::byte* data, std::size_t count, Reduction how);

// Counts the requests of one collective, and ends its registrations.
class Call {
 public:
  explicit Call(const Collective& c) : c_{c}, counter_{c.engine.start_counting()} {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    c_.engine.stop_counting(counter_);
    c_.streams.memory().end_call();
  }
  [[nodiscard]] Counter counter() const { return counter_; }
  // Until the memory of all requests may be changed. A peer may have left meanwhile.
  Status finish() const {
    return c_.engine.wait(Engine::kAnyRank, [&] { return c_.engine.outstanding(counter_) == 0; });
  }

 private:
  const Collective& c_;
  Counter counter_;
};

}  // namespace nerve::ai
