// All-reduce around a ring: every rank talks to two others only, which suits networks in which
// many senders to one receiver collide. Part p is combined in the order p, p + 1, ... of ranks.
#include <algorithm>
#include <array>
#include <cstring>

#include "ai/collectives.h"
#include "ai/reduce.h"

namespace nerve::ai {
namespace {

constexpr std::size_t kRingAhead = 3;
static_assert(kRingAhead < Streams::kSlots);

class Ring {
 public:
  Ring(const Collective& c, std::byte* data, std::size_t count, Reduction how,
       const Registration* memory, Counter counter)
      : c_{c},
        data_{data},
        count_{count},
        how_{how},
        memory_{memory},
        counter_{counter},
        chunk_{c.streams.slot_bytes() / how.element()},
        chunks_{(part_of(count, c.size(), 0).count + chunk_ - 1) / chunk_} {}

  // Runs size - 1 steps. In step s this rank sends part `first - s` and receives `first - s - 1`.
  template <class Take>
  Status run(int first, Take take) {
    const std::size_t total = chunks_ * static_cast<std::size_t>(c_.size() - 1);
    // A chunk is sent one step after it was received, so at most a step is sent ahead.
    const std::size_t ahead = std::min(kRingAhead, chunks_ - 1);
    for (std::size_t i = 0; i < total + ahead; ++i) {
      if (i < total) {
        if (Status sent = send(part_in_step(first, i), i % chunks_); !sent) return sent;
      }
      if (i < ahead) continue;
      const std::size_t at = i - ahead;
      const bool last = at / chunks_ + 2 == static_cast<std::size_t>(c_.size());
      const Part part = piece(part_in_step(first - 1, at), at % chunks_);
      if (part.count == 0) continue;
      auto slot = c_.streams.receive(left());
      if (!slot) return passed_on(slot);
      take(data_ + part.begin * how_.element(), *slot, part.count, last);
      if (Status released = c_.streams.release(left()); !released) return released;
    }
    return Done{};
  }

 private:
  [[nodiscard]] int left() const { return (c_.rank() + c_.size() - 1) % c_.size(); }
  [[nodiscard]] int part_in_step(int first, std::size_t i) const {
    const int step = static_cast<int>(i / chunks_);
    return (first - step + 2 * c_.size()) % c_.size();
  }
  [[nodiscard]] Part piece(int part, std::size_t chunk) const {
    const Part whole = part_of(count_, c_.size(), part);
    const std::size_t begin = std::min(chunk * chunk_, whole.count);
    return {whole.begin + begin, std::min(chunk_, whole.count - begin)};
  }
  Status send(int part, std::size_t chunk) {
    const Part what = piece(part, chunk);
    if (what.count == 0) return Done{};
    return c_.streams.send(c_.peer(1), data_ + what.begin * how_.element(),
                           what.count * how_.element(), memory_, counter_);
  }

  const Collective& c_;
  std::byte* data_;
  std::size_t count_;
  Reduction how_;
  const Registration* memory_;
  Counter counter_;
  std::size_t chunk_;   // elements
  std::size_t chunks_;  // of the longest part
};

}  // namespace

Status ring_all_reduce(const Collective& c, std::byte* data, std::size_t count, Reduction how) {
  const Call call{c};
  auto memory = c.streams.memory().find_or_add(host_memory(data), count * how.element());
  if (!memory) return passed_on(memory);
  Ring ring{c, data, count, how, *memory, call.counter()};
  const auto ranks = static_cast<std::size_t>(c.size());
  const auto reduce = [&](std::byte* mine, const std::byte* slot, std::size_t n, bool last) {
    const std::array<const void*, 2> both{slot, mine};
    combine(how.type, how.op, mine, both, n, last ? ranks : 0);
  };
  if (Status reduced = ring.run(c.rank(), reduce); !reduced) return reduced;
  const auto copy = [&](std::byte* mine, const std::byte* slot, std::size_t n, bool /*last*/) {
    std::memcpy(mine, slot, n * how.element());
  };
  if (Status gathered = ring.run(c.rank() + 1, copy); !gathered) return gathered;
  return call.finish();
}

}  // namespace nerve::ai
