#include "copier/client.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/planted.h"
#include "copier/clients.h"
#include "host/peers/shared_memory.h"
#include "host/runtime/clock.h"

namespace nerve::copier {
namespace {

using cuda::Status;
using host::copier::Command;
using host::copier::Outcome;
using host::copier::Reply;
using host::copier::Request;
using host::copier::What;
using Kind = host::GpuCopies::Kind;

// Programs send small messages with pauses of some microseconds. To wake up takes longer.
constexpr Duration kAwakeFor = std::chrono::microseconds{200};

// Longer than a copy of this length takes on any GPU that is free.
Duration slow_from(std::uint64_t length) {
  constexpr std::uint64_t kBytesPerMicrosecond = 20'000;
  return std::chrono::milliseconds{1} +
         std::chrono::microseconds{static_cast<std::int64_t>(length / kBytesPerMicrosecond)};
}

bool between_gpus(Kind kind) { return kind == Kind::kSend || kind == Kind::kTake; }

// The fields of a command are another process's: nothing outside of the staging area is touched.
std::optional<host::GpuCopies::Copy> checked(const Command& command) {
  if (command.kind < static_cast<std::uint32_t>(Kind::kFetch) ||
      command.kind > static_cast<std::uint32_t>(Kind::kTake) || command.done >= host::kGpuSlots ||
      command.after > host::kGpuSlots || command.length == 0) {
    return std::nullopt;
  }
  const auto kind = static_cast<Kind>(command.kind);
  if (!between_gpus(kind) && (command.other > host::kGpuStagingSize ||
                              command.length > host::kGpuStagingSize - command.other)) {
    return std::nullopt;
  }
  host::GpuCopies::Copy copy{.kind = kind,
                             .gpu = command.gpu,
                             .other = command.other,
                             .length = command.length,
                             .done = command.done,
                             .after = {}};
  if (command.after > 0) copy.after = command.after - 1;
  return copy;
}

}  // namespace

host::copier::Area& Client::area() const {
  return *std::launder(reinterpret_cast<host::copier::Area*>(memory_.bytes().data()));
}

// Another process writes the number: no more is believed than fits into the ring.
std::uint64_t Client::given() const {
  if (!joined_.load(std::memory_order_acquire)) return 0;
  return std::min(area().begun.load(std::memory_order_seq_cst), ended() + host::copier::kCommands);
}

void Client::refuse(const std::string& why) {
  Reply reply{.refused = 1};
  why.copy(reply.why.data(), reply.why.size() - 1);
  (void)host::send_message(socket_.get(), {reinterpret_cast<std::byte*>(&reply), sizeof reply}, {});
}

void Client::reply(std::uint64_t value) {
  Reply reply{.value = value};
  (void)host::send_message(socket_.get(), {reinterpret_cast<std::byte*>(&reply), sizeof reply}, {});
}

std::optional<cuda::Device> Client::find_device(const cuda::Uuid& uuid) const {
  int count = 0;
  if (driver_.sharing->device_get_count(&count) != Status::kSuccess) return std::nullopt;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cuda::Device device{};
    cuda::Uuid found{};
    if (driver_.device_get(&device, ordinal) == Status::kSuccess &&
        driver_.sharing->device_get_uuid(&found, device) == Status::kSuccess && found == uuid) {
      return device;
    }
  }
  return std::nullopt;
}

bool Client::join() {
  constexpr std::chrono::milliseconds kPatience{5000};
  auto asked = host::receive_message(socket_.get(), kPatience);
  Request request;
  if (!asked || asked->bytes.size() != sizeof request || asked->descriptors.size() != 2) {
    refuse("not a request to join");
    return false;
  }
  std::memcpy(&request, asked->bytes.data(), sizeof request);
  auto memory = host::map_shared_memory(asked->descriptors[0].get(), host::copier::kAreaSize,
                                        host::copier::kAreaSize, host::Others::kWrite);
  if (request.version != host::copier::kVersion || request.what != What::kJoin || !memory) {
    refuse("not a request to join");
    return false;
  }
  memory_ = std::move(*memory);
  const auto device = find_device(request.device);
  if (!device) {
    refuse("the copier does not see this GPU");
    return false;
  }
  device_ = *device;
  cuda::Context context{};
  Status status = driver_.device_primary_ctx_retain(&context, device_);
  if (status == Status::kSuccess) {
    current_.emplace(driver_, context);
    copies_ = std::make_unique<host::CudaCopies>(driver_, context);
    status = copies_->prepare(memory_.bytes().data() + host::copier::kStagingAt);
  }
  if (status != Status::kSuccess) {
    refuse(cuda::describe(driver_, status));
    return false;
  }
  wake_ = std::move(asked->descriptors[1]);
  answered_ = 1;
  joined_.store(true, std::memory_order_release);
  reply(all_.identity());
  return true;
}

void Client::serve() {
  if (join()) work();
  current_.reset();  // other threads may hold this object for longer
}

void Client::work() {
  Time busy = host::now();
  for (;;) {
    bool moved = step();
    if (area().requests.load(std::memory_order_acquire) != answered_) {
      if (!answer()) break;
      moved = true;
    }
    if (moved) {
      busy = host::now();
      continue;
    }
    const bool idle = fetches_.empty() && writes_.empty();
    if (idle && host::now() - busy > kAwakeFor) {
      if (!host::is_open(socket_.get())) break;
      sleep();
      busy = host::now();
      continue;
    }
    ::sched_yield();
  }
  while (!fetches_.empty() || !writes_.empty()) (void)step();
  joined_ = false;
  for (const std::uint64_t address : opened_) imports_.close(address, [] { ::sched_yield(); });
  (void)copies_->end();
}

// First everything that can begin: the GPU works while we ask.
bool Client::step() {
  bool moved = false;
  const std::uint64_t begun = given();
  while (taken_ < begun) {
    take_command();
    moved = true;
  }
  for (Queue* const queue : {&fetches_, &writes_}) {
    while (finish(*queue)) moved = true;
  }
  if (moved) note_ended();
  return moved;
}

void Client::take_command() {
  const Command command = area().commands[taken_ % host::copier::kCommands];
  const std::uint64_t number = ++taken_;
  if (const auto copy = checked(command)) return begin(*copy, number);
  if (command.done < host::kGpuSlots) publish(number, command.done, Outcome::kFailed);
}

void Client::begin(const GpuCopies::Copy& copy, std::uint64_t number) {
  UnderWay started{.number = number,
                   .slot = copy.done,
                   .length = copy.length,
                   .begun = host::now(),
                   .memory = {}};
  started.memory[0] = imports_.enter(copy.gpu, copy.length);
  if (between_gpus(copy.kind)) started.memory[1] = imports_.enter(copy.other, copy.length);
  const bool allowed =
      started.memory[0] != nullptr && (!between_gpus(copy.kind) || started.memory[1] != nullptr);
  const Status status = allowed ? copies_->begin(copy) : Status::kInvalidValue;
  if (cuda::ends_context(status)) std::_Exit(1);  // every program notices
  if (status != Status::kSuccess) {
    leave(started);
    return publish(number, copy.done, Outcome::kFailed);
  }
  if (planted(Bug::kCopyEndsEarly)) publish(number, copy.done, Outcome::kDone);
  (copy.kind == Kind::kFetch ? fetches_ : writes_).push_back(started);
}

bool Client::finish(Queue& queue) {
  if (queue.empty()) return false;
  const UnderWay oldest = queue.front();
  const Status status = copies_->query(oldest.slot);
  if (status == Status::kNotReady) return false;
  if (status != Status::kSuccess) std::_Exit(1);
  queue.pop_front();
  leave(oldest);
  const Time end = host::now();
  const Duration took = end - std::max(oldest.begun, finished_);
  finished_ = end;
  publish(oldest.number, oldest.slot,
          took > slow_from(oldest.length) ? Outcome::kSlow : Outcome::kDone);
  return true;
}

void Client::leave(const UnderWay& copy) {
  for (Imports::Memory* const memory : copy.memory) {
    if (memory != nullptr) imports_.leave(*memory);
  }
}

void Client::publish(std::uint64_t number, GpuCopies::Slot slot, Outcome outcome) {
  area().results[slot].store(number * 4 + static_cast<std::uint64_t>(outcome),
                             std::memory_order_release);
}

void Client::note_ended() {
  std::uint64_t ended = taken_;
  for (const Queue* queue : {&fetches_, &writes_}) {
    if (!queue->empty()) ended = std::min(ended, queue->front().number - 1);
  }
  ended_.store(ended, std::memory_order_release);
}

void Client::sleep() {
  host::copier::Area& shared = area();
  shared.sleeps.store(1, std::memory_order_seq_cst);
  if (shared.begun.load(std::memory_order_seq_cst) == taken_ &&
      shared.requests.load(std::memory_order_seq_cst) == answered_) {
    std::array<pollfd, 2> both{{{.fd = socket_.get(), .events = POLLIN | POLLRDHUP, .revents = 0},
                                {.fd = wake_.get(), .events = POLLIN, .revents = 0}}};
    (void)::poll(both.data(), both.size(), -1);
    eventfd_t count{};
    (void)::eventfd_read(wake_.get(), &count);
  }
  shared.sleeps.store(0, std::memory_order_seq_cst);
}

bool Client::answer() {
  // It is announced just after it is sent.
  auto asked = host::receive_message(socket_.get(), std::chrono::milliseconds{0});
  if (!asked) return host::is_open(socket_.get());
  ++answered_;
  Request request;
  if (asked->bytes.size() != sizeof request) return false;
  std::memcpy(&request, asked->bytes.data(), sizeof request);
  switch (request.what) {
    case What::kImport: {
      link::Descriptor file;
      if (!asked->descriptors.empty()) file = std::move(asked->descriptors.front());
      Status why{};
      const std::uint64_t at = imports_.open(copies_->context(), device_, request, file, why);
      if (at == 0) {
        refuse(cuda::describe(driver_, why));
      } else {
        opened_.push_back(at);
        reply(at);
      }
      return true;
    }
    case What::kForget:
      if (std::erase(opened_, request.address) > 0) {
        settle();  // what others have requested, and we have not begun
        imports_.close(request.address, [&] { (void)step(); });
      }
      reply(0);
      return true;
    case What::kSettle:
      settle();
      reply(0);
      return true;
    case What::kJoin:
      break;
  }
  refuse("not a request");
  return true;
}

void Client::settle() {
  for (const std::shared_ptr<Client>& other : all_.all()) {
    const std::uint64_t given = other->given();
    // Its program may have been stopped between a command and the wake-up.
    if (other->ended() < given) (void)::eventfd_write(other->wake_.get(), 1);
    while (other->joined_.load(std::memory_order_acquire) && other->ended() < given) {
      if (!step()) ::sched_yield();
    }
  }
}

}  // namespace nerve::copier
