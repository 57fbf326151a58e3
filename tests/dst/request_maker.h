// Generates work requests for one QP: all operations, all shapes, and occasionally one that must
// fail. Each comes with the model's prediction.
//
// Predictions need defined results, so concurrent requests do not overlap: most targets are fresh
// memory; a "hot" range of each QP is overwritten and read back in program order, with a fence
// where the standard requires one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/dst/host.h"
#include "tests/dst/qp_model.h"
#include "tests/dst/receive_feeder.h"
#include "tests/dst/terms.h"

namespace nerve::dst {

// A part of its owner's open memory with a key of its own: a memory window, a region that is
// registered for a while, or (with neither handle) a key that one of them had before.
struct Window {
  enum class State : std::uint8_t {
    kBinding,
    kBound,
    kDying,
    kDead,  // the key grants no write access on this connection
  };
  nic::MwHandle handle{};
  nic::MwType type{nic::MwType::kType2};
  nic::MrHandle region{};
  RKey rkey{};
  Range range{};
  State state{State::kBinding};
  // Type 1: the key that a pending bind replaces; if zero, the engine chooses the new one.
  RKey old_rkey{};
  Range old_range{};
  // Regions.
  bool writable{};
  bool in_other_pd{};
  bool atomics{};  // it grants atomics and reads
  [[nodiscard]] bool can_be_invalidated() const { return handle && type == nic::MwType::kType2; }
};

class RequestMaker {
 public:
  RequestMaker(QpModel& self, QpModel& peer, std::vector<ReceiveSource> peer_sources,
               SharedCounter* counter, const Terms& terms, EventQueue& events, Journal& journal,
               std::uint64_t seed);

  void set_peer(RequestMaker& peer) { peer_maker_ = &peer; }
  [[nodiscard]] bool has_room() const { return self_.outstanding() < terms_.caps.max_send_wr; }
  // Generates and posts one request. `last`: it must be signalled.
  void post_one(bool last);
  // Moves a region, changes its domain or its rights, while traffic continues. Unless `in_use`,
  // chooses one that no request uses; false when there is none.
  bool reregister_region(bool in_use);
  // Deregisters a region that a request is using, the peer's or our own, and takes its memory back;
  // false when there is none.
  bool deregister_region_in_use();
  // Windows do not outlive the connection.
  void drop_windows();

 private:
  struct Draft {
    nic::SendWr wr{};
    Request request{};
    std::vector<nic::Sge> sges{};
    std::vector<std::byte> inline_bytes{};
  };

  [[nodiscard]] std::vector<nic::SendOp> possible_operations() const;
  bool fill(Draft& draft);
  // Chooses the queue from which the message takes its receive, and reserves one.
  bool promise_receive(Draft& draft);
  const ReceiveSource& draw_source();
  bool fill_send(Draft& draft);
  bool fill_write(Draft& draft);
  bool fill_read(Draft& draft);
  bool fill_atomic(Draft& draft);
  bool fill_shared_counter(Draft& draft);
  bool fill_atomic_write(Draft& draft);
  bool fill_flush(Draft& draft);
  bool fill_bind(Draft& draft);
  bool fill_local_invalidate(Draft& draft);
  bool bind_again(Draft& draft, std::size_t index);
  void choose_key(Draft& draft, Window& window, RKey old);
  void bound(Window& window);
  void register_region();
  [[nodiscard]] nic::Access rights_of_region(bool writable) const;
  // A range in the desk region, if it has room.
  std::optional<std::size_t> take_from_desk(std::size_t length);
  void register_desk();
  bool deregister_desk_in_use();
  // A word in a window or region of the peer that grants atomics (`open`) or does not.
  struct RemoteWord {
    std::size_t offset{};
    std::size_t window{};
  };
  std::optional<RemoteWord> draw_word(bool open);
  std::optional<std::size_t> draw_readable();
  bool fill_read_through(Draft& draft, std::size_t window);
  bool spoil(Draft& draft);
  bool spoil_window(Draft& draft);
  bool spoil_invalidate(Draft& draft);
  bool spoil_atomic(Draft& draft);
  bool spoil_window_atomic(Draft& draft);
  void submit(Draft& draft);

  std::size_t draw_length(std::size_t most);
  // Chooses the sources of a message and fills them.
  bool gather(Draft& draft, std::size_t length);
  bool gather_result_of_read(Draft& draft, std::size_t most);
  // Chooses the ranges at which `draft.request.message` arrives.
  bool scatter(Draft& draft);
  bool scatter_nothing(Draft& draft);
  // Chooses the target of a WRITE of `length` bytes.
  bool choose_target(Draft& draft, std::size_t length);
  void patch_remote(Draft& draft, std::size_t offset, Bytes after);
  [[nodiscard]] bool waits_for_read(std::size_t offset, std::size_t length) const;
  [[nodiscard]] bool window_in_use(std::size_t index) const;
  std::optional<std::size_t> draw_window(Window::State state);
  void on_confirmed(const Request& request);

  QpModel& self_;
  QpModel& peer_;
  MemoryModel& own_;
  MemoryModel& theirs_;
  std::vector<ReceiveSource> peer_sources_;
  SharedCounter* counter_;
  Terms terms_;
  EventQueue& events_;
  Journal& journal_;
  Prng prng_;
  RequestMaker* peer_maker_{};
  std::vector<Window> windows_;
  std::optional<Range> hot_;
  // A separate region for some sources and results.
  nic::MrHandle desk_region_{};
  LKey desk_key_{};
  Range desk_{};
  std::size_t desk_used_{};
  std::optional<std::size_t> word_;  // for this QP's atomics alone
};

}  // namespace nerve::dst
