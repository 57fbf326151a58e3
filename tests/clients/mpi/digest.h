// A digest of everything that a rank received, and the data that ranks send: bytes that are unique
// to rank, round and place. Two runs of a program with the same number of ranks print the same
// digests, whatever carried the messages.
#pragma once

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t digest_value = 14695981039346656037u;

// FNV-1a, eight bytes at a time where possible: the order and each bit count.
static inline void digest(const void* data, size_t size) {
  const unsigned char* at = data;
  for (; size >= 8; size -= 8, at += 8) {
    uint64_t word;
    __builtin_memcpy(&word, at, 8);
    digest_value = (digest_value ^ word) * 1099511628211u;
    digest_value ^= digest_value >> 29;
  }
  for (; size > 0; --size, ++at) digest_value = (digest_value ^ *at) * 1099511628211u;
}

static inline uint64_t noise(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  return *state ^= *state << 17;
}

static inline uint64_t noise_of(int rank, int round) {
  return 0x9e3779b97f4a7c15u * (uint64_t)(rank * 4099 + round + 1);
}

static inline void fill(void* data, size_t size, int rank, int round) {
  unsigned char* at = data;
  uint64_t state = noise_of(rank, round);
  for (size_t i = 0; i < size; ++i) at[i] = (unsigned char)(noise(&state) >> 32);
}

static inline void* room(size_t size) {
  void* data = calloc(size ? size : 1, 1);
  if (!data) MPI_Abort(MPI_COMM_WORLD, 2);
  return data;
}

static inline int my_rank(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

static inline int ranks(void) {
  int count;
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  return count;
}

// Each rank prints its own digest to its own standard output, which is not carried by what is
// tested.
static inline int tell(void) {
  printf("rank %d of %d digest %016llx\n", my_rank(), ranks(), (unsigned long long)digest_value);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
