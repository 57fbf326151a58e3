#include "mpi/door.h"

#include <limits.h>
#include <mpi.h>

#include <cstdio>
#include <vector>

namespace {

enum class Kind : int { kExchange = 1, kGather = 2 };  // tags

MPI_Comm everyone = MPI_COMM_NULL;
int own_rank;
int rank_count;
char trouble[512];

bool failed(int code, const char* what) {
  if (code == MPI_SUCCESS) return false;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  (void)std::snprintf(trouble, sizeof trouble, "MPI: %s: %.300s", what, text);
  return true;
}

bool send(const NerveMpiMessage& message, int to, Kind kind, MPI_Request& request) {
  if (message.length > INT_MAX) {
    (void)std::snprintf(trouble, sizeof trouble, "MPI: a message is longer than 2 GB");
    return false;
  }
  return !failed(MPI_Isend(message.bytes, static_cast<int>(message.length), MPI_BYTE, to,
                           static_cast<int>(kind), everyone, &request),
                 "sending");
}

bool receive(int from, Kind kind, NerveMpiRoom room, void* context) {
  MPI_Message message{};
  MPI_Status status{};
  int length = 0;
  if (failed(MPI_Mprobe(from, MPI_ANY_TAG, everyone, &message, &status), "receiving") ||
      failed(MPI_Get_count(&status, MPI_BYTE, &length), "receiving")) {
    return false;
  }
  if (status.MPI_TAG != static_cast<int>(kind)) {
    (void)std::snprintf(trouble, sizeof trouble, "rank %d is at another point of the run", from);
    return false;
  }
  void* const into = room(context, from, static_cast<uint64_t>(length));
  return !failed(MPI_Mrecv(into, length, MPI_BYTE, &message, &status), "receiving");
}

}  // namespace

int nerve_mpi_version() { return NERVE_MPI_DOOR; }

int nerve_mpi_begin(int* rank, int* count) {
  int provided = 0;
  // The simulator has threads; only the first one calls MPI.
  if (failed(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "starting")) {
    return 0;
  }
  if (failed(MPI_Comm_dup(MPI_COMM_WORLD, &everyone), "starting")) return 0;
  MPI_Comm_set_errhandler(everyone, MPI_ERRORS_RETURN);
  MPI_Comm_rank(everyone, &own_rank);
  MPI_Comm_size(everyone, &rank_count);
  *rank = own_rank;
  *count = rank_count;
  return 1;
}

int nerve_mpi_exchange(const NerveMpiMessage* out, NerveMpiRoom room, void* context) {
  std::vector<MPI_Request> sending(static_cast<std::size_t>(rank_count), MPI_REQUEST_NULL);
  for (int i = 0; i < rank_count; ++i) {
    if (i != own_rank && !send(out[i], i, Kind::kExchange, sending[static_cast<std::size_t>(i)])) {
      return 0;
    }
  }
  for (int i = 0; i < rank_count; ++i) {
    if (i != own_rank && !receive(i, Kind::kExchange, room, context)) return 0;
  }
  return failed(MPI_Waitall(rank_count, sending.data(), MPI_STATUSES_IGNORE), "sending") ? 0 : 1;
}

int nerve_mpi_gather(NerveMpiMessage mine, NerveMpiRoom room, void* context) {
  if (own_rank != 0) {
    MPI_Request sending = MPI_REQUEST_NULL;
    if (!send(mine, 0, Kind::kGather, sending)) return 0;
    return failed(MPI_Wait(&sending, MPI_STATUS_IGNORE), "sending") ? 0 : 1;
  }
  for (int i = 1; i < rank_count; ++i) {
    if (!receive(i, Kind::kGather, room, context)) return 0;
  }
  return 1;
}

const char* nerve_mpi_trouble() { return trouble; }

void nerve_mpi_end() { MPI_Finalize(); }

void nerve_mpi_abort(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }
