// What `nerve bench live` measures, and what it aims at: figures, each from one pair of programs,
// and lines that set one of ours beside one of a peer's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/config/config.h"

namespace nerve::bench {

// How a program is called and what it prints.
enum class Tool : std::uint8_t { kPerftest, kUcx, kFabric, kIperf3, kOwn };

enum class Unit : std::uint8_t { kMicroseconds, kGigabytes, kMillions, kPercent };

// Gigabytes and messages, both per second, are better when there are more of them.
[[nodiscard]] bool more_is_better(Unit unit);
[[nodiscard]] std::string with_unit(double value, Unit unit);

struct Figure {
  std::string name;  // "ib_send_lat 8 B, shm"; no two are alike
  Tool tool{};
  std::string program;
  std::string package;               // that brings the program; empty for our own
  std::vector<std::string> options;  // of the client, and of both ends in perftest and fi_pingpong
  host::Environment settings;
  Unit unit{};
};

// What a line hopes for: of the ratio where there is something beside it, else of the figure.
struct Aim {
  enum class Kind : std::uint8_t { kAtMost, kAtLeast, kBelow } kind{};
  double limit{};

  [[nodiscard]] bool met_by(double value) const;
  [[nodiscard]] std::string text() const;  // "<= 1.5"
};

// Indices into Plan::figures.
struct Line {
  std::size_t ours{};
  std::optional<std::size_t> beside;
  std::optional<Aim> aim;
};

struct Plan {
  std::vector<Figure> figures;  // in the order in which they are measured
  std::vector<Line> lines;

  void add(Figure ours, std::optional<Figure> beside, std::optional<Aim> aim);
  [[nodiscard]] std::string title(const Line& line) const;
  // The lines whose title matches this regular expression, and the figures they need.
  [[nodiscard]] Plan only(const std::string& pattern) const;

 private:
  std::size_t place(Figure figure);  // a figure that several lines need is measured once
};

// Quick: only the lines with an aim, and less time for each figure.
enum class Effort : std::uint8_t { kWhole, kQuick };
[[nodiscard]] Plan make_plan(Effort effort);

}  // namespace nerve::bench
