#include "host/gpu/copier_client.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/planted.h"
#include "host/gpu/copier_start.h"
#include "host/gpu/gpu_export.h"
#include "host/peers/shared_memory.h"
#include "host/peers/unix_socket.h"
#include "host/runtime/clock.h"

namespace nerve::host {

using copier::Reply;
using copier::Request;
using copier::What;

std::string copier::socket_name() {
  const char* const own = ::secure_getenv("_NERVE_GPU_COPIER_NAME");
  return "nerve-gpu-copier." + std::to_string(::geteuid()) + "." + std::to_string(kVersion) +
         (own != nullptr ? std::string{"."} + own : "");
}

std::unique_ptr<CopierClient> CopierClient::join(const cuda::Uuid& device,
                                                 const std::string& program, std::string& why) {
  // A copier without programs ends. One that is about to end may still accept a connection.
  constexpr int kTries = 3;
  for (int tried = 0; tried < kTries; ++tried) {
    std::unique_ptr<CopierClient> made{new CopierClient};
    made->socket_ = reach_copier(program, why);
    if (!made->socket_) return nullptr;
    if (made->join(device, why)) return made;
  }
  return nullptr;
}

bool CopierClient::join(const cuda::Uuid& device, std::string& why) {
  auto made = make_shared_memory(copier::kAreaSize, Others::kWrite);
  wake_ = Descriptor{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!made || !wake_) {
    why = std::string{"no shared memory for it: "} + std::strerror(errno);
    return false;
  }
  memory_ = std::move(made->mapping);
  // The child of a fork() has no part in it.
  (void)::madvise(memory_.bytes().data(), copier::kAreaSize, MADV_DONTFORK);
  Request request{.what = What::kJoin};
  request.device = device;
  Reply reply;
  const std::array descriptors{made->descriptor.get(), wake_.get()};
  if (!ask(request, descriptors, reply)) {
    why = "it ended or did not answer";
    return false;
  }
  if (reply.refused != 0) why = reply.why.data();
  identity_ = reply.value;
  return reply.refused == 0;
}

void CopierClient::leave_to_parent() {
  GpuCopies::leave_to_parent();
  memory_.forget();  // the child does not have it
}

copier::Area& CopierClient::area() const {
  return *std::launder(reinterpret_cast<copier::Area*>(memory_.bytes().data()));
}

bool CopierClient::ask(const Request& request, std::span<const int> descriptors, Reply& reply) {
  // Opening a CUDA context takes up to some seconds on a busy machine.
  constexpr std::chrono::milliseconds kPatience{30'000};
  const Bytes bytes{reinterpret_cast<const std::byte*>(&request), sizeof request};
  if (!send_message(socket_.get(), bytes, descriptors)) return false;
  area().requests.fetch_add(1, std::memory_order_release);
  (void)::eventfd_write(wake_.get(), 1);
  const auto answer = receive_message(socket_.get(), kPatience);
  if (!answer || answer->bytes.size() != sizeof reply) return false;
  std::memcpy(&reply, answer->bytes.data(), sizeof reply);
  reply.why.back() = 0;
  return true;
}

CopierClient::Import* CopierClient::find(const GpuRange& allocation) {
  // The address alone is not enough: the memory may have been freed, and its address used again.
  const auto same = [&](const Import& known) {
    return known.allocation.base == allocation.base && known.allocation.size == allocation.size &&
           (known.allocation.buffer == allocation.buffer || planted(Bug::kUsesFreedImport));
  };
  const auto found = std::ranges::find_if(imports_, same);
  return found != imports_.end() ? &*found : nullptr;
}

bool CopierClient::import(const cuda::Driver& driver, const GpuRange& allocation,
                          std::string& why) {
  const std::scoped_lock asking{asking_};
  {
    const std::scoped_lock guard{guard_};
    if (Import* const known = find(allocation)) {
      ++known->uses;
      return true;
    }
  }
  const auto exported = export_gpu_memory(driver, allocation);
  if (!exported) {
    why = "this allocation cannot be shared with another process";
    return false;
  }
  Request request{.what = What::kImport};
  request.handle = exported->handle;
  request.size = allocation.size;
  const int descriptor = exported->descriptor.get();
  Reply reply;
  if (!ask(request, {&descriptor, exported->descriptor ? 1U : 0U}, reply)) {
    why = "the copier has ended";
    return false;
  }
  if (reply.refused != 0) {
    why = reply.why.data();
    return false;
  }
  const std::scoped_lock guard{guard_};
  // The newest first: it is the one that exists, if two have the same address.
  imports_.insert(imports_.begin(), {.allocation = allocation, .address = reply.value, .uses = 1});
  return true;
}

void CopierClient::forget(const GpuRange& allocation) {
  const std::scoped_lock asking{asking_};
  Request request{.what = What::kForget};
  {
    const std::scoped_lock guard{guard_};
    Import* const known = find(allocation);
    if (known == nullptr || --known->uses > 0) return;
    request.address = known->address;
    imports_.erase(imports_.begin() + (known - imports_.data()));
  }
  Reply reply;
  if (!dead()) (void)ask(request, {}, reply);
}

void CopierClient::settle() {
  const std::scoped_lock asking{asking_};
  Reply reply;
  if (!dead()) (void)ask({.what = What::kSettle}, {}, reply);
}

const CopierClient::Import* CopierClient::at(std::uint64_t address) const {
  // Ranges that a program registers are rounded to whole pages, and may begin before the memory.
  constexpr std::uint64_t kPage = std::uint64_t{64} << 10U;
  const auto contains = [&](const Import& known, std::uint64_t before) {
    return address + before >= known.allocation.base &&
           address < known.allocation.base + known.allocation.size;
  };
  for (const std::uint64_t before : {std::uint64_t{}, kPage}) {
    for (const Import& known : imports_) {
      if (contains(known, before)) return &known;
    }
  }
  return nullptr;
}

std::uint64_t CopierClient::address_of(std::uint64_t address) const {
  const std::scoped_lock guard{guard_};
  const Import* const known = at(address);
  return known != nullptr ? known->address + (address - known->allocation.base) : 0;
}

// Without MPS, a GPU alternates between processes in slices of milliseconds, and a copy between two
// GPU memories needs one. Those through host memory do not.
void CopierClient::note_speed(bool slow) {
  constexpr unsigned kBusy = 3;
  constexpr Duration kAvoid = std::chrono::milliseconds{100};
  slow_ = slow ? slow_ + 1 : 0;
  if (slow_ < kBusy) return;
  slow_ = 0;
  avoid_until_ = now() + kAvoid;
}

bool CopierClient::begin(const Copy& copy) {
  const bool between = copy.kind == Kind::kSend || copy.kind == Kind::kTake;
  if (between && now() < avoid_until_) return false;
  const std::uint64_t gpu = address_of(copy.gpu);
  if (gpu == 0) {
    report_failure(copy, "it is not registered");
    return false;
  }
  copier::Area& shared = area();
  shared.commands[begun_ % copier::kCommands] = {.kind = static_cast<std::uint32_t>(copy.kind),
                                                 .done = copy.done,
                                                 .after = copy.after ? *copy.after + 1 : 0,
                                                 .reserved = 0,
                                                 .gpu = gpu,
                                                 .other = copy.other,
                                                 .length = copy.length,
                                                 .unused = {}};
  last_[copy.done] = ++begun_;
  copies_[copy.done] = copy;
  // Either the copier sees the command before it sleeps, or it is seen to sleep.
  shared.begun.store(begun_, std::memory_order_seq_cst);
  if (shared.sleeps.load(std::memory_order_seq_cst) != 0) (void)::eventfd_write(wake_.get(), 1);
  return true;
}

GpuCopies::Progress CopierClient::progress(Slot slot) {
  const std::uint64_t result = area().results[slot].load(std::memory_order_acquire);
  if (result / 4 == last_[slot]) {
    unanswered_ = 0;
    const auto outcome = static_cast<copier::Outcome>(result % 4);
    Copy& copy = copies_[slot];
    if (outcome != copier::Outcome::kFailed) {
      const bool between = copy.kind == Kind::kSend || copy.kind == Kind::kTake;
      if (between) note_speed(outcome == copier::Outcome::kSlow);
      copy.kind = Kind::kFetch;  // counted
      return Progress::kDone;
    }
    report_failure(copies_[slot], "the copier refused it");
    return Progress::kFailed;
  }
  constexpr unsigned kLookEvery = 4096;  // a system call
  if (++unanswered_ % kLookEvery == 0 && !is_open(socket_.get())) {
    give_up("the GPU copier has ended");
    return Progress::kFailed;
  }
  return Progress::kLater;
}

}  // namespace nerve::host
