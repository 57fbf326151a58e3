// The paths that the prober has measured between the addresses of flows, and what there is to
// report of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "controller/messages.h"
#include "wire/gid.h"

namespace nerve::cli {

struct Endpoints {
  wire::Gid source{};
  wire::Gid destination{};
  friend bool operator==(const Endpoints&, const Endpoints&) = default;
};

using Hops = std::vector<wire::Gid>;

class KnownPaths {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kForgotten{60};  // without a flow
  static constexpr std::size_t kMostPorts = 4096;        // between two addresses

  struct Path {
    Hops hops;
    bool lost{};
  };
  struct Pair {
    Endpoints between;
    std::uint8_t traffic_class{};
    std::vector<Hops> routers;  // that have answered any port, for each limit of hops
    std::map<std::uint16_t, Path> ports;
    std::vector<std::uint16_t> in_use;
    Moment used{};
  };
  // A path that flows use or that is lost, and a port that shares it and is free.
  struct Watched {
    Endpoints between;
    std::uint16_t port{};
    wire::Gid last_router{};
    bool lost{};
  };

  void use(std::span<const controller::LiveFlow> flows, Moment now);
  // Null if there is no flow between these addresses.
  [[nodiscard]] Pair* find(const Endpoints& between);
  [[nodiscard]] const Pair* find(const Endpoints& between) const;
  [[nodiscard]] bool is_in_use(const Endpoints& between, std::uint16_t port) const;

  struct Outcome {
    // A router is silent that was not before: the path is not known to have changed, and is not
    // taken over.
    bool ends_early{};
    // Free ports that had the same path before it changed: theirs may have changed, too.
    std::vector<std::uint16_t> others;
  };
  // The path of a port as measured now. `report` also if it is as it was.
  Outcome measured(Pair& pair, std::uint16_t port, Hops hops, bool report);
  // The last router of the path of a port does not answer any more.
  void lost(Pair& pair, std::uint16_t port);

  // One entry for each path; `round` chooses among its ports.
  [[nodiscard]] std::vector<Watched> watched(std::uint64_t round) const;

  [[nodiscard]] const std::vector<controller::MeasuredPath>& news() const { return news_; }
  [[nodiscard]] std::vector<controller::MeasuredPath> take_news(std::size_t most);

 private:
  void tell(const Pair& pair, std::uint16_t port, const Path& path);

  std::vector<Pair> pairs_;
  std::vector<controller::MeasuredPath> news_;
};

}  // namespace nerve::cli
