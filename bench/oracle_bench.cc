// Incasts compared with those of HPCC's authors: `./nerve bench oracle [SEEDS]`. Our figures are
// medians over the seeds, because random marking decides when the first and the last flow end.
#include <cstdio>
#include <cstdlib>

#include "tests/sim/incast_oracle.h"

int main(int argc, char** argv) {
  using namespace nerve::sim::test;  // NOLINT(google-build-using-namespace)
  const std::uint64_t seeds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 9;
  if (seeds == 0) {
    std::printf("usage: ./nerve bench oracle [SEEDS]\n");
    return 2;
  }
  std::printf("median of %llu seeds; FCT in us, queues in KB\n",
              static_cast<unsigned long long>(seeds));
  std::printf("%-12s %8s %8s %6s %8s %8s %8s %7s\n", "", "FCT min", "max", "Jain", "q p50", "p99",
              "most", "pauses");
  const auto row = [](const char* name, const IncastFigures& f) {
    std::printf("%-12s %8.0f %8.0f %6.3f %8.0f %8.0f %8.0f %7llu\n", name, f.first, f.last, f.jain,
                f.queue_median, f.queue_p99, f.queue_most,
                static_cast<unsigned long long>(f.pauses));
  };
  for (const Incast& incast : incasts()) {
    row(incast.name.c_str(), median_of(run_incasts(incast, seeds)));
    row("  ns-3", incast.expected);
    if (incast.median_there) row("  of 8 runs", *incast.median_there);
  }
}
