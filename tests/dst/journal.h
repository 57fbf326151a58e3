// What a run tells about itself: violations of the model, a hash of its whole history, and (on
// request) a line for each thing that happened.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/octets.h"
#include "base/time.h"

namespace nerve::dst {

class Journal {
 public:
  explicit Journal(bool trace) : trace_{trace} {}

  // The first few say what broke; what follows is usually their echo.
  void violation(Time now, const std::string& what) {
    if (violations_.size() < kMaxViolations) violations_.push_back(stamp(now) + what);
    if (trace_) std::fprintf(stderr, "%s VIOLATION %s\n", stamp(now).c_str(), what.c_str());
  }
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

  [[nodiscard]] bool tracing() const { return trace_; }
  void line(Time now, const std::string& text) const {
    if (trace_) std::fprintf(stderr, "%s %s\n", stamp(now).c_str(), text.c_str());
  }

  // FNV-1a over words: order matters, which is the point.
  void mix(std::uint64_t word) { hash_ = (hash_ ^ word) * 0x100000001b3; }
  void mix(Octets octets) {
    for (const std::byte b : octets) mix(std::to_integer<std::uint64_t>(b));
  }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

 private:
  static constexpr std::size_t kMaxViolations = 8;

  static std::string stamp(Time now) {
    char text[32];
    std::snprintf(text, sizeof text, "%12.3f us ", static_cast<double>(now.picoseconds()) / 1e6);
    return text;
  }

  bool trace_;
  std::uint64_t hash_{0xcbf29ce484222325};
  std::vector<std::string> violations_;
};

}  // namespace nerve::dst
