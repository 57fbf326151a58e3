// One host of a world of connection managers: an engine, its driver loop, and a program that
// connects, accepts, rejects, delays, disconnects and abandons, all by seed.
//
// The program is also the oracle: it knows which events each ID may get next, and which messages
// the engine must answer immediately.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "nic/connection/connection_manager.h"
#include "nic/nic.h"
#include "tests/dst/cm_ledger.h"
#include "tests/dst/cm_stranger.h"
#include "tests/dst/event_queue.h"
#include "tests/dst/journal.h"
#include "tests/dst/network.h"

namespace nerve::dst {

// The same for all hosts of a world.
struct CmHabits {
  std::uint8_t response_timeout{};
  std::uint8_t max_retries{};
  std::uint8_t ack_timeout{};
  std::uint32_t backlog{};
  bool slow{};         // some answers take longer than the peer's timeout
  bool forgets{};      // destroys ids in any state
  bool reuses_qpns{};  // connects a QP that is connected
  bool stranger{};     // somebody forges requests
  bool lasts{};        // connections last for seconds, while others are requested
  [[nodiscard]] Duration response_time() const { return time(response_timeout) + timewait(); }
  [[nodiscard]] Duration patience() const { return (max_retries + 1) * response_time(); }
  [[nodiscard]] Duration timewait() const { return time(ack_timeout); }
  [[nodiscard]] static Duration time(unsigned exponent) {
    return Duration{4'096'000LL << exponent};
  }
};

inline constexpr wire::ServiceId kServed{0x0106'0001};
inline constexpr wire::ServiceId kNotServed{0x0106'0002};

class CmHost {
 public:
  CmHost(std::size_t index, const CmHabits& habits, const nic::NicConfig& config,
         std::uint64_t seed, EventQueue& events, Network& network, Journal& journal,
         CmLedger& ledger);

  static wire::Gid gid_of(std::size_t index) {
    return wire::Gid::ipv4(10, 0, 0, static_cast<std::uint8_t>(index + 1));
  }
  void connect(std::size_t to);
  void resolve(std::size_t to);
  void stop_listening();
  // Called when all activity has ended.
  void judge_end();

 private:
  enum class Stage : std::uint8_t {
    kAsked,    // a REQ or SIDR_REQ was sent
    kReplied,  // a reply waits for the program
    kConnected,
    kLeaving,  // a disconnect was requested
    kToldToLeave,
    kResting,    // TIMEWAIT
    kRequested,  // a request waits for the program
    kAccepted,
    kOver,
  };
  struct Tale {
    nic::CommHandle id{};
    Stage stage{};
    bool active{};
    std::size_t attempt{};
    std::size_t answer{};
  };
  // The state of a peer's QP.
  struct Bond {
    std::size_t host{};
    Qpn qpn{};
    friend auto operator<=>(const Bond& a, const Bond& b) {
      return a.host != b.host ? a.host <=> b.host : a.qpn.value() <=> b.qpn.value();
    }
  };

  void arrive(const Parcel& parcel);
  void pump();
  void transmit();
  void take_events();
  void take_event(const nic::CmEvent& event);
  void set_alarm();

  // The program.
  void on_request(const nic::CmEvent& event);
  void on_reply(Tale& tale, const nic::CmEvent& event);
  void on_established(Tale& tale, const nic::CmEvent& event);
  void on_rejected(Tale& tale, const nic::CmEvent& event);
  void on_resolved(Tale& tale, const nic::CmEvent& event);
  void over(std::uint64_t cookie, Tale& tale);
  void soon(std::uint64_t cookie, Stage stage, void (CmHost::*act)(std::uint64_t, Tale&));
  void answer_request(std::uint64_t cookie, Tale& tale);
  void answer_reply(std::uint64_t cookie, Tale& tale);
  void leave(std::uint64_t cookie, Tale& tale);
  void forget(std::uint64_t cookie, Tale& tale);
  Duration pause();

  // The oracle.
  void violation(const std::string& what);
  void expect(bool holds, const char* what) {
    if (!holds) violation(what);
  }
  void expect_stage(const Tale& tale, std::initializer_list<Stage> allowed, const char* event);
  void rests(const Tale& tale);
  void owe(const wire::CmMad& mad);
  void see_sent(const wire::CmMad& mad);
  Tale* tale_of(wire::CommId ours);

  std::size_t index_;
  CmHabits habits_;
  Prng prng_;
  EventQueue& events_;
  Network& network_;
  Journal& journal_;
  CmLedger& ledger_;
  nic::Nic nic_;
  nic::TxBurst burst_;
  nic::CommHandle listener_{};
  std::map<std::uint64_t, Tale> tales_;  // by cookie
  std::uint64_t next_cookie_{1};
  std::uint32_t next_qpn_{};
  std::map<std::uint32_t, std::uint64_t> cookie_of_id_;  // by our ID on the wire
  std::map<Bond, Time> resting_until_;
  // Answers that must be sent in this turn: the kind, and our ID.
  std::vector<std::pair<wire::CmAttribute, std::uint32_t>> owed_;
  std::optional<Time> alarm_;
};

}  // namespace nerve::dst
