// The oracle's view of a receive queue, private to a QP or shared by several.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "tests/dst/request.h"

namespace nerve::dst {

class ReceiveModel {
 public:
  // The IDs of receives have the top bit set; those of requests do not.
  static constexpr std::uint64_t kMark = std::uint64_t{1} << 63U;

  ReceiveModel(std::uint32_t id, MemoryModel& memory, bool shared)
      : id_{id}, memory_{memory}, shared_{shared} {}

  [[nodiscard]] std::uint32_t id() const { return id_; }
  [[nodiscard]] bool shared() const { return shared_; }
  [[nodiscard]] MemoryModel& memory() const { return memory_; }
  [[nodiscard]] std::size_t outstanding() const { return receives_.size(); }
  [[nodiscard]] std::uint64_t next_wr_id() { return kMark | std::uint64_t{id_} << 32U | next_++; }
  void posted(Receive receive) {
    has_bad_ |= receive.bad;
    ++posted_;
    receives_.push_back(std::move(receive));
  }
  // A message that arrives may hit a receive whose keys are wrong.
  [[nodiscard]] bool has_bad() const { return has_bad_; }

  // Takes the receive that a completion names. A private queue hands out its receives in order;
  // those of a shared queue are taken in order but may complete in any.
  std::optional<Receive> take(std::uint64_t wr_id) {
    for (auto it = receives_.begin(); it != receives_.end(); ++it) {
      if (it->wr_id == wr_id) {
        Receive receive = std::move(*it);
        receives_.erase(it);
        ++completed_;
        return receive;
      }
      if (!shared_) break;
    }
    return std::nullopt;
  }

  // A message may have been arriving in a receive that will not complete now. In a private queue
  // that can only be the oldest one.
  void leave_open_in_progress() {
    for (const Receive& receive : receives_) {
      leave_open(receive);
      if (!shared_) break;
    }
  }
  void leave_open(const Receive& receive) const {
    for (const Range& range : receive.ranges) {
      memory_.leave_open({.memory = &memory_, .offset = range.offset, .length = range.length});
    }
  }
  void leave_all_open() const {
    for (const Receive& receive : receives_) leave_open(receive);
  }
  void clear() { receives_.clear(); }

  // A QP was destroyed that may have held a receive of a shared queue; there is no way to know.
  void may_have_lost_one() { ++lost_; }
  [[nodiscard]] std::size_t possibly_lost() const { return lost_; }

  // Since the beginning.
  [[nodiscard]] std::uint64_t posted_in_all() const { return posted_; }
  [[nodiscard]] std::uint64_t completed_in_all() const { return completed_; }
  // QPs that take receives from it; each may hold one for a message that is arriving.
  void add_user() { ++users_; }
  [[nodiscard]] std::uint32_t users() const { return users_; }

  // The application had fewer receives posted than messages were in flight.
  void fell_behind() { fell_behind_ = true; }
  [[nodiscard]] bool has_fallen_behind() const { return fell_behind_; }

 private:
  std::uint32_t id_;
  MemoryModel& memory_;
  bool shared_;
  bool fell_behind_{};
  bool has_bad_{};
  std::size_t lost_{};
  std::uint64_t posted_{};
  std::uint64_t completed_{};
  std::uint32_t users_{};
  std::uint32_t next_{};
  std::deque<Receive> receives_;
};

}  // namespace nerve::dst
