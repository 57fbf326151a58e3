// The engine of a group: posts requests, waits, and sorts what arrives. Everything above it
// (buffers, streams, collectives) is written as posts and waits.
//
// Used by one thread at a time. After the first failure every wait returns that failure.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ai/error.h"
#include "ai/mesh.h"
#include "ai/transport.h"
#include "ai/waiting.h"

namespace nerve::ai {

// The immediate of a notification: three bits of kind, then what the kind needs.
enum class Notice : std::uint32_t {
  kUser,    // 5 bits: lanes of the put - 1; 24 bits: the tag
  kChunk,   // data in the next slot of the stream
  kDirect,  // data in the memory that was announced
  kCredit,  // slots of a stream that are free again
  kReady,   // the index of the announced memory that may be written to
};
inline constexpr std::uint32_t kNoticeBits = 29;
inline constexpr std::uint32_t kTagBits = 24;
inline constexpr std::uint32_t kMaxTag = (1U << kTagBits) - 1;

constexpr std::uint32_t immediate_of(Notice notice, std::uint32_t value) {
  return static_cast<std::uint32_t>(notice) << kNoticeBits | value;
}

// Counts the requests that have not completed. The counter itself belongs to the engine, so that a
// completion may come after its owner is gone.
struct Counter {
  std::uint32_t index{};
  std::uint32_t generation{};
};

class Engine {
 public:
  Engine(Mesh mesh, std::chrono::milliseconds timeout, std::function<bool()> interrupted)
      : mesh_{std::move(mesh)},
        timeout_{timeout},
        interrupted_{std::move(interrupted)},
        users_(static_cast<std::size_t>(mesh_.size())) {}

  [[nodiscard]] int rank() const { return mesh_.rank(); }
  [[nodiscard]] int size() const { return mesh_.size(); }
  Mesh& mesh() { return mesh_; }
  void use(std::unique_ptr<Transport> transport) { transport_ = std::move(transport); }
  Transport& transport() { return *transport_; }
  [[nodiscard]] const std::optional<Error>& failed() const { return failure_; }

  // What the streams do with the notifications that are theirs.
  using Listener = std::function<void(Notice, int peer, int lane, std::uint32_t value)>;
  void listen(Listener listener) { listener_ = std::move(listener); }

  // --- requests: `request.id` is set from the counter, if there is one
  Status put(Request request, std::optional<Counter> counter);
  Status get(Request request, Counter counter);
  Status notify(int peer, int lane, std::uint32_t immediate);

  Counter start_counting();
  void stop_counting(Counter counter);
  [[nodiscard]] std::uint32_t outstanding(Counter counter) const;
  [[nodiscard]] bool valid(Counter counter) const;
  // Whether a request was dropped because its peer had left.
  [[nodiscard]] bool abandoned(Counter counter) const { return counts_[counter.index].abandoned; }

  // --- waiting
  // Until ready() is true; `peer` is the rank that must act for that, or kAnyRank. The failure of
  // any rank ends every wait; that `peer` leaves does so as well.
  static constexpr int kAnyRank = -1;
  template <class Ready>
  Status wait(int peer, Ready ready) {
    if (failure_) return Unexpected{*failure_};
    if (ready()) return Done{};
    Idle idle;
    for (;;) {
      const bool moved = step();
      if (failure_) return Unexpected{*failure_};
      if (ready()) return Done{};
      if (moved) {
        idle.empty = 0;
      } else if (Status go_on = look_around(idle, peer); !go_on) {
        return go_on;
      }
    }
  }
  // Moves what can be moved; true if something happened.
  bool step();

  // --- notifications of the user
  Status wait_notice(int peer, std::uint32_t tag);

  void fail(Error error);

 private:
  struct Idle {
    std::uint32_t empty{};  // steps in a row without an event
    std::optional<Clock::time_point> since{};
    Clock::time_point last_look{};
    Clock::time_point last_question{};
    bool gone{};   // the peer had left when we last looked
    bool asked{};  // the peers, whether they wait as well
  };
  struct Count {
    std::uint32_t outstanding{};
    std::uint32_t generation{};
    bool used{};
    bool abandoned{};
  };
  // Notifications with one tag whose puts used the same number of lanes: one is complete when it
  // has arrived on every lane.
  using Arrivals = std::vector<std::uint32_t>;
  struct User {
    std::map<std::uint32_t, Arrivals> arrivals;  // by lanes and tag
  };

  Status look_around(Idle& idle, int peer);
  Status timed_out(int peer) const;
  Status drop(std::optional<Counter> counter);
  Status wait_for_room(const Request& request);
  void handle(const Event& event);
  void handle_failure(const Event& event);

  Mesh mesh_;
  std::chrono::milliseconds timeout_;
  std::function<bool()> interrupted_;
  std::unique_ptr<Transport> transport_;
  Listener listener_;
  std::vector<Event> events_;
  std::vector<Count> counts_;
  std::vector<std::uint32_t> free_counts_;
  std::vector<User> users_;
  std::optional<Error> failure_;
};

}  // namespace nerve::ai
