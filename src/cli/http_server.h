// Serves HTTP to a few clients at once, in one thread.
//
// What a client sends is bounded, and one that does not finish its request or read its answer in
// time is closed. When as many are connected as there is room for, others wait in the kernel.
#pragma once

#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>

#include "cli/http.h"
#include "cli/listen_address.h"
#include "cli/signals.h"
#include "host/peers/mapping.h"
#include "host/peers/statistics_keeper.h"

namespace nerve::cli {

class HttpServer {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMaxClients = 16;
  static constexpr std::chrono::seconds kPatience{5};

  // The error is a sentence.
  [[nodiscard]] static Result<HttpServer, std::string> open(const ListenAddress& address,
                                                            HttpRoutes routes);

  [[nodiscard]] std::uint16_t port() const;  // that it listens at

  // To wait for, with whatever else the caller waits for: adds its descriptors, and returns the
  // time until which to wait.
  [[nodiscard]] std::optional<Clock::time_point> add_to(std::vector<pollfd>& waiting) const;
  // After waiting: takes, reads, answers and closes what can be.
  void serve();

 private:
  struct Client {
    host::Descriptor connection;
    Clock::time_point give_up;
    std::string received;
    std::string answer;  // what is left of it
    bool answered{};
  };

  HttpServer(host::Descriptor listener, HttpRoutes routes)
      : listener_{std::move(listener)}, routes_{std::move(routes)} {}
  void take_clients();
  // False when it is done with.
  [[nodiscard]] bool go_on(Client& client) const;

  host::Descriptor listener_;
  HttpRoutes routes_;
  std::list<Client> clients_;
};

// Serves until one of the signals arrives. Meanwhile the keeper, if there is one, hands its table
// of counters to programs that ask.
void serve_until(const Signals& signals, HttpServer& server, host::StatisticsKeeper* keeper);

}  // namespace nerve::cli
