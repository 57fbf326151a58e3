// Every rank sends to rank 0, and rank 0 answers each.
#include <string.h>

#include "digest.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  char text[64] = {0};
  if (my_rank() != 0) {
    snprintf(text, sizeof text, "hello from rank %d of %d", my_rank(), ranks());
    MPI_Send(text, sizeof text, MPI_CHAR, 0, my_rank(), MPI_COMM_WORLD);
    MPI_Recv(text, sizeof text, MPI_CHAR, 0, my_rank(), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    digest(text, sizeof text);
  }
  for (int rank = 1; my_rank() == 0 && rank < ranks(); ++rank) {
    MPI_Recv(text, sizeof text, MPI_CHAR, rank, rank, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    digest(text, sizeof text);
    strncat(text, ", and back", sizeof text - strlen(text) - 1);
    MPI_Send(text, sizeof text, MPI_CHAR, rank, rank, MPI_COMM_WORLD);
  }
  return tell();
}
