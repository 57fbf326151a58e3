// Broadcast and all-reduce in a binomial tree, chunk by chunk: while a chunk moves up or down one
// level, the next one follows.
#include <algorithm>
#include <array>
#include <bit>

#include "ai/collectives.h"
#include "ai/reduce.h"

namespace nerve::ai {
namespace {

// The tree over positions; position 0 is the root. The children of a position are it plus the
// powers of two below its lowest bit.
class Tree {
 public:
  Tree(const Collective& c, int root) : size_{c.size()}, root_{root} {
    const auto position = static_cast<unsigned>((c.rank() - root + size_) % size_);
    const unsigned lowest =
        position == 0 ? std::bit_ceil(static_cast<unsigned>(size_)) : position & (~position + 1U);
    if (position != 0) parent_ = rank_of(position - lowest);
    for (unsigned bit = 1; bit < lowest; bit *= 2) {
      if (position + bit < static_cast<unsigned>(size_)) {
        children_.push_back(rank_of(position + bit));
      }
    }
  }
  [[nodiscard]] int parent() const { return parent_; }
  [[nodiscard]] bool is_root() const { return parent_ < 0; }
  [[nodiscard]] const std::vector<int>& children() const { return children_; }

 private:
  [[nodiscard]] int rank_of(unsigned position) const {
    return (static_cast<int>(position) + root_) % size_;
  }

  int size_;
  int root_;
  int parent_{-1};
  std::vector<int> children_;
};

// Where a send may come from: the tensor itself if it is long, else a copy.
class Source {
 public:
  Source(const Collective& c, const Call& call, const Memory& data, std::size_t bytes)
      : c_{c}, call_{call}, data_{data}, bytes_{bytes} {}

  Status open() {
    if (bytes_ <= Streams::kCopied) return Done{};
    auto memory = c_.streams.memory().find_or_add(data_, bytes_);
    if (!memory) return passed_on(memory);
    memory_ = *memory;
    return Done{};
  }
  Status send(const std::vector<int>& peers, const Memory& from, std::size_t length) {
    const Registration* memory = memory_;
    const std::byte* data = from.data;
    if (memory == nullptr && (length > kInline || from.gpu != nullptr) && !peers.empty()) {
      auto made = c_.streams.copy();
      if (!made) return passed_on(made);
      if (Status copied = copy(host_memory(made->data), from, length); !copied) return copied;
      data = made->data;
      memory = made->memory;
    }
    const auto counter = memory_ == nullptr ? std::nullopt : std::optional{call_.counter()};
    for (const int peer : peers) {
      if (Status sent = c_.streams.send(peer, data, length, memory, counter); !sent) return sent;
    }
    return Done{};
  }

 private:
  const Collective& c_;
  const Call& call_;
  Memory data_;
  std::size_t bytes_;
  const Registration* memory_{};
};

Status pass_down(const Collective& c, const Tree& tree, Source& source, const Memory& data,
                 std::size_t length) {
  if (!tree.is_root()) {
    auto slot = c.streams.receive(tree.parent());
    if (!slot) return passed_on(slot);
    if (Status stored = copy(data, host_memory(*slot), length); !stored) return stored;
    if (Status released = c.streams.release(tree.parent()); !released) return released;
  }
  return source.send(tree.children(), data, length);
}

Status pass_up(const Collective& c, const Tree& tree, Source& source, std::byte* data,
               std::size_t count, Reduction how) {
  std::array<const void*, 8> all{data};
  std::size_t contributions = 1;
  for (const int child : tree.children()) {
    auto slot = c.streams.receive(child);
    if (!slot) return passed_on(slot);
    all[contributions++] = *slot;
  }
  const std::size_t divisor = tree.is_root() ? static_cast<std::size_t>(c.size()) : 0;
  combine(how.type, how.op, data, std::span{all.data(), contributions}, count, divisor);
  for (const int child : tree.children()) {
    if (Status released = c.streams.release(child); !released) return released;
  }
  if (tree.is_root()) return Done{};
  return source.send({tree.parent()}, host_memory(data), count * how.element());
}

}  // namespace

Status broadcast(const Collective& c, const Memory& data, std::size_t bytes, int root) {
  if (bytes == 0 || c.size() == 1) return Done{};
  const Call call{c};
  const Tree tree{c, root};
  Source source{c, call, data, bytes};
  if (Status opened = source.open(); !opened) return opened;
  const std::size_t chunk = c.streams.slot_bytes();
  for (std::size_t at = 0; at < bytes; at += chunk) {
    Status passed = pass_down(c, tree, source, data.at(at), std::min(chunk, bytes - at));
    if (!passed) return passed;
  }
  return call.finish();
}

// Chunks go up ahead of those that come down, so that both levels of the tree stay busy.
Status tree_all_reduce(const Collective& c, std::byte* data, std::size_t count, Reduction how) {
  constexpr std::size_t kAhead = 3;
  static_assert(kAhead < Streams::kSlots);
  const Call call{c};
  const Tree tree{c, 0};
  const std::size_t element = how.element();
  Source source{c, call, host_memory(data), count * element};
  if (Status opened = source.open(); !opened) return opened;
  const std::size_t chunk = c.streams.slot_bytes() / element;
  const std::size_t chunks = (count + chunk - 1) / chunk;
  for (std::size_t i = 0; i < chunks + kAhead; ++i) {
    if (i < chunks) {
      const std::size_t n = std::min(chunk, count - i * chunk);
      Status up = pass_up(c, tree, source, data + i * chunk * element, n, how);
      if (!up) return up;
    }
    if (i < kAhead || i - kAhead >= chunks) continue;
    const std::size_t at = i - kAhead;
    const std::size_t n = std::min(chunk, count - at * chunk);
    Status down = pass_down(c, tree, source, host_memory(data + at * chunk * element), n * element);
    if (!down) return down;
  }
  return call.finish();
}

}  // namespace nerve::ai
