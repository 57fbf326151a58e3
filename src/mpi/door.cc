#include "mpi/door.h"

#include <limits.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <list>
#include <vector>

namespace {

enum class Kind : int { kExchange = 1, kGather = 2, kLoose = 3 };  // tags

int own_rank;
int rank_count;
char trouble[512];

struct Loose {
  int peer;
  std::vector<char> bytes;
  MPI_Request request;
};
std::list<Loose> leaving;
std::list<Loose> arriving;  // those of a rank in order

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
                           static_cast<int>(kind), MPI_COMM_WORLD, &request),
                 "sending");
}

bool receive(int from, Kind kind, NerveMpiRoom room, void* context) {
  MPI_Message message{};
  MPI_Status status{};
  int length = 0;
  if (failed(MPI_Mprobe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status), "receiving") ||
      failed(MPI_Get_count(&status, MPI_BYTE, &length), "receiving")) {
    return false;
  }
  if (status.MPI_TAG != static_cast<int>(kind)) {
    (void)std::snprintf(trouble, sizeof trouble, "rank %d is at another point of the run", from);
    return false;
  }
  void* const into = room(context, from, static_cast<std::uint64_t>(length));
  return !failed(MPI_Mrecv(into, length, MPI_BYTE, &message, &status), "receiving");
}

bool has_ended(Loose& one) {
  int done = 0;
  MPI_Test(&one.request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

// Begins to receive what has come. A rank that dies while it sends leaves a message that never
// ends, so nothing waits for that.
bool begin_to_receive() {
  for (;;) {
    int found = 0;
    int length = 0;
    MPI_Message message{};
    MPI_Status status{};
    if (failed(MPI_Improbe(MPI_ANY_SOURCE, static_cast<int>(Kind::kLoose), MPI_COMM_WORLD, &found,
                           &message, &status),
               "receiving")) {
      return false;
    }
    if (found == 0) return true;
    if (failed(MPI_Get_count(&status, MPI_BYTE, &length), "receiving")) return false;
    Loose& one = arriving.emplace_back();
    one.peer = status.MPI_SOURCE;
    one.bytes.resize(static_cast<std::size_t>(length));
    if (failed(MPI_Imrecv(one.bytes.data(), length, MPI_BYTE, &message, &one.request),
               "receiving")) {
      return false;
    }
  }
}

bool is_first_of_its_rank(const Loose& one) {
  return &*std::ranges::find(arriving, one.peer, &Loose::peer) == &one;
}

}  // namespace

int nerve_mpi_version() { return kMpiDoor; }

int nerve_mpi_begin(int* rank, int* count) {
  int provided = 0;
  // The simulator has threads; only the first one calls MPI.
  if (failed(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "starting")) {
    return 0;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
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

int nerve_mpi_send(int to, NerveMpiMessage message) {
  leaving.remove_if(has_ended);
  const char* const from = static_cast<const char*>(message.bytes);
  Loose& one = leaving.emplace_back();
  one.peer = to;
  one.bytes.assign(from, from + message.length);
  return send({one.bytes.data(), message.length}, to, Kind::kLoose, one.request) ? 1 : 0;
}

int nerve_mpi_poll(NerveMpiRoom room, void* context, int* from) {
  if (!begin_to_receive()) return -1;
  const auto whole = std::ranges::find_if(
      arriving, [](Loose& one) { return is_first_of_its_rank(one) && has_ended(one); });
  if (whole == arriving.end()) return 0;
  *from = whole->peer;
  std::ranges::copy(whole->bytes, static_cast<char*>(room(context, *from, whole->bytes.size())));
  arriving.erase(whole);
  return 1;
}

const char* nerve_mpi_trouble() { return trouble; }

void nerve_mpi_end() { MPI_Finalize(); }

void nerve_mpi_abort(int exit_code) { MPI_Abort(MPI_COMM_WORLD, exit_code); }
