// The agent's connection to the controller: connects, proves that it has the key, and connects
// again when the connection is lost, after 0.1 to 2 seconds. It never waits: its caller polls.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/controller_address.h"
#include "cli/controller_session.h"
#include "host/peers/mapping.h"

namespace nerve::cli {

class AgentLink {
 public:
  using Clock = std::chrono::steady_clock;
  using Moment = Clock::time_point;
  static constexpr std::chrono::milliseconds kFirstPause{100};
  static constexpr std::chrono::milliseconds kLongestPause{2000};
  static constexpr std::chrono::seconds kPatience{5};  // to connect, and with unsent bytes
  static constexpr std::size_t kMostUnsent = 1U << 20U;

  AgentLink(std::vector<SocketAddress> addresses, const seal::SharedKey& key)
      : addresses_{std::move(addresses)}, key_{key} {}

  // What to wait for; a negative descriptor: only for next_deadline().
  [[nodiscard]] pollfd waits_for() const;
  [[nodiscard]] Moment next_deadline() const;
  // Does what can be done now. Returns the messages that have come.
  [[nodiscard]] std::vector<std::string> advance(Moment now);

  // Whether send() may be called: the controller has proved that it has the key, and takes what it
  // is sent.
  [[nodiscard]] bool ready() const;
  void send(std::string_view body, Moment now);
  // Ends this connection, for the reason given.
  void fail(std::string why, Moment now);

  // Counts connections on which both ends have proved that they have the key.
  [[nodiscard]] std::uint64_t sessions() const { return sessions_; }
  // Why the last attempt failed, once for each reason that differs from the one before.
  [[nodiscard]] std::optional<std::string> take_problem();

 private:
  void connect(Moment now);
  void flush(Moment now);
  void take_in(std::vector<std::string>& bodies, Moment now);

  std::vector<SocketAddress> addresses_;
  seal::SharedKey key_;
  std::size_t next_address_{};
  host::Descriptor socket_;
  bool connecting_{};
  bool counted_{};  // among the sessions
  std::optional<ControllerSession> session_;
  std::string unsent_;
  Moment retry_at_{};
  Moment give_up_{};  // while it connects, or bytes are unsent
  std::chrono::milliseconds pause_{kFirstPause};
  std::uint64_t sessions_{};
  std::string problem_;
  bool problem_is_new_{};
};

}  // namespace nerve::cli
