// The oracle's view of one QP in one life: from connection until reset or destruction. It is given
// what was posted, sees what completes, and reports everything that the standard does not allow. It
// knows nothing of packets and shares no code with the engine.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "nic/attributes.h"
#include "tests/dst/host.h"
#include "tests/dst/receive_model.h"
#include "tests/dst/request.h"

namespace nerve::dst {

class QpModel {
 public:
  // Conditions that the model cannot know by itself.
  struct Excuses {
    bool network_is_bad{};    // frames may be lost
    bool retries_may_fail{};  // ... so often that "retry exceeded" is possible
    bool network_repeats{};   // frames may be duplicated or reordered
    bool endless_rnr{};       // rnr_retry is 7
  };

  QpModel(std::uint32_t id, Host& host, nic::QpHandle handle, Qpn qpn, nic::QpType type,
          std::vector<ReceiveModel*> receives, Excuses excuses, EventQueue& events,
          Journal& journal, std::uint64_t seed);

  [[nodiscard]] std::uint32_t id() const { return id_; }
  [[nodiscard]] Host& host() const { return host_; }
  [[nodiscard]] nic::QpHandle handle() const { return handle_; }
  [[nodiscard]] Qpn qpn() const { return qpn_; }
  [[nodiscard]] nic::QpType type() const { return type_; }
  // The queue with this ID, if this QP takes receives from it.
  [[nodiscard]] ReceiveModel* receives(std::size_t id) const;
  void set_peer(QpModel& peer) { peer_ = &peer; }
  [[nodiscard]] QpModel* peer() const { return peer_; }
  // Called once when something fails on this QP.
  void on_failure(std::function<void()> tell) { on_failure_ = std::move(tell); }
  // Called with the status of the request that failed.
  void on_error(std::function<void(nic::WcStatus)> tell) { on_error_ = std::move(tell); }
  void on_confirmed(std::function<void(const Request&)> tell) { on_confirmed_ = std::move(tell); }

  [[nodiscard]] std::uint64_t next_wr_id() const {
    return std::uint64_t{id_} << 32U | requests_.size();
  }
  [[nodiscard]] std::size_t outstanding() const { return requests_.size() - completed_; }
  // Whether no outstanding request will complete any more; after a failure, all of them will.
  [[nodiscard]] bool settled() const;
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool doomed() const { return doomed_; }
  [[nodiscard]] const std::vector<Request>& requests() const { return requests_; }

  void posted(Request request);
  void send_completed(const nic::Completion& completion);
  // Returns whether its sender is known to have solicited an event.
  bool receive_completed(const nic::Completion& completion);

  // The test did something that may end this QP: errors are expected from now on.
  void doom() { doomed_ = true; }
  // Completions of this QP are not polled for a while ...
  void neglect() { neglected_ = true; }
  // ... and were lost in an overrun CQ: the results of its requests are unknown.
  void overrun() { neglected_ = overrun_ = doomed_ = true; }
  // The QP was reset or destroyed: outstanding requests have no completion.
  void voided();
  // Nothing may be flushed unless something failed first.
  void check_flush_reason();
  // The end of this life after an orderly ERR: everything must be accounted for.
  void settle();
  [[nodiscard]] std::string describe() const;

 private:
  void confirm(Request& request);
  void leave_open(Request& request);
  void fail();
  void check_success(const Request& request, const nic::Completion& completion);
  void check_status(const Request& request, nic::WcStatus status);
  void check_target(const Request& request);
  void check_counter(Request& request);
  // A receive of the peer completed: it must hold the next message that needs one.
  bool delivered(const nic::Completion& completion, const Receive& receive,
                 const ReceiveModel& from);
  // Whether a WRITE with immediate is outstanding whose key may grant no access.
  [[nodiscard]] bool may_lack_access() const;
  void check_delivery(const Request& request, const nic::Completion& completion,
                      const Receive& receive, MemoryModel& memory);
  [[nodiscard]] bool matches(const Request& request, const nic::Completion& completion,
                             const Receive& receive, const MemoryModel& memory) const;
  bool violation(const std::string& what);  // always false

  [[nodiscard]] bool reliable() const { return type_ != nic::QpType::kUc; }

  std::uint32_t id_;
  Host& host_;
  nic::QpHandle handle_;
  Qpn qpn_;
  nic::QpType type_;
  std::vector<ReceiveModel*> receives_;
  Excuses excuses_;
  EventQueue& events_;
  Journal& journal_;
  Prng prng_;
  QpModel* peer_{};
  std::function<void()> on_failure_;
  std::function<void(nic::WcStatus)> on_error_;
  std::function<void(const Request&)> on_confirmed_;
  std::vector<Request> requests_;
  std::size_t completed_{};  // requests before it have completed
  std::size_t delivered_{};  // the messages before it have been received
  std::uint64_t last_counter_{};
  std::map<std::uint32_t, std::uint64_t> last_receive_;  // by queue
  bool failed_{};                                        // for any reason
  bool send_error_{};  // a request has failed: those after it are flushed
  bool doomed_{};
  bool ended_{};
  bool flushed_a_receive_{};
  bool flushed_{};
  bool neglected_{};
  bool overrun_{};
};

}  // namespace nerve::dst
