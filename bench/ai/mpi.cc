// All-reduces of MPI: `mpirun -n RANKS nerve_ai_mpi MILLISECONDS BYTES...`, for `./nerve bench ai`.
// Prints "BYTES MICROSECONDS" for each size.
#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

#include "bench/ai/batches.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const bench_ai::Batches batches{std::stod(argv[1])};
  for (int i = 2; i < argc; ++i) {
    const std::size_t bytes = std::stoul(argv[i]);
    std::vector<float> data(bytes / sizeof(float), 1.0F);
    const double us = batches.measure(
        [&] {
          MPI_Allreduce(MPI_IN_PLACE, data.data(), static_cast<int>(data.size()), MPI_FLOAT,
                        MPI_MAX, MPI_COMM_WORLD);
        },
        [](double value) {
          MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
          return value;
        });
    if (rank == 0) std::printf("%zu %.2f\n", bytes, us);
  }
  MPI_Finalize();
  return 0;
}
