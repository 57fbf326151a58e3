// How an all-reduce is measured, the same for all libraries: calls in a row, without a barrier in
// between; the ranks agree on the number of calls in a batch from the time of the first ones. The
// result is the mean of the fastest of five batches, of the slowest rank.
#pragma once

#include <algorithm>
#include <chrono>

namespace bench_ai {

class Batches {
 public:
  explicit Batches(double milliseconds) : budget_us_{milliseconds * 1000} {}

  // agree(value) returns the largest value of all ranks.
  template <class Run, class Agree>
  double measure(Run run, Agree agree) const {
    run();
    run();
    const double once = agree(time_of(run, 3));
    const int calls = static_cast<int>(std::clamp(budget_us_ / kBatches / once, 1.0, 20000.0));
    double best = 0;
    for (int batch = 0; batch < kBatches; ++batch) {
      const double mean = agree(time_of(run, calls));
      if (batch == 0 || mean < best) best = mean;
    }
    return best;
  }

 private:
  static constexpr int kBatches = 5;

  template <class Run>
  static double time_of(Run run, int calls) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) run();
    const std::chrono::duration<double, std::micro> spent =
        std::chrono::steady_clock::now() - start;
    return spent.count() / calls;
  }

  double budget_us_;
};

}  // namespace bench_ai
