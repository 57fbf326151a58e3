// Serves the agents of a controller, in one thread: takes their reports, and sends them the orders
// of the planner.
//
// Whoever connects has a few seconds to prove that it knows the key. Reports and what waits to be
// sent are bounded; an agent that is silent, does not read, or breaks the protocol is closed.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/controller_session.h"
#include "cli/listen_address.h"
#include "controller/path_planner.h"
#include "host/peers/mapping.h"

namespace nerve::cli {

class ControllerServer {
 public:
  using Clock = std::chrono::steady_clock;
  // What has happened, for people and for programs.
  using Listener = std::function<void(const std::string& line, nlohmann::json object)>;
  static constexpr std::size_t kMaxAgents = 1024;
  // That have not proved anything yet. One more closes the oldest of them.
  static constexpr std::size_t kMaxStrangers = 64;
  static constexpr std::chrono::seconds kPatience{5};    // until the key is proved
  static constexpr std::chrono::seconds kSilence{15};    // of an agent
  static constexpr std::chrono::milliseconds kTick{50};  // orders that no report asks for
  static constexpr std::size_t kMaxWaiting = 8U << 20U;  // bytes that an agent has not read

  // The error is a sentence.
  [[nodiscard]] static Result<ControllerServer, std::string> open(
      const ListenAddress& address, const seal::SharedKey& key,
      controller::PlannerSettings settings, Listener listener);

  [[nodiscard]] std::uint16_t port() const;  // that it listens at

  // To wait for: adds its descriptors, and returns for how long to wait.
  [[nodiscard]] std::chrono::milliseconds add_to(std::vector<pollfd>& waiting) const;
  // After waiting: takes, reads and sends what can be.
  void serve();

 private:
  struct Client {
    std::uint64_t id{};
    host::Descriptor connection;
    ControllerSession session;
    std::string address;
    std::string host;  // once it has reported
    std::string to_send;
    Clock::time_point since;
    Clock::time_point heard;
    bool greeted{};  // its greeting was answered with our proof
  };

  ControllerServer(host::Descriptor listener, const seal::SharedKey& key,
                   controller::PlannerSettings settings, Listener tell)
      : listener_{std::move(listener)},
        key_{key},
        planner_{std::move(settings)},
        tell_{std::move(tell)} {}

  [[nodiscard]] Time now() const;
  [[nodiscard]] bool may_take() const;
  void take_clients();
  // Why the client must be closed; empty while it may stay.
  [[nodiscard]] std::string read_from(Client& client);
  [[nodiscard]] std::string hear(Client& client, const std::string& body);
  [[nodiscard]] std::string write_to(Client& client);
  [[nodiscard]] std::string too_late(const Client& client) const;
  void send_orders(Client& client);
  void close(const Client& client, const std::string& why);
  void tell_events();

  host::Descriptor listener_;
  seal::SharedKey key_;
  controller::PathPlanner planner_;
  Listener tell_;
  std::list<Client> clients_;  // the oldest first
  std::uint64_t next_id_{1};
  Clock::time_point start_{Clock::now()};
  Clock::time_point ticked_{};
  Clock::time_point take_again_{};  // after descriptors have run out
};

}  // namespace nerve::cli
