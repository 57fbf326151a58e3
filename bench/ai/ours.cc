// All-reduces of the tensor library: one rank of `./nerve bench ai`.
//
//   nerve_ai_ours rdma|tcp RANK RANKS FOLDER ALGORITHM MILLISECONDS BYTES...
//
// Prints "BYTES MICROSECONDS" for each size: the mean of the calls in the fastest of five batches.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "ai/group.h"
#include "bench/ai/batches.h"

int main(int argc, char** argv) {
  using namespace nerve::ai;
  const std::vector<std::string> words(argv, argv + argc);
  if (words.size() < 8) return 2;
  const int rank = std::stoi(words[2]);
  auto joined = Group::join({.rank = rank,
                             .size = std::stoi(words[3]),
                             .rendezvous = "file://" + words[4],
                             .transport = words[1]});
  if (!joined) {
    std::fprintf(stderr, "%s\n", joined.error().text.c_str());
    return 1;
  }
  Group& group = **joined;
  const Algorithm algorithm = algorithm_named(words[5]).value_or(Algorithm::kAuto);
  const bench_ai::Batches batches{std::stod(words[6])};
  for (std::size_t i = 7; i < words.size(); ++i) {
    const std::size_t bytes = std::stoul(words[i]);
    std::vector<float> data(bytes / sizeof(float), 1.0F);
    const auto run = [&] {
      const Status done =
          group.all_reduce(data.data(), data.size(), DataType::kFloat32, ReduceOp::kMax, algorithm);
      if (!done) {
        std::fprintf(stderr, "%s\n", done.error().text.c_str());
        std::exit(1);
      }
    };
    const auto agree = [&](double value) {
      Status done = group.all_reduce(&value, 1, DataType::kFloat64, ReduceOp::kMax);
      return done ? value : 0.0;
    };
    const double us = batches.measure(run, agree);
    if (rank == 0) std::printf("%zu %.2f\n", bytes, us);
  }
  return 0;
}
