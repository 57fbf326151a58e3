// Reports the progress of a seeded test: one line in the file named by NERVE_PROGRESS, about once a
// second and whenever a seed fails.
//
//  seeds Suite.Name TRIED OF MILLISECONDS
//  failed Suite.Name SEED
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace nerve::test {

class SeedProgress {
 public:
  // `file` may be null: nothing is reported.
  SeedProgress(const char* file, std::string test, std::uint64_t count);
  ~SeedProgress();
  SeedProgress(const SeedProgress&) = delete;
  SeedProgress& operator=(const SeedProgress&) = delete;

  void tried(std::uint64_t seeds);  // cheap enough to be called for every seed
  void failed(std::uint64_t seed);

 private:
  using Clock = std::chrono::steady_clock;
  void write_line(const std::string& line) const;
  void write_tried(Clock::time_point now);

  std::string test_;
  std::uint64_t count_;
  std::uint64_t tried_{};
  int file_{-1};
  bool reported_{};
  Clock::time_point began_{Clock::now()};
  Clock::time_point next_{began_ + std::chrono::seconds{1}};
};

}  // namespace nerve::test
