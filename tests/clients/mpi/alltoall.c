// All-to-all: equal parts, and parts of all sizes, including zero.
#include "digest.h"

enum { kLargest = 1 << 20 };

static void equal_parts(int size) {
  const size_t whole = (size_t)size * (size_t)ranks();
  unsigned char *mine = room(whole), *theirs = room(whole);
  fill(mine, whole, my_rank(), size);
  MPI_Alltoall(mine, size, MPI_BYTE, theirs, size, MPI_BYTE, MPI_COMM_WORLD);
  digest(theirs, whole);
  free(mine);
  free(theirs);
}

static int part(int from, int to, int size) { return (from * 7 + to * 3) % 5 * size; }

static void uneven_parts(int size) {
  int out[64], in[64], out_at[65] = {0}, in_at[65] = {0};
  for (int rank = 0; rank < ranks(); ++rank) {
    out[rank] = part(my_rank(), rank, size);
    in[rank] = part(rank, my_rank(), size);
    out_at[rank + 1] = out_at[rank] + out[rank];
    in_at[rank + 1] = in_at[rank] + in[rank];
  }
  unsigned char *mine = room((size_t)out_at[ranks()]), *theirs = room((size_t)in_at[ranks()]);
  fill(mine, (size_t)out_at[ranks()], my_rank(), size);
  MPI_Alltoallv(mine, out, out_at, MPI_BYTE, theirs, in, in_at, MPI_BYTE, MPI_COMM_WORLD);
  digest(theirs, (size_t)in_at[ranks()]);
  free(mine);
  free(theirs);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (ranks() > 64) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int size = 1; size <= kLargest / ranks(); size *= 4) {
    equal_parts(size);
    uneven_parts(size);
  }
  return tell();
}
