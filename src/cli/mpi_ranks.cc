#include "cli/mpi_ranks.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/this_program.h"
#include "mpi/door.h"

namespace nerve::cli {
namespace {

const char* variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no threads yet
  return value == nullptr || *value == 0 ? nullptr : value;
}

bool is_several(const char* count) { return count != nullptr && std::string_view{count} != "1"; }

// Set by Open MPI's mpirun, and by launchers that speak PMIx.
bool by_open_mpi() {
  const char* const count = variable("OMPI_COMM_WORLD_SIZE");
  return is_several(count) || (count == nullptr && variable("PMIX_RANK") != nullptr);
}
bool by_other_mpi() { return !by_open_mpi() && is_several(variable("PMI_SIZE")); }

void* room_for(void* context, int rank, std::uint64_t length) {
  sim::Packed& message = static_cast<sim::Packed*>(context)[rank];
  message.resize(length);
  return message.data();
}

NerveMpiMessage view(const sim::Packed& message) { return {message.data(), message.size()}; }

}  // namespace

bool deaths_go_unnoticed() {
  const char* const recovery = variable("OMPI_MCA_orte_enable_recovery");
  return recovery != nullptr && std::string_view{recovery} != "0";
}

bool started_by_mpi() { return by_open_mpi() || by_other_mpi(); }

struct MpiRanks::Calls {
  decltype(&nerve_mpi_version) version;
  decltype(&nerve_mpi_begin) begin;
  decltype(&nerve_mpi_exchange) exchange;
  decltype(&nerve_mpi_gather) gather;
  decltype(&nerve_mpi_trouble) trouble;
  decltype(&nerve_mpi_send) send;
  decltype(&nerve_mpi_poll) poll;
  decltype(&nerve_mpi_end) end;
  decltype(&nerve_mpi_abort) abort;

  // False if a function is missing.
  bool find(void* library) {
    const auto find = [library](const char* name, auto& call) {
      call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(::dlsym(library, name));
      return call != nullptr;
    };
    return find("nerve_mpi_version", version) && find("nerve_mpi_begin", begin) &&
           find("nerve_mpi_exchange", exchange) && find("nerve_mpi_gather", gather) &&
           find("nerve_mpi_trouble", trouble) && find("nerve_mpi_send", send) &&
           find("nerve_mpi_poll", poll) && find("nerve_mpi_end", end) &&
           find("nerve_mpi_abort", abort) && version() == kMpiDoor;
  }
};

MpiRanks::MpiRanks(std::unique_ptr<Calls> calls) : calls_{std::move(calls)} {}

Result<std::unique_ptr<MpiRanks>, std::string> MpiRanks::find() {
  std::unique_ptr<MpiRanks> ranks;
  if (by_other_mpi()) {
    return Unexpected{std::string{
        "started by an MPI other than Open MPI; use mpirun.openmpi (apt-get install openmpi-bin)"}};
  }
  if (!by_open_mpi()) return ranks;
  const std::string file = (this_program().parent_path() / "libnerve-mpi.so").string();
  // Open MPI's plugins look for its symbols among the global ones.
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();  // NOLINT(concurrency-mt-unsafe): no threads yet
    return Unexpected{
        fmt::format("several ranks need {}, which cannot be loaded ({}); install libopenmpi-dev "
                    "and build Nerve "
                    "again (./nerve build), or run it without mpirun",
                    file, why)};
  }
  auto calls = std::make_unique<Calls>();
  if (!calls->find(library)) {
    return Unexpected{fmt::format("{} is of another version; build Nerve again", file)};
  }
  ranks.reset(new MpiRanks{std::move(calls)});
  int rank = 0;
  int count = 1;
  if (ranks->calls_->begin(&rank, &count) == 0) {
    return Unexpected{std::string{ranks->calls_->trouble()}};
  }
  ranks->rank_ = static_cast<std::uint32_t>(rank);
  ranks->count_ = static_cast<std::uint32_t>(count);
  if (count == 1) return std::unique_ptr<MpiRanks>{};
  return ranks;
}

MpiRanks::~MpiRanks() {
  if (count_ == 0 || leaves_) return;  // MPI did not start, or would wait for ever
  if (failed_) calls_->abort(kExitFailed);
  calls_->end();
}

bool MpiRanks::exchange(std::span<const sim::Packed> out, std::span<sim::Packed> in) {
  std::vector<NerveMpiMessage> views;
  views.reserve(out.size());
  for (const sim::Packed& one : out) views.push_back(view(one));
  if (!failed_) failed_ = calls_->exchange(views.data(), room_for, in.data()) == 0;
  return !failed_;
}

bool MpiRanks::gather(const sim::Packed& mine, std::span<sim::Packed> all) {
  if (!failed_) failed_ = calls_->gather(view(mine), room_for, all.data()) == 0;
  return !failed_;
}

std::string MpiRanks::trouble() const { return failed_ ? calls_->trouble() : ""; }

void MpiRanks::send(std::uint32_t to, const sim::Packed& message) {
  if (calls_->send(static_cast<int>(to), view(message)) == 0) failed_ = true;
}

std::optional<std::uint32_t> MpiRanks::poll(sim::Packed& message) {
  int from = 0;
  const auto room = [](void* context, int, std::uint64_t length) -> void* {
    auto& into = *static_cast<sim::Packed*>(context);
    into.resize(length);
    return into.data();
  };
  const int found = calls_->poll(room, &message, &from);
  if (found < 0) failed_ = true;
  return found > 0 ? std::optional{static_cast<std::uint32_t>(from)} : std::nullopt;
}

}  // namespace nerve::cli
