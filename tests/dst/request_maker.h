// Invents work requests for one QP: all operations, all shapes, and now and then one that must
// fail. Each comes with the model's prediction.
//
// Predictions need defined results, so requests that are under way at the same time keep out of
// each other's way: most targets are fresh memory; a "hot" range of each QP is overwritten and
// read back in program order, with a fence where the standard asks for one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/dst/host.h"
#include "tests/dst/qp_model.h"
#include "tests/dst/receive_feeder.h"
#include "tests/dst/terms.h"

namespace nerve::dst {

// A part of its owner's open memory with a key of its own: a memory window, or a region that is
// registered for a while.
struct Window {
  enum class State : std::uint8_t { kBinding, kBound, kDying, kDead };
  nic::MwHandle handle{};
  nic::MrHandle region{};  // set: a region, not a window
  RKey rkey{};
  Range range{};
  State state{State::kBinding};
};

class RequestMaker {
 public:
  RequestMaker(QpModel& self, QpModel& peer, ReceiveFeeder* peer_receives, std::uint32_t srq_number,
               SharedCounter* counter, const Terms& terms, EventQueue& events, Journal& journal,
               std::uint64_t seed);

  void set_peer(RequestMaker& peer) { peer_maker_ = &peer; }
  [[nodiscard]] bool has_room() const { return self_.outstanding() < terms_.caps.max_send_wr; }
  // Makes and posts one request. `last`: it must tell when all is done.
  void post_one(bool last);
  // Windows do not outlive the connection.
  void drop_windows();

 private:
  struct Draft {
    nic::SendWr wr{};
    Request request{};
    std::vector<nic::Sge> sges{};
    std::vector<std::byte> inline_octets{};
  };

  [[nodiscard]] std::vector<nic::SendOp> possible_operations() const;
  bool fill(Draft& draft);
  bool fill_send(Draft& draft);
  bool fill_write(Draft& draft);
  bool fill_read(Draft& draft);
  bool fill_atomic(Draft& draft);
  bool fill_shared_counter(Draft& draft);
  bool fill_atomic_write(Draft& draft);
  bool fill_flush(Draft& draft);
  bool fill_bind(Draft& draft);
  bool fill_local_invalidate(Draft& draft);
  void register_region();
  bool spoil(Draft& draft);
  void submit(Draft& draft);

  std::size_t draw_length(std::size_t most);
  // The sources of a message, and the octets they hold.
  bool gather(Draft& draft, std::size_t length);
  bool gather_result_of_read(Draft& draft, std::size_t most);
  // Places for `draft.request.message` to arrive at.
  bool scatter(Draft& draft);
  // Where a WRITE of `length` octets goes.
  bool choose_target(Draft& draft, std::size_t length);
  void patch_remote(Draft& draft, std::size_t offset, Octets after);
  [[nodiscard]] bool waits_for_read(std::size_t offset, std::size_t length) const;
  [[nodiscard]] bool window_in_use(std::size_t index) const;
  std::optional<std::size_t> draw_window(Window::State state);
  void on_confirmed(const Request& request);

  QpModel& self_;
  QpModel& peer_;
  MemoryModel& own_;
  MemoryModel& theirs_;
  ReceiveFeeder* peer_receives_;
  std::uint32_t srq_number_;
  SharedCounter* counter_;
  Terms terms_;
  EventQueue& events_;
  Journal& journal_;
  Prng prng_;
  RequestMaker* peer_maker_{};
  std::vector<Window> windows_;
  std::optional<Range> hot_;
  std::optional<std::size_t> word_;  // for this QP's atomics alone
};

}  // namespace nerve::dst
