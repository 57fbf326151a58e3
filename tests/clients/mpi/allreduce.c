// All-reduce of bytes, integers and doubles, 1 B to 4 MB. Sums of doubles depend on the order of
// additions, to the last bit: the digest shows that the order is the same as in the other run.
#include "digest.h"

enum { kLargest = 4 << 20 };

static void reduce(void* mine, void* all, int count, MPI_Datatype type, MPI_Op operation) {
  int size;
  MPI_Type_size(type, &size);
  MPI_Allreduce(mine, all, count, type, operation, MPI_COMM_WORLD);
  digest(all, (size_t)count * (size_t)size);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int largest = argc > 1 ? atoi(argv[1]) : kLargest;
  void *mine = room(kLargest), *all = room(kLargest);
  for (int size = 1; size <= largest; size *= 4) {
    fill(mine, (size_t)size, my_rank(), size);
    reduce(mine, all, size, MPI_BYTE, MPI_BXOR);
    reduce(mine, all, size / 4, MPI_INT, MPI_MAX);
    reduce(mine, all, size / 4, MPI_UNSIGNED, MPI_SUM);
    double* values = mine;
    uint64_t state = noise_of(my_rank(), size);
    for (int i = 0; i < size / 8; ++i)
      values[i] = 1.0 + (double)noise(&state) / 18446744073709551616.0;
    reduce(mine, all, size / 8, MPI_DOUBLE, MPI_SUM);
    reduce(mine, all, size / 8, MPI_DOUBLE, MPI_PROD);
  }
  return tell();
}
