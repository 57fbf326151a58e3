// Two ranks: half a round trip of 8 B, and 1 MB messages with eight in flight; all ranks: an
// all-reduce of 1 MB of doubles. The figures of one run, to compare with another.
#include "digest.h"

enum { kRoundTrips = 2000, kLarge = 1 << 20, kWindow = 8, kWindows = 16, kReductions = 20 };

static double latency(char* data) {
  const int rank = my_rank();
  double start = 0;
  for (int i = -100; i < kRoundTrips; ++i) {
    if (i == 0) start = MPI_Wtime();
    if (rank == 0) MPI_Send(data, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(data, 8, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(data, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - start) / kRoundTrips / 2 * 1e6;
}

static double bandwidth(char* data) {
  MPI_Request requests[kWindow];
  double start = 0;
  for (int i = -2; i < kWindows; ++i) {
    if (i == 0) start = MPI_Wtime();
    for (int j = 0; j < kWindow; ++j) {
      if (my_rank() == 0)
        MPI_Isend(data + j * kLarge, kLarge, MPI_BYTE, 1, j, MPI_COMM_WORLD, &requests[j]);
      else
        MPI_Irecv(data + j * kLarge, kLarge, MPI_BYTE, 0, j, MPI_COMM_WORLD, &requests[j]);
    }
    MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(data, 1, MPI_BYTE, 1 - my_rank(), 99, data, 1, MPI_BYTE, 1 - my_rank(), 99,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return (double)kWindows * kWindow * kLarge / (MPI_Wtime() - start) / 1e9;
}

static double all_reduce(void) {
  double *mine = room(kLarge), *all = room(kLarge), start = 0;
  for (int i = -3; i < kReductions; ++i) {
    if (i == 0) start = MPI_Wtime();
    MPI_Allreduce(mine, all, kLarge / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - start) / kReductions * 1e3;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double half = 0, rate = 0;
  char* data = room((size_t)kWindow * kLarge);
  if (my_rank() < 2) {
    fill(data, 8, 0, 0);
    half = latency(data);
    rate = bandwidth(data);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double reduction = all_reduce();
  if (my_rank() == 0)
    printf("figures %.2f us, %.2f GB/s, all-reduce %.2f ms\n", half, rate, reduction);
  return tell();
}
