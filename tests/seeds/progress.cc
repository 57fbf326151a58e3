#include "tests/seeds/progress.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace nerve::test {

// Non-blocking: the file may be a pipe whose reader is slow or gone.
SeedProgress::SeedProgress(const char* file, std::string test, std::uint64_t count)
    : test_{std::move(test)},
      count_{count},
      file_{file != nullptr ? open(file, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC) : -1} {}

SeedProgress::~SeedProgress() {
  if (file_ < 0) return;
  // A test that took less than a second reported nothing, and need not.
  if (reported_) {
    tried_ = count_;  // finished, or failed
    write_tried(Clock::now());
  }
  close(file_);
}

void SeedProgress::tried(std::uint64_t seeds) {
  if (file_ < 0) return;
  tried_ = seeds;
  if (const Clock::time_point now = Clock::now(); now >= next_) write_tried(now);
}

void SeedProgress::failed(std::uint64_t seed) {
  write_line("failed " + test_ + " " + std::to_string(seed) + "\n");
}

void SeedProgress::write_tried(Clock::time_point now) {
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - began_);
  write_line("seeds " + test_ + " " + std::to_string(tried_) + " " + std::to_string(count_) + " " +
             std::to_string(elapsed.count()) + "\n");
  reported_ = true;
  next_ = now + std::chrono::seconds{1};
}

void SeedProgress::write_line(const std::string& line) const {
  if (file_ >= 0 && write(file_, line.data(), line.size()) < 0)
    return;  // the next report may succeed
}

}  // namespace nerve::test
