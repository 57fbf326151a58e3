// One side of one world: posts the requests of the plan, checks completions, and reports everything
// that the plan and the standard do not allow.
#pragma once

#include <infiniband/verbs.h>

#include <deque>
#include <string>
#include <vector>

#include "tests/bad_days/worlds/control.h"
#include "tests/bad_days/worlds/objects.h"
#include "tests/bad_days/worlds/plan.h"
#include "tests/bad_days/worlds/plant.h"
#include "tests/bad_days/worlds/verdict.h"

namespace worlds {

class Side final : public Describes {
 public:
  Side(const World& world, std::size_t side, ibv_context* context, Control& control, Plant& plant,
       std::uint64_t patience_us);

  void live();
  [[nodiscard]] std::size_t completions() const { return completions_; }
  [[nodiscard]] std::string describe() const override;

 private:
  struct Queue {  // of receives
    const ReceiveQueue* plan{};
    std::size_t posted{};
    std::size_t completed{};  // number of completed receives
    std::uint64_t due_us{};   // when the next may be posted
    std::vector<bool> done;
  };
  // From the point of view of its own program.
  enum class Health : std::uint8_t {
    kGood,
    kStriking,  // one side is about to end it, or has: errors are expected
    kError,     // we moved it to ERR
    kGone,      // it is reset or destroyed, and reports nothing any more
  };
  struct Qp {
    const QpPlan* plan{};
    const std::vector<Request>* requests{};  // ours
    const std::vector<Request>* peer_requests{};
    Queue* receives{};
    std::uint32_t peer_number{};
    std::uint32_t number{};
    Health health{};
    bool struck_here{};
    bool may_post{true};
    std::size_t posted{};
    std::size_t completed{};    // requests before it have ended
    std::size_t confirmed{};    // ... with success
    std::size_t received{};     // completed receives
    std::size_t delivered{};    // the peer's requests before it have had their receive
    std::vector<bool> matched;  // the peer's requests that had their receive
    std::size_t last_receive{};
    bool any_receive{};
    bool send_error{};  // a request has failed: those after it are flushed
    bool flushed_receive{};
    std::uint64_t due_us{};  // when the next request may be posted
    std::uint64_t last_count{};
    std::uint64_t pause_us{};  // when its send queue stops, then when it continues; zero: never
    bool paused{};
  };

  // What a CQ is armed for; both zero: nothing.
  struct Arming {
    bool any{};
    bool solicited{};
    std::uint32_t events_allowed{};
  };

  // run.cc
  void exchange_cards();
  void run_until_idle();
  bool step();
  void wait();
  void arm();
  bool hear();
  bool pause_or_resume(std::size_t index);
  void on_struck(Qp& qp);
  [[nodiscard]] bool idle() const;
  [[nodiscard]] bool settled(const Qp& qp) const;
  [[nodiscard]] bool waits_for_messages(const Qp& qp) const;
  [[nodiscard]] bool signaled_outstanding(const Qp& qp) const;
  void linger();
  void drain();
  void check_async_events();
  [[nodiscard]] std::uint64_t next_due() const;
  [[nodiscard]] bool next_is_solicited(std::size_t cq) const;

  // posting.cc
  bool post_requests(std::size_t index);
  [[nodiscard]] bool may_post(Qp& qp, std::uint64_t now);
  void post(std::size_t index, std::size_t count);
  void post_by_calls(std::size_t index, std::size_t count);
  void strike(std::size_t index);
  void deregister(std::size_t index);
  void bind_type_1(std::size_t index);
  bool post_receives(Queue& queue, ibv_qp* qp, std::uint64_t id);
  [[nodiscard]] std::uint64_t remote_address(const Qp& qp, const Request& request) const;
  [[nodiscard]] std::uint32_t remote_key(const Qp& qp, const Request& request) const;
  [[nodiscard]] bool binds_type_1(const Qp& qp, std::size_t at) const;
  [[nodiscard]] unsigned flags_of(const Qp& qp, const Request& request) const;
  [[nodiscard]] ibv_mw_bind_info bind_info(const Request& request) const;

  // completions.cc
  bool poll_all();
  void completed(const ibv_wc& wc);
  void send_completed(std::size_t index, const ibv_wc& wc);
  void receive_completed(const ibv_wc& wc);
  void check_send(Qp& qp, std::size_t at, const ibv_wc& wc);
  void check_failure(Qp& qp, std::size_t at, ibv_wc_status status);
  void confirm(Qp& qp, std::size_t at);
  void message_received(std::size_t index, std::size_t receive, const ibv_wc& wc);
  void receive_failed(std::size_t index, const ibv_wc& wc);
  [[nodiscard]] bool may_lack_access(const Qp& qp) const;
  [[nodiscard]] std::string mismatch(const Qp& qp, const Request& request, const Receive& receive,
                                     const ibv_wc& wc) const;
  void accept(const Qp& qp, const Request& request, const Receive& receive, const ibv_wc& wc);
  void check_targets(const Qp& qp, std::size_t from, std::size_t to);

  // final_check.cc
  void check_end(const Report& peer);
  void check_memory(const Report& peer);
  void check_counter(const Report& peer);
  [[nodiscard]] bool explained(std::size_t at, const Report& peer) const;
  [[nodiscard]] bool explained_by_receive(std::size_t at) const;

  [[nodiscard]] Report report() const;
  [[nodiscard]] Qp* qp_by_number(std::uint32_t number);
  [[nodiscard]] std::string name(const Qp& qp) const;
  [[noreturn]] void wrong(const Qp& qp, const std::string& what) const;
  [[nodiscard]] bool reused(std::size_t at) const;
  [[nodiscard]] bool lossy(const Qp& qp) const;

  const World& world_;
  std::size_t side_;
  Control& control_;
  Plant& plant_;
  std::uint64_t patience_us_;
  nerve::Prng prng_;  // for times and batch sizes, which the plan leaves open
  Bytes memory_;
  Bytes expected_;
  Objects objects_;
  Card peer_;
  std::vector<Queue> queues_;  // of each QP, then the shared one
  std::vector<Qp> qps_;
  std::vector<Piece> reused_;          // deregistered regions: nothing may change them any more
  std::vector<Arming> arming_;         // for each CQ
  std::vector<std::uint64_t> counts_;  // values of the peer's counter that were returned
  bool draining_{};
  bool peer_idle_{};
  std::size_t completions_{};
  std::uint32_t quiet_{};  // steps with nothing to do
  std::uint64_t step_us_{};
  std::uint64_t progress_us_{};
};

inline constexpr std::uint64_t kReceiveBit = std::uint64_t{1} << 63U;
inline constexpr std::uint64_t kSharedQueue = 0xff;

}  // namespace worlds
