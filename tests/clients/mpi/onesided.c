// One-sided: put, get and accumulate between fences; put, get and atomics under locks, where all
// ranks access rank 0. Results that would depend on the order are made independent of it: tickets
// are sorted, sums are of integers.
#include "digest.h"

enum { kWords = 1 << 17, kTickets = 50 };

static int by_value(const void* one, const void* other) {
  const int64_t a = *(const int64_t*)one, b = *(const int64_t*)other;
  return (a > b) - (a < b);
}

// Each rank writes to the next rank, adds to the one after that, and reads what the fence made
// visible.
static void between_fences(int64_t* shared, MPI_Win window) {
  const int next = (my_rank() + 1) % ranks(), after = (my_rank() + 2) % ranks();
  int64_t* mine = room(kWords * sizeof *mine);
  for (int words = 1; words <= kWords; words *= 8) {
    fill(mine, (size_t)words * 8, my_rank(), words);
    MPI_Win_fence(0, window);
    MPI_Put(mine, words, MPI_INT64_T, next, 0, words, MPI_INT64_T, window);
    MPI_Win_fence(0, window);
    digest(shared, (size_t)words * 8);
    MPI_Win_fence(0, window);
    MPI_Accumulate(mine, words, MPI_INT64_T, after, 0, words, MPI_INT64_T, MPI_SUM, window);
    MPI_Win_fence(0, window);
    digest(shared, (size_t)words * 8);
    MPI_Get(mine, words, MPI_INT64_T, after, 0, words, MPI_INT64_T, window);
    MPI_Win_fence(0, window);
    digest(mine, (size_t)words * 8);
  }
  free(mine);
}

// A ticket for each, from a counter at rank 0; together all numbers, each once.
static void draw_tickets(MPI_Win window) {
  int64_t tickets[kTickets], one = 1;
  int64_t* all = room((size_t)ranks() * sizeof tickets);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < kTickets; ++i) {
    MPI_Fetch_and_op(&one, &tickets[i], MPI_INT64_T, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
  }
  MPI_Win_unlock_all(window);
  MPI_Allgather(tickets, kTickets, MPI_INT64_T, all, kTickets, MPI_INT64_T, MPI_COMM_WORLD);
  qsort(all, (size_t)(ranks() * kTickets), sizeof *all, by_value);
  digest(all, (size_t)ranks() * sizeof tickets);
  free(all);
}

// A counter that is incremented only by compare-and-swap: it ends at the number of all successes.
static void swap_upwards(MPI_Win window) {
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
  for (int done = 0; done < kTickets;) {
    int64_t seen, found, more;
    MPI_Fetch_and_op(NULL, &seen, MPI_INT64_T, 0, 1, MPI_NO_OP, window);
    MPI_Win_flush(0, window);
    more = seen + 1;
    MPI_Compare_and_swap(&more, &seen, &found, MPI_INT64_T, 0, 1, window);
    MPI_Win_flush(0, window);
    done += found == seen;
  }
  MPI_Win_unlock(0, window);
}

// Read, add, write back: right only if the lock excludes the others.
static void add_under_lock(MPI_Win window) {
  for (int i = 0; i < kTickets / 5; ++i) {
    int64_t value;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Get(&value, 1, MPI_INT64_T, 0, 2, 1, MPI_INT64_T, window);
    MPI_Win_flush(0, window);
    value += my_rank() + 1;
    MPI_Put(&value, 1, MPI_INT64_T, 0, 2, 1, MPI_INT64_T, window);
    MPI_Win_unlock(0, window);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int64_t* shared;
  MPI_Win window;
  MPI_Win_allocate(kWords * sizeof *shared, sizeof *shared, MPI_INFO_NULL, MPI_COMM_WORLD, &shared,
                   &window);
  between_fences(shared, window);
  MPI_Win_fence(0, window);
  for (int i = 0; i < 3; ++i) shared[i] = 0;
  MPI_Win_fence(0, window);
  draw_tickets(window);
  swap_upwards(window);
  add_under_lock(window);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, my_rank(), 0, window);
  digest(shared, 3 * sizeof *shared);
  MPI_Win_unlock(my_rank(), window);
  MPI_Win_free(&window);
  return tell();
}
