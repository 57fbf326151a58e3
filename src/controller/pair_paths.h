// The paths from one host to another, as one agent has measured them: one for each UDP source port.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/optional_time.h"
#include "base/time.h"
#include "controller/link_loads.h"
#include "controller/messages.h"

namespace nerve::controller {

class PairPaths {
 public:
  struct Path {
    Links links;          // none: no router answered
    std::size_t depth{};  // hops up to the last router that answered
    Time measured;
    bool lost{};
  };

  // A port that may be measured. What is measured of others does not count.
  void ask(std::uint16_t port) { asked_.insert(port); }
  [[nodiscard]] const std::set<std::uint16_t>& asked() const { return asked_; }

  // Takes what was measured. Returns the links of the path that it is about: those that are lost
  // if it is. Nothing if it says nothing about a path.
  const Links* learn(const MeasuredPath& path, Time now);

  // The path of a port; null while nothing is known about it.
  [[nodiscard]] const Path* find(std::uint16_t port) const;
  // Its links; none while they are not known.
  [[nodiscard]] const Links& links(std::uint16_t port) const;
  // A flow may be moved to it: it leads as far as the other paths do.
  [[nodiscard]] bool usable(const Path& path) const;
  [[nodiscard]] const std::map<std::uint16_t, Path>& all() const { return paths_; }
  // On all usable paths.
  [[nodiscard]] const Links& unavoidable() const { return unavoidable_; }
  // The number of different usable paths.
  [[nodiscard]] std::size_t different() const;

 private:
  void compare_paths();

  std::set<std::uint16_t> asked_;
  std::map<std::uint16_t, Path> paths_;
  std::size_t depth_{};  // of the deepest path that is not lost
  Links unavoidable_;
};

}  // namespace nerve::controller
