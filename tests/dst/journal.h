// The record of a run: violations of the model, a hash of its whole history, and (on request) a
// line for each event.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"

namespace nerve::dst {

class Journal {
 public:
  // `keep`: the lines are kept for story().
  explicit Journal(bool trace, bool keep = false) : trace_{trace}, keep_{keep} {}

  // The first few violations show the bug; the rest usually follow from them.
  void violation(Time now, const std::string& what) {
    if (violations_.size() < kMaxViolations) violations_.push_back(stamp(now) + what);
    line(now, "VIOLATION " + what);
  }
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

  [[nodiscard]] bool tracing() const { return trace_ || keep_; }
  void line(Time now, const std::string& text) {
    if (trace_) std::fprintf(stderr, "%s %s\n", stamp(now).c_str(), text.c_str());
    if (keep_) story_.push_back(stamp(now) + text);
  }
  [[nodiscard]] const std::vector<std::string>& story() const { return story_; }

  // FNV-1a over words: the order matters.
  void mix(std::uint64_t word) { hash_ = (hash_ ^ word) * 0x100000001b3; }
  void mix(Bytes bytes) {
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data(), 8);
      mix(word);
    }
    for (const std::byte b : bytes) mix(std::to_integer<std::uint64_t>(b));
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
  bool keep_;
  std::uint64_t hash_{0xcbf29ce484222325};
  std::vector<std::string> violations_;
  std::vector<std::string> story_;
};

}  // namespace nerve::dst
