// The plan of a collective: what each member of a group sends, to whom, and what it must have
// received before. A plan answers when asked and stores nothing for each step.
//
// A member works through numbered items. An item waits for its arrivals, then its transfers go; a
// transfer says which item of its receiver has waited for it. Items of one lane go in order (item i
// is of lane i % lanes); lanes do not wait for each other, so that a tree may send up while it
// sends down. All members have the same number of items.
//
// What a transfer carries is told piece by piece to who asks for it, as places in the buffers of
// both ends, although nothing is carried: so that tests can carry it, and see that what a
// collective promises comes out.
#pragma once

#include <cstdint>
#include <vector>

namespace nerve::sim {

enum class Action : std::uint8_t { kCopy, kReduce };

struct Piece {
  std::uint64_t from{};  // in the sender's buffer
  std::uint64_t to{};    // in the receiver's
  std::uint64_t bytes{};
  Action action{};
};

struct Transfer {
  std::uint32_t to{};    // a member of the group
  std::uint32_t item{};  // of the receiver
  std::uint64_t bytes{};
  std::uint32_t first_piece{};  // of Outgoing::pieces, up to the next transfer's
};

// The transfers of one item. Those of no bytes are left out; whoever counts arrivals does so too.
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
  // Of pieces that nobody wants to know.
  void add(std::uint64_t bytes) { transfers_.back().bytes += bytes; }
  // The same place in both buffers.
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

// What a member sends to another in a phase of a plan.
struct PeerLoad {
  std::uint32_t to{};
  std::uint64_t bytes{};
};

// Of any plan.
inline constexpr std::uint32_t kMostLanes = 8;

class CollectivePlan {
 public:
  CollectivePlan() = default;
  CollectivePlan(const CollectivePlan&) = delete;
  CollectivePlan& operator=(const CollectivePlan&) = delete;
  virtual ~CollectivePlan() = default;

  // Of each member, at least one; a multiple of lanes().
  [[nodiscard]] virtual std::uint32_t items() const = 0;
  [[nodiscard]] virtual std::uint32_t lanes() const { return 1; }
  // How many transfers a member may have on their way; zero: any number.
  [[nodiscard]] virtual std::uint32_t window() const { return 0; }
  [[nodiscard]] virtual std::uint32_t arrivals(std::uint32_t member, std::uint32_t item) const = 0;
  virtual void sends(std::uint32_t member, std::uint32_t item, Outgoing& out) const = 0;

  // For bounds: parts that no member can overlap, and what it sends in each, over all items.
  [[nodiscard]] virtual std::uint32_t phases() const { return 1; }
  virtual void load(std::uint32_t member, std::uint32_t phase,
                    std::vector<PeerLoad>& out) const = 0;
};

}  // namespace nerve::sim
