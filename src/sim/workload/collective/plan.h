// The plan of a collective: what each member of a group sends, to which member, and what it must
// have received first. A plan computes its answers and stores nothing per step.
//
// A member works through numbered items. An item waits for its arrivals, then starts its transfers;
// a transfer names the item of the receiver that waits for it. Items of one lane run in order (item
// i is in lane i % lanes). Lanes are independent, so that a tree can send up and down at the same
// time, except that an item may wait for another item of the same member in a lower lane. All
// members have the same number of items.
//
// A simulation carries no contents, but a plan can list the pieces of a transfer as offsets in both
// buffers. Tests move these pieces and check the result of the collective.
#pragma once

#include <cstdint>
#include <vector>

namespace nerve::sim {

enum class Action : std::uint8_t { kCopy, kReduce };

struct Piece {
  std::uint64_t from{};  // offset in the sender's buffer
  std::uint64_t to{};    // offset in the receiver's buffer
  std::uint64_t bytes{};
  Action action{};
};

struct Transfer {
  std::uint32_t to{};    // member of the group
  std::uint32_t item{};  // item of the receiver
  std::uint64_t bytes{};
  std::uint32_t first_piece{};  // index in Outgoing::pieces; ends at that of the next transfer
};

// The transfers of one item. Empty transfers are omitted, and not counted as arrivals.
class Outgoing {
 public:
  enum class Detail : std::uint8_t { kBytes, kPieces };
  explicit Outgoing(Detail detail = Detail::kBytes) : detail_{detail} {}
  [[nodiscard]] bool wants_pieces() const { return detail_ == Detail::kPieces; }

  void clear() {
    transfers_.clear();
    pieces_.clear();
  }
  void begin(std::uint32_t to, std::uint32_t item) {
    drop_empty();
    transfers_.push_back({to, item, 0, static_cast<std::uint32_t>(pieces_.size())});
  }
  void add(const Piece& piece) {
    if (piece.bytes == 0) return;
    if (wants_pieces()) pieces_.push_back(piece);
    transfers_.back().bytes += piece.bytes;
  }
  // When the pieces are not recorded.
  void add(std::uint64_t bytes) { transfers_.back().bytes += bytes; }
  // The same offset in both buffers.
  void add(std::uint64_t offset, std::uint64_t bytes, Action action) {
    add({offset, offset, bytes, action});
  }
  [[nodiscard]] const std::vector<Transfer>& transfers() {
    drop_empty();
    return transfers_;
  }
  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  void drop_empty() {
    if (!transfers_.empty() && transfers_.back().bytes == 0) transfers_.pop_back();
  }

  Detail detail_;
  std::vector<Transfer> transfers_;
  std::vector<Piece> pieces_;
};

// The bytes that a member sends to another in a phase.
struct PeerLoad {
  std::uint32_t to{};
  std::uint64_t bytes{};
};

// The limit of any plan.
inline constexpr std::uint32_t kMostLanes = 16;
inline constexpr std::uint32_t kNoItem = 0xffff'ffff;

class CollectivePlan {
 public:
  CollectivePlan() = default;
  CollectivePlan(const CollectivePlan&) = delete;
  CollectivePlan& operator=(const CollectivePlan&) = delete;
  virtual ~CollectivePlan() = default;

  // Per member: at least one, and a multiple of lanes().
  [[nodiscard]] virtual std::uint32_t items() const = 0;
  [[nodiscard]] virtual std::uint32_t lanes() const { return 1; }
  // The limit on a member's transfers in flight; zero: none.
  [[nodiscard]] virtual std::uint32_t window() const { return 0; }
  [[nodiscard]] virtual std::uint32_t arrivals(std::uint32_t member, std::uint32_t item) const = 0;
  virtual void sends(std::uint32_t member, std::uint32_t item, Outgoing& out) const = 0;
  // The item of a lower lane that must have started its transfers before this one does; kNoItem:
  // none.
  [[nodiscard]] virtual std::uint32_t waits_for(std::uint32_t /*item*/) const { return kNoItem; }

  // For bounds: phases that a member cannot overlap, and the bytes that it sends in each.
  [[nodiscard]] virtual std::uint32_t phases() const { return 1; }
  virtual void load(std::uint32_t member, std::uint32_t phase,
                    std::vector<PeerLoad>& out) const = 0;
};

}  // namespace nerve::sim
