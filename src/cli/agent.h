// The agent of a controller of paths, in a thread of `nerve run --controller`. It speaks for all
// processes of this user in this network namespace: reports their flows, measures paths, and passes
// orders on. One agent does that at a time; others wait until it has gone.
//
// Programs do not depend on it. If it ends, or has no controller, QPs keep the ports that they
// have.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "cli/agent_flows.h"
#include "cli/agent_link.h"
#include "cli/path_prober.h"
#include "cli/probe_sockets.h"
#include "host/config/config.h"
#include "host/peers/mapping.h"
#include "host/peers/turn.h"

namespace nerve::cli {

struct AgentSettings {
  std::string controller;  // for messages: HOST:PORT
  std::vector<SocketAddress> addresses;
  seal::SharedKey key;
  std::uint16_t port{};  // the UDP port of RoCEv2
};

// Checks the settings and reads the key. The error is a sentence that begins with the option.
[[nodiscard]] Result<AgentSettings, std::string> agent_settings(const host::Config& config);

class Agent {
 public:
  static constexpr std::chrono::milliseconds kBetweenReports{50};  // at least
  static constexpr std::chrono::milliseconds kSignOfLife{1000};
  static constexpr std::chrono::milliseconds kIdle{
      200};  // between looks for flows, if there are none

  explicit Agent(AgentSettings settings);
  ~Agent() { stop(); }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Starts the thread. Signals that the calling thread blocks are blocked in it.
  void start();
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  using Moment = Clock::time_point;

  void run();
  [[nodiscard]] bool wait_for_turn();  // false: it has to end
  void wait(std::chrono::milliseconds at_most);
  void look_at_flows(Moment now);
  void report(Moment now);
  void carry_out(const std::string& text, Moment now);
  void take_answers(Moment now);

  AgentSettings settings_;
  AgentLink link_;
  ProbeSockets sockets_;
  PathProber prober_{sockets_};
  AgentFlows flows_;
  host::Turn turn_;
  host::Descriptor wake_;
  std::atomic<bool> stopping_{};
  bool warned_{};
  std::uint64_t session_{};  // in which the last report was sent
  Moment look_at_{};         // when to ask for flows again
  Moment report_at_{};       // the earliest and the latest time of the next report
  Moment life_at_{};
  std::thread thread_;
};

}  // namespace nerve::cli
