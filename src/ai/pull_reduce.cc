// An all-reduce in which each rank reads its part of the data from all others, block by block,
// combines it, and writes the result into the memory of all others. Two notifications for each pair
// of ranks: the data may be read; the result has been written.
//
// On one host both copies are made by this rank alone, and the block stays in its cache between
// them. A rank that shares its CPU with others has to run only twice.
#include <algorithm>
#include <array>
#include <vector>

#include "ai/collectives.h"
#include "ai/reduce.h"

namespace nerve::ai {
namespace {

constexpr std::size_t kLongestBlock = 128U << 10;
constexpr int kPollsForDirect = 64;

class Pull {
 public:
  Pull(const Collective& c, std::byte* data, std::size_t count, Reduction how)
      : c_{c},
        data_{data},
        count_{count},
        how_{how},
        part_{part_of(count, c.size(), c.rank())},
        block_{block_for(c.size(), how.element())},
        theirs_(static_cast<std::size_t>(c.size())),
        calls_{Call{c}, Call{c}} {}

  Status run() {
    auto memory = c_.streams.memory().find_or_add(host_memory(data_), bytes());
    if (!memory) return passed_on(memory);
    memory_ = *memory;
    if (Status known = exchange_addresses(); !known) return known;
    if (Status reduced = reduce(); !reduced) return reduced;
    // The data must have arrived before the notifications, which take another way.
    for (const Call& call : calls_) {
      if (Status finished = call.finish(); !finished) return finished;
    }
    for (int step = 1; step < c_.size(); ++step) {
      if (Status sent = c_.streams.notify_direct(c_.peer(step)); !sent) return sent;
    }
    for (int step = 1; step < c_.size(); ++step) {
      if (Status arrived = c_.streams.receive_direct(c_.peer(step)); !arrived) return arrived;
    }
    return Done{};
  }

 private:
  // Two blocks of every peer fit into the area for reads.
  static std::size_t block_for(int ranks, std::size_t element) {
    const std::size_t fits = Streams::kReadArea / 2 / static_cast<std::size_t>(ranks - 1);
    return std::min(kLongestBlock, fits) / 64 * 64 / element;
  }
  [[nodiscard]] std::size_t bytes() const { return count_ * how_.element(); }
  [[nodiscard]] std::size_t blocks() const { return (part_.count + block_ - 1) / block_; }
  [[nodiscard]] Part block(std::size_t index) const {
    return {part_.begin + index * block_, std::min(block_, part_.count - index * block_)};
  }
  // Where block `index` of a peer is read to.
  [[nodiscard]] std::byte* place(std::size_t index, int step) const {
    const std::size_t row = index % 2 * static_cast<std::size_t>(c_.size() - 1);
    const std::size_t slot = row + static_cast<std::size_t>(step - 1);
    return c_.streams.read_area().data + slot * block_ * how_.element();
  }
  [[nodiscard]] Request request(int peer, std::size_t index) const {
    const auto lanes = static_cast<std::size_t>(c_.engine.transport().lanes());
    const Streams::Announced& to = theirs_[static_cast<std::size_t>(peer)];
    return {.peer = peer,
            .lane = static_cast<int>(index % lanes),
            .length = block(index).count * how_.element(),
            .remote = to.address + block(index).begin * how_.element(),
            .keys = to.keys,
            .bulk = true};
  }

  Status exchange_addresses() {
    for (int step = 1; step < c_.size(); ++step) {
      Status sent = c_.streams.announce(c_.peer(step), data_, bytes(), *memory_);
      if (!sent) return sent;
    }
    for (int step = 1; step < c_.size(); ++step) {
      const int peer = c_.peer(step);
      auto announced = c_.streams.wait_announced(peer);
      if (!announced) return passed_on(announced);
      if (announced->length != bytes()) {
        return wrong_size("reduces", peer, announced->length, bytes());
      }
      theirs_[static_cast<std::size_t>(peer)] = *announced;
    }
    return Done{};
  }

  // Reads go one block ahead, unless they complete at once.
  Status reduce() {
    std::size_t asked = 0;
    for (std::size_t index = 0; index < blocks(); ++index) {
      if (asked == index) {
        if (Status read = read_block(asked++); !read) return read;
      }
      const Call& call = calls_[index % 2];
      if (c_.engine.outstanding(call.counter()) > 0 && asked < blocks()) {
        if (Status read = read_block(asked++); !read) return read;
      }
      if (Status here = call.finish(); !here) return here;
      combine_block(index);
      if (Status written = write_block(index); !written) return written;
    }
    return Done{};
  }

  Status read_block(std::size_t index) {
    for (int step = 1; step < c_.size(); ++step) {
      Request from = request(c_.peer(step), index);
      from.local = place(index, step);
      from.registration = c_.streams.read_area().memory;
      if (Status read = c_.engine.get(from, calls_[index % 2].counter()); !read) return read;
      settle(index);
    }
    return Done{};
  }

  // A device that copies directly completes a request soon after it is posted. It must be polled
  // for that before the next one is posted.
  void settle(std::size_t index) {
    for (int tries = 0; direct_ && c_.engine.outstanding(calls_[index % 2].counter()) > 0;
         ++tries) {
      c_.engine.step();
      direct_ = tries < kPollsForDirect;
    }
  }

  void combine_block(std::size_t index) {
    std::array<const void*, kMaxRanks> all{};
    std::byte* mine = data_ + block(index).begin * how_.element();
    all[static_cast<std::size_t>(c_.rank())] = mine;
    for (int step = 1; step < c_.size(); ++step) {
      all[static_cast<std::size_t>(c_.peer(step))] = place(index, step);
    }
    const auto ranks = static_cast<std::size_t>(c_.size());
    combine(how_.type, how_.op, mine, std::span{all.data(), ranks}, block(index).count, ranks);
  }

  // The peer's copy of this block is no longer needed: it has been read.
  Status write_block(std::size_t index) {
    for (int step = 1; step < c_.size(); ++step) {
      Request to = request(c_.peer(step), index);
      to.local = data_ + block(index).begin * how_.element();
      to.registration = memory_;
      if (Status written = c_.engine.put(to, calls_[index % 2].counter()); !written) return written;
      settle(index);
    }
    return Done{};
  }

  const Collective& c_;
  std::byte* data_;
  std::size_t count_;
  Reduction how_;
  Part part_;
  std::size_t block_;  // elements
  std::vector<Streams::Announced> theirs_;
  const Registration* memory_{};
  bool direct_{true};          // all requests so far have completed at once
  std::array<Call, 2> calls_;  // for even and odd blocks
};

}  // namespace

Status pull_all_reduce(const Collective& c, std::byte* data, std::size_t count, Reduction how) {
  Pull pull{c, data, count, how};
  return pull.run();
}

}  // namespace nerve::ai
