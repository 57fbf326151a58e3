// Reductions in which every rank combines one part of the data, with the contributions of all ranks
// at once: in the order of ranks, and with one pass over memory.
#include <algorithm>
#include <array>
#include <cstring>

#include "ai/collectives.h"
#include "ai/reduce.h"

namespace nerve::ai {
namespace {

// Blocks that are sent before the first of them is combined. Less than the slots of a stream, so
// that no rank waits for credits of a rank that waits for it.
constexpr std::size_t kAhead = 2;
static_assert(kAhead < Streams::kSlots);

// The part of the data that one rank combines, in blocks of a slot.
class Blocks {
 public:
  Blocks(const Collective& c, std::size_t count, std::size_t element)
      : count_{count}, parts_{c.size()}, chunk_{c.streams.slot_bytes() / element} {}

  // The largest number of blocks of any part.
  [[nodiscard]] std::size_t most() const {
    std::size_t largest = 0;
    for (int i = 0; i < parts_; ++i) largest = std::max(largest, part_of(count_, parts_, i).count);
    return (largest + chunk_ - 1) / chunk_;
  }
  // Block number `index` of this part; empty after its end.
  [[nodiscard]] Part block(int part, std::size_t index) const {
    const Part whole = part_of(count_, parts_, part);
    const std::size_t begin = std::min(index * chunk_, whole.count);
    return {whole.begin + begin, std::min(chunk_, whole.count - begin)};
  }

 private:
  std::size_t count_;
  int parts_;
  std::size_t chunk_;
};

using Contributions = std::array<const void*, kMaxRanks>;

// Receives one chunk of every peer; `all[rank()]` must be set.
Status receive_all(const Collective& c, Contributions& all) {
  for (int step = 1; step < c.size(); ++step) {
    const int peer = c.peer(step);
    auto slot = c.streams.receive(peer);
    if (!slot) return passed_on(slot);
    all[static_cast<std::size_t>(peer)] = *slot;
  }
  return Done{};
}

Status release_all(const Collective& c) {
  for (int step = 1; step < c.size(); ++step) {
    if (Status released = c.streams.release(c.peer(step)); !released) return released;
  }
  return Done{};
}

void combine_all(const Collective& c, Reduction how, std::byte* out, const Contributions& all,
                 std::size_t count) {
  const auto ranks = static_cast<std::size_t>(c.size());
  combine(how.type, how.op, out, std::span{all.data(), ranks}, count, ranks);
}

// Sends block `index` of every peer's part from `in` to that peer.
Status send_block(const Collective& c, const std::byte* in, const Registration* memory,
                  const Blocks& blocks, std::size_t index, std::size_t element, Counter counter) {
  for (int step = 1; step < c.size(); ++step) {
    const int peer = c.peer(step);
    const Part block = blocks.block(peer, index);
    if (block.count == 0) continue;
    Status sent =
        c.streams.send(peer, in + block.begin * element, block.count * element, memory, counter);
    if (!sent) return sent;
  }
  return Done{};
}

}  // namespace

Part part_of(std::size_t total, int parts, int index) {
  const auto n = static_cast<std::size_t>(parts);
  const auto i = static_cast<std::size_t>(index);
  const std::size_t each = total / n;
  const std::size_t longer = total % n;  // the first parts have one element more
  return {each * i + std::min(i, longer), each + (i < longer ? 1 : 0)};
}

Status exchange_all_reduce(const Collective& c, std::byte* data, std::size_t count, Reduction how) {
  const std::size_t bytes = count * how.element();
  if (Status sent = send_copy_to_all(c, host_memory(data), bytes); !sent) return sent;
  Contributions all{};
  all[static_cast<std::size_t>(c.rank())] = data;
  if (Status received = receive_all(c, all); !received) return received;
  combine_all(c, how, data, all, count);
  return release_all(c);
}

// Rank 0 combines. There are 2 (n - 1) messages instead of n (n - 1), which matters where ranks
// share CPUs and messages wait for their receiver to run anyway.
Status star_all_reduce(const Collective& c, std::byte* data, std::size_t count, Reduction how) {
  const std::size_t bytes = count * how.element();
  if (c.rank() != 0) {
    if (Status sent = send_copy(c, host_memory(data), bytes, 0); !sent) return sent;
    auto slot = c.streams.receive(0);
    if (!slot) return passed_on(slot);
    std::memcpy(data, *slot, bytes);
    return c.streams.release(0);
  }
  Contributions all{data};
  if (Status received = receive_all(c, all); !received) return received;
  combine_all(c, how, data, all, count);
  if (Status released = release_all(c); !released) return released;
  return send_copy_to_all(c, host_memory(data), bytes);
}

// A rank that has sent us its contribution to a block will not read its own copy of that block
// again, so the result is written over it. Its arrival needs no other notice.
Status mesh_all_reduce(const Collective& c, std::byte* data, std::size_t count, Reduction how) {
  const std::size_t element = how.element();
  const Blocks blocks{c, count, element};
  const Call call{c};
  auto memory = c.streams.memory().find_or_add(host_memory(data), count * element);
  if (!memory) return passed_on(memory);
  const auto peers = static_cast<std::size_t>(c.size());
  std::vector<Streams::Announced> theirs(peers);
  for (int step = 1; step < c.size(); ++step) {
    Status announced = c.streams.announce(c.peer(step), data, count * element, **memory);
    if (!announced) return announced;
  }
  const std::size_t most = blocks.most();
  for (std::size_t index = 0; index < most + kAhead; ++index) {
    if (index < most) {
      Status sent = send_block(c, data, *memory, blocks, index, element, call.counter());
      if (!sent) return sent;
    }
    if (index < kAhead) continue;
    if (index == kAhead) {
      for (int step = 1; step < c.size(); ++step) {
        const int peer = c.peer(step);
        auto announced = c.streams.wait_announced(peer);
        if (!announced) return passed_on(announced);
        if (announced->length != count * element) {
          return wrong_size("reduces", peer, announced->length, count * element);
        }
        theirs[static_cast<std::size_t>(peer)] = *announced;
      }
    }
    const Part block = blocks.block(c.rank(), index - kAhead);
    if (block.count == 0) continue;
    std::byte* mine = data + block.begin * element;
    Contributions all{};
    all[static_cast<std::size_t>(c.rank())] = mine;
    if (Status received = receive_all(c, all); !received) return received;
    combine_all(c, how, mine, all, block.count);
    if (Status released = release_all(c); !released) return released;
    for (int step = 1; step < c.size(); ++step) {
      const int peer = c.peer(step);
      Status sent = c.streams.send_direct(peer, mine, block.count * element, **memory,
                                          theirs[static_cast<std::size_t>(peer)],
                                          block.begin * element, call.counter());
      if (!sent) return sent;
    }
  }
  for (int step = 1; step < c.size(); ++step) {
    const int peer = c.peer(step);
    for (std::size_t index = 0; blocks.block(peer, index).count > 0; ++index) {
      if (Status received = c.streams.receive_direct(peer); !received) return received;
    }
  }
  return call.finish();
}

Status reduce_scatter(const Collective& c, const std::byte* in, std::byte* out, std::size_t count,
                      Reduction how) {
  const std::size_t element = how.element();
  const Blocks blocks{c, count * static_cast<std::size_t>(c.size()), element};
  if (count == 0) return Done{};
  const Call call{c};
  const std::size_t bytes = count * element * static_cast<std::size_t>(c.size());
  auto memory = c.streams.memory().find_or_add(host_memory(in), bytes);
  if (!memory) return passed_on(memory);
  const std::size_t most = blocks.most();
  for (std::size_t index = 0; index < most + kAhead; ++index) {
    if (index < most) {
      Status sent = send_block(c, in, *memory, blocks, index, element, call.counter());
      if (!sent) return sent;
    }
    if (index < kAhead) continue;
    const Part block = blocks.block(c.rank(), index - kAhead);
    Contributions all{};
    all[static_cast<std::size_t>(c.rank())] = in + block.begin * element;
    if (Status received = receive_all(c, all); !received) return received;
    const std::size_t offset = block.begin - count * static_cast<std::size_t>(c.rank());
    combine_all(c, how, out + offset * element, all, block.count);
    if (Status released = release_all(c); !released) return released;
  }
  return call.finish();
}

}  // namespace nerve::ai
