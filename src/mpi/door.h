// What the simulator calls in libnerve-mpi.so, the only file that needs MPI. It is loaded only
// under mpirun, so that the simulator runs where no MPI is installed.
//
// Plain C functions: the library and the program may have been built with different C++ libraries.
// Those that return int return zero if they failed; nerve_mpi_trouble() says why.
#pragma once

#include <cstdint>

inline constexpr int kMpiDoor = 1;  // incremented when a function changes

extern "C" {

struct NerveMpiMessage {
  const void* bytes;
  std::uint64_t length;
};

// Returns where the message of this length from this rank is to be written.
using NerveMpiRoom = void* (*)(void* context, int rank, std::uint64_t length);

int nerve_mpi_version();  // kMpiDoor
int nerve_mpi_begin(int* rank, int* count);
// Sends out[i] to rank i and receives from it, for all ranks but this one.
int nerve_mpi_exchange(const NerveMpiMessage* out, NerveMpiRoom room, void* context);
// Rank zero receives from all others.
int nerve_mpi_gather(NerveMpiMessage mine, NerveMpiRoom room, void* context);
const char* nerve_mpi_trouble();
// Messages that nobody waits for. send() copies the bytes; a message to a rank that has died is
// lost.
int nerve_mpi_send(int to, NerveMpiMessage message);
// Receives one such message if one has come whole: returns 1, and its sender. Otherwise 0, or -1.
int nerve_mpi_poll(NerveMpiRoom room, void* context, int* from);
void nerve_mpi_end();                 // waits for all ranks
void nerve_mpi_abort(int exit_code);  // ends all ranks

}  // extern "C"
