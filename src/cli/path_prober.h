// Measures which routers the packets of a UDP source port pass. A probe is a datagram from that
// port to the destination's RoCE port with a limit of 1, 2, ... hops; the router at which it ends
// answers with an ICMP message. The path ends at the first limit without an answer.
//
// Routers limit how many such messages they send, Linux by default to one a second for each host
// after the first six. So silence means little: each limit is tried three times, and longer where
// another port of the same two addresses got an answer at that limit, from a router that may limit
// them.
//
// Paths that flows use are checked every second, by a probe to the last router of each, from a port
// that is known to share the path and that nobody has bound. A path whose last router does not
// answer any more is lost: after two probes, or after six where the router may limit its answers.
// Such a router is asked about one path every three seconds.
//
// No I/O and no clock: the caller passes both in (probe_sockets.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "cli/known_paths.h"
#include "cli/router_answers.h"
#include "controller/messages.h"
#include "wire/gid.h"

namespace nerve::cli {

// What the prober needs of the network.
class ProbeSender {
 public:
  virtual ~ProbeSender() = default;
  // Returns a number for the socket; nothing if the port cannot be bound.
  [[nodiscard]] virtual std::optional<int> open(const wire::Gid& source, std::uint16_t port,
                                                std::uint8_t traffic_class) = 0;
  virtual void close(int socket) = 0;
  virtual void send(int socket, const wire::Gid& destination, std::uint8_t hop_limit) = 0;
};

struct ProbeAnswer {
  int socket{};
  std::uint8_t hop_limit{};  // of the probe; zero: the router has not returned enough of it
  wire::Gid router{};
  bool reached{};  // the destination itself has answered
};

class PathProber {
 public:
  using Clock = std::chrono::steady_clock;
  using Moment = Clock::time_point;

  static constexpr std::chrono::milliseconds kWait{100};      // for an answer, at first
  static constexpr std::chrono::milliseconds kCheckWait{50};  // for one that has come before
  static constexpr unsigned kTries = 3;
  static constexpr unsigned kPatientTries = 16;  // where a router is known to be; 13 s
  static constexpr unsigned kCheckTries = 2;
  static constexpr unsigned kPatientCheckTries = 6;  // where answers may be limited; 2 s
  static constexpr std::chrono::milliseconds kBetweenChecks{1000};
  static constexpr std::chrono::milliseconds kBetweenHurriedChecks{200};
  static constexpr std::size_t kParallel = 128;  // ports that are probed at a time
  static constexpr std::size_t kMostWaiting = 4096;

  explicit PathProber(ProbeSender& sender) : sender_{sender} {}
  ~PathProber();
  PathProber(const PathProber&) = delete;
  PathProber& operator=(const PathProber&) = delete;

  // The flows of this host now. Only paths between their addresses are measured.
  void use(std::span<const controller::LiveFlow> flows, Moment now);
  void measure(const controller::ProbeOrder& order, Moment now);
  // Packets are lost: checks the paths in use soon.
  void hurry() { hurried_ = true; }
  // Closes the sockets of this port: a program is about to bind it.
  void release(std::uint16_t port);

  void answered(const ProbeAnswer& answer, Moment now);
  // Sends what is due.
  void expire(Moment now);
  [[nodiscard]] Moment next_deadline() const;
  [[nodiscard]] bool idle() const { return running_.empty() && waiting_.empty(); }

  // What has been measured since the last call, at most `most`.
  [[nodiscard]] std::vector<controller::MeasuredPath> take_measured(std::size_t most);
  [[nodiscard]] bool any_measured() const { return !paths_.news().empty(); }

 private:
  enum class Purpose : std::uint8_t { kOrdered, kAgain, kCheck };
  struct Job {
    Endpoints between;
    std::uint16_t port{};
    Purpose purpose{};
  };
  struct Trace {
    Job job;
    int socket{};
    std::vector<wire::Gid> hops;  // so far; of a check: as they were
    std::size_t hop{1};           // the limit of the probe that is under way
    unsigned tries{};
    Moment deadline{};
  };

  void enqueue(const Job& job);
  void begin(Moment now);
  void send(Trace& trace, Moment now);
  void look_after_paths(Moment now);
  [[nodiscard]] unsigned tries_for(const Trace& trace) const;
  static void note_router(KnownPaths::Pair& pair, std::size_t hop, const wire::Gid& router);
  // False if the trace has ended.
  [[nodiscard]] bool answer_to(Trace& trace, const ProbeAnswer& answer, Moment now);
  [[nodiscard]] bool silence_at(Trace& trace, Moment now);
  [[nodiscard]] bool step(Trace& trace, const wire::Gid& router, Moment now);
  void conclude(Trace& trace);
  void end(Trace& trace);

  ProbeSender& sender_;
  KnownPaths paths_;
  std::deque<Job> waiting_;
  std::vector<Trace> running_;
  RouterAnswers routers_;
  Moment checked_at_{};
  bool hurried_{};
  std::uint64_t rounds_{};
};

}  // namespace nerve::cli
