// What `nerve bench live` measures, and its aims: figures, each measured with one pair of
// programs, and lines that compare one of ours with a baseline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/config/config.h"

namespace nerve::bench {

// The program family: how to call it and parse its output.
enum class Tool : std::uint8_t { kPerftest, kUcx, kFabric, kIperf3, kOwn };

enum class Unit : std::uint8_t { kMicroseconds, kGigabytes, kMillions, kPercent };

// True for gigabytes and messages per second.
[[nodiscard]] bool more_is_better(Unit unit);
[[nodiscard]] std::string with_unit(double value, Unit unit);

struct Figure {
  std::string name;  // "ib_send_lat 8 B, shm"; unique
  Tool tool{};
  std::string program;
  std::string package;               // Debian package of the program; empty for our own
  std::vector<std::string> options;  // of the client; for perftest and fi_pingpong of both ends
  host::Environment settings;
  Unit unit{};
};

// The aim of a line: for its ratio if it has a baseline, otherwise for its figure.
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
  std::vector<Figure> figures;  // in the order of measurement
  std::vector<Line> lines;

  void add(Figure ours, std::optional<Figure> beside, std::optional<Aim> aim);
  [[nodiscard]] std::string title(const Line& line) const;
  // The lines whose title matches this regular expression, with their figures.
  [[nodiscard]] Plan only(const std::string& pattern) const;

 private:
  std::size_t place(Figure figure);  // a figure used by several lines is measured once
};

// Quick: only the lines with an aim, with less time per figure.
enum class Effort : std::uint8_t { kWhole, kQuick };
[[nodiscard]] Plan make_plan(Effort effort);

}  // namespace nerve::bench
