#include "tests/sim/plan_contents.h"

#include <algorithm>

#include "base/prng.h"
#include "sim/workload/collective/shares.h"

namespace nerve::sim::test {
namespace {

struct Flying {
  std::uint32_t to{};
  std::uint32_t item{};
  std::vector<Piece> pieces;
  std::vector<std::uint64_t> values;
};

class Carrier {
 public:
  Carrier(const CollectivePlan& plan, Memory memory, std::uint64_t seed)
      : plan_{plan}, prng_{seed}, landed_(memory.size()), at_(memory.size()) {
    done_.sent.resize(memory.size());
    done_.memory = std::move(memory);
  }

  Carried run() {
    const auto members = static_cast<std::uint32_t>(at_.size());
    for (std::uint32_t member = 0; member < members; ++member) {
      at_[member].resize(plan_.lanes());
      landed_[member].resize(plan_.items());
    }
    for (std::uint32_t member = 0; member < members; ++member) advance(member);
    while (!flying_.empty()) {
      std::swap(flying_[prng_.below(flying_.size())], flying_.back());
      Flying landing = std::move(flying_.back());
      flying_.pop_back();
      const std::uint32_t to = landing.to;
      landed_[to][landing.item].push_back(std::move(landing));
      advance(to);
    }
    for (std::uint32_t member = 0; member < members; ++member) {
      for (const std::uint32_t at : at_[member]) {
        if (at * plan_.lanes() < plan_.items()) fail("member " + std::to_string(member) + " waits");
      }
    }
    return std::move(done_);
  }

 private:
  void fail(const std::string& why) {
    if (done_.trouble.empty()) done_.trouble = why;
  }

  void advance(std::uint32_t member) {
    for (std::uint32_t lane = 0; lane < plan_.lanes(); ++lane) {
      for (std::uint32_t& at = at_[member][lane]; at * plan_.lanes() < plan_.items(); ++at) {
        const std::uint32_t item = at * plan_.lanes() + lane;
        const std::uint32_t before = plan_.waits_for(item);
        if (before != kNoItem && at_[member][before % plan_.lanes()] <= before / plan_.lanes())
          break;
        const std::size_t awaited = plan_.arrivals(member, item);
        if (landed_[member][item].size() < awaited) break;
        if (landed_[member][item].size() > awaited) fail("more arrivals than awaited");
        for (const Flying& landed : landed_[member][item]) write(member, landed);
        send(member, item);
      }
    }
  }

  void write(std::uint32_t member, const Flying& landed) {
    std::vector<std::uint64_t>& memory = done_.memory[member];
    std::size_t from = 0;
    for (const Piece& piece : landed.pieces) {
      for (std::uint64_t i = 0; i < piece.bytes; ++i) {
        std::uint64_t& value = memory[piece.to + i];
        const std::uint64_t arrived = landed.values[from++];
        if (piece.action == Action::kCopy) {
          value = arrived;
          continue;
        }
        if ((value & arrived) != 0) fail("member " + std::to_string(member) + " adds one twice");
        value |= arrived;
      }
    }
  }

  void send(std::uint32_t member, std::uint32_t item) {
    Outgoing out{Outgoing::Detail::kPieces};
    plan_.sends(member, item, out);
    const std::vector<Transfer>& transfers = out.transfers();
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      const std::size_t end =
          i + 1 < transfers.size() ? transfers[i + 1].first_piece : out.pieces().size();
      Flying flying{transfers[i].to, transfers[i].item, {}, {}};
      for (std::size_t p = transfers[i].first_piece; p < end; ++p) {
        const Piece& piece = out.pieces()[p];
        flying.pieces.push_back(piece);
        const auto first = done_.memory[member].begin() + static_cast<std::ptrdiff_t>(piece.from);
        flying.values.insert(flying.values.end(), first,
                             first + static_cast<std::ptrdiff_t>(piece.bytes));
      }
      if (flying.values.size() != transfers[i].bytes) fail("pieces do not add up");
      done_.sent[member] += transfers[i].bytes;
      flying_.push_back(std::move(flying));
    }
  }

  const CollectivePlan& plan_;
  Prng prng_;
  Carried done_;
  std::vector<std::vector<std::vector<Flying>>> landed_;  // per member and item
  std::vector<std::vector<std::uint32_t>> at_;            // per member and lane
  std::vector<Flying> flying_;
};

std::uint64_t mark(std::uint32_t member) { return std::uint64_t{1} << member; }
std::uint64_t address(std::uint32_t from, std::uint32_t to, std::uint64_t byte) {
  return (std::uint64_t{from} * 64 + to + 1) << 32 | byte;
}

}  // namespace

Carried carry_out(const CollectivePlan& plan, Memory memory, std::uint64_t seed) {
  return Carrier{plan, std::move(memory), seed}.run();
}

Memory memory_before(const Operation& operation, std::uint32_t members) {
  const Shares shares{operation.bytes, members};
  // Room for the received blocks of all-to-all and for blocks in transit.
  Memory memory(members, std::vector<std::uint64_t>((operation.bytes + members) * (members + 3)));
  for (std::uint32_t m = 0; m < members; ++m) {
    for (std::uint32_t block = 0; block < members; ++block) {
      for (std::uint64_t i = 0; i < shares.bytes(block); ++i) {
        std::uint64_t& value = memory[m][shares.offset(block) + i];
        switch (operation.kind) {
          case CollectiveKind::kAllReduce:
          case CollectiveKind::kReduceScatter:
            value = mark(m);
            break;
          case CollectiveKind::kAllGather:
            value = block == m ? mark(m) : 0;
            break;
          case CollectiveKind::kBroadcast:
            value = m == 0 ? mark(0) : 0;
            break;
          case CollectiveKind::kAllToAll:
            value = address(m, block, i);
            break;
        }
      }
    }
  }
  return memory;
}

Memory memory_after(const Operation& operation, std::uint32_t members) {
  const Shares shares{operation.bytes, members};
  Memory memory(members, std::vector<std::uint64_t>((operation.bytes + members) * (members + 3)));
  const std::uint64_t all = mark(members - 1) | (mark(members - 1) - 1);
  for (std::uint32_t m = 0; m < members; ++m) {
    for (std::uint32_t block = 0; block < members; ++block) {
      for (std::uint64_t i = 0; i < shares.bytes(block); ++i) {
        std::uint64_t& value = memory[m][shares.offset(block) + i];
        if (operation.kind == CollectiveKind::kAllReduce) value = all;
        if (operation.kind == CollectiveKind::kReduceScatter && block == m) value = all;
        if (operation.kind == CollectiveKind::kAllGather) value = mark(block);
        if (operation.kind == CollectiveKind::kBroadcast) value = mark(0);
      }
      if (operation.kind != CollectiveKind::kAllToAll || block == m) continue;
      for (std::uint64_t i = 0; i < shares.bytes(m); ++i) {
        memory[m][operation.bytes + block * shares.bytes(m) + i] = address(block, m, i);
      }
    }
  }
  return memory;
}

}  // namespace nerve::sim::test
