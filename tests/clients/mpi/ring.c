// A message goes around the ring and each rank changes it; then all send to the next rank at once,
// twice: in one call, and with several requests in flight.
#include "digest.h"

enum { kLargest = 4 << 20, kAtOnce = 4 };

static void one_after_the_other(unsigned char* data, int size) {
  const int rank = my_rank(), next = (rank + 1) % ranks(), last = (rank + ranks() - 1) % ranks();
  if (rank == 0) MPI_Send(data, size, MPI_BYTE, next, size, MPI_COMM_WORLD);
  MPI_Recv(data, size, MPI_BYTE, last, size, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  digest(data, (size_t)size);
  for (int i = 0; i < size; ++i) data[i] = (unsigned char)(data[i] * 3 + rank + i);
  if (rank != 0) MPI_Send(data, size, MPI_BYTE, next, size, MPI_COMM_WORLD);
}

static void all_at_once(unsigned char* mine, unsigned char* theirs, int size) {
  const int rank = my_rank(), next = (rank + 1) % ranks(), last = (rank + ranks() - 1) % ranks();
  MPI_Sendrecv(mine, size, MPI_BYTE, next, 1, theirs, size, MPI_BYTE, last, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  digest(theirs, (size_t)size);
  MPI_Request requests[2 * kAtOnce];
  const int part = size / kAtOnce;
  for (int i = 0; i < kAtOnce; ++i) {
    MPI_Irecv(theirs + i * part, part, MPI_BYTE, last, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Isend(mine + (kAtOnce - 1 - i) * part, part, MPI_BYTE, next, i, MPI_COMM_WORLD,
              &requests[kAtOnce + i]);
  }
  MPI_Waitall(2 * kAtOnce, requests, MPI_STATUSES_IGNORE);
  digest(theirs, (size_t)size);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  unsigned char *mine = room(kLargest), *theirs = room(kLargest);
  for (int size = 1; size <= kLargest; size *= 4) {
    fill(mine, (size_t)size, my_rank(), size);
    one_after_the_other(mine, size);
    all_at_once(mine, theirs, size);
  }
  return tell();
}
