// Generates the requests of a world, one after the other. Concurrent requests do not overlap, so
// that every result is defined: most targets are fresh memory, and each end of a reliable QP has a
// hot range of its peer's memory which only it overwrites and reads back in program order, with
// fences where the standard requires them.
#pragma once

#include <vector>

#include "tests/bad_days/worlds/plan.h"

namespace worlds {

class Planner {
 public:
  Planner(World& world, nerve::Prng& prng);

  // Adds one request, or a few that belong together, to one side of one QP.
  void add(std::size_t qp, std::size_t side);
  // Makes one reliable QP in a few end early; called after all requests were added.
  void strike(std::size_t qp);
  // Adds receives for everything planned, and some more.
  void add_receives();

 private:
  // One side of one QP.
  struct End {
    std::optional<Piece> hot;         // in the peer's memory
    std::optional<std::size_t> word;  // for atomics, in the peer's memory
    std::size_t region_used{};        // of the peer's region
    bool reads_hot{};                 // a READ of the hot range may be outstanding
    std::uint32_t silent{};           // unsignaled requests in a row
    std::uint32_t sent{};             // messages that use a receive of the peer
    std::size_t largest{};
    std::uint32_t signaled_per_mille{};
    struct Invalidated {
      std::size_t request{};
      std::size_t window{};
    };
    std::vector<Invalidated> invalidated;  // windows of the peer
  };
  struct Place {
    QpPlan& qp;
    std::size_t side;
    End& end;
    End& peer;
    Memory& own;
    Memory& theirs;
  };

  [[nodiscard]] Place place(std::size_t qp, std::size_t side);
  [[nodiscard]] ReceiveQueue& receives_of(const Place& p, std::size_t side);
  [[nodiscard]] std::size_t capacity(const Place& p);
  [[nodiscard]] Op draw_op(const Place& p);
  [[nodiscard]] std::size_t draw_length(const Place& p, std::size_t limit);
  bool fill(const Place& p, Request& request);
  bool fill_send(const Place& p, Request& request);
  bool fill_write(const Place& p, Request& request);
  // Allocates memory in the peer's region of this QP, if it has one.
  bool choose_region(const Place& p, Request& request, std::size_t length);
  bool fill_read(const Place& p, Request& request);
  bool fill_atomic(const Place& p, Request& request);
  bool gather(const Place& p, Request& request, std::size_t length);
  bool gather_result_of_read(const Place& p, Request& request);
  bool scatter(const Place& p, Request& request);
  void set_remote(const Place& p, Request& request, View after);
  void append(const Place& p, Request request);
  // A window is bound, announced, used by the peer and perhaps invalidated.
  void add_window(std::size_t qp, std::size_t side);
  bool through_window(const Place& p, std::size_t window, Request& request);
  [[nodiscard]] bool spoil(const Place& p, std::size_t at, Request& request);
  void fill_queue(ReceiveQueue& queue, Memory& memory, std::size_t messages, bool reliable,
                  std::size_t extra_bytes);

  World& world_;
  nerve::Prng& prng_;
  std::vector<std::array<End, 2>> ends_;
};

}  // namespace worlds
