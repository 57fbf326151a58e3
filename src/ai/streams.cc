#include "ai/streams.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "ai/message.h"

namespace nerve::ai {
namespace {

// All ranks together use at most this much scratch memory in one of them.
constexpr std::size_t kScratchLimit = 32U << 20;
constexpr std::size_t kLargestSlot = 128U << 10;
constexpr std::size_t kSmallestSlot = 16U << 10;

std::size_t slot_bytes_for(int size) {
  std::size_t bytes = kLargestSlot;
  while (bytes > kSmallestSlot &&
         bytes * Streams::kSlots * static_cast<std::size_t>(size) > kScratchLimit) {
    bytes /= 2;
  }
  return bytes;
}

}  // namespace

Streams::Streams(Engine& engine)
    : engine_{engine},
      lanes_{engine.transport().lanes()},
      slot_bytes_{slot_bytes_for(engine.size())},
      memory_{std::make_unique<MemoryCache>(
          engine.transport(), [this](const Registration& memory) { forget(memory); })},
      out_(static_cast<std::size_t>(engine.size())),
      in_(static_cast<std::size_t>(engine.size())),
      entries_(kAnnouncedEntries) {
  for (Inbound& one : in_) {
    one.chunks.resize(static_cast<std::size_t>(lanes_));
    one.direct.resize(static_cast<std::size_t>(lanes_));
  }
  copy_sent_.assign(kCopies, std::vector<std::uint64_t>(out_.size()));
  engine.listen([this](Notice notice, int peer, int lane, std::uint32_t value) {
    handle(notice, peer, lane, value);
  });
}

Streams::~Streams() {
  memory_.reset();
  if (scratch_memory_) engine_.transport().remove_memory(*scratch_memory_);
  if (scratch_ != nullptr) ::munmap(scratch_, scratch_bytes_);
}

Status Streams::create() {
  scratch_bytes_ = inbox_bytes() * out_.size() + kCopies * kCopied + kReadArea;
  void* mapped =
      ::mmap(nullptr, scratch_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    return failure(Error::Kind::kSystem, "cannot allocate " + std::to_string(scratch_bytes_) +
                                             " bytes: " + std::strerror(errno));
  }
  scratch_ = static_cast<std::byte*>(mapped);
  auto memory =
      engine_.transport().add_memory(host_memory(scratch_), scratch_bytes_, Lifetime::kFixed);
  if (!memory) return passed_on(memory);
  scratch_memory_ = std::move(*memory);
  return Done{};
}

std::string Streams::address() const {
  MessageWriter writer;
  writer.number(reinterpret_cast<std::uint64_t>(scratch_)).number(slot_bytes_).number(kSlots);
  for (const std::uint32_t key : scratch_memory_->remote_keys) writer.number(key);
  return writer.as_text();
}

Status Streams::connect(int peer, const std::string& address) {
  MessageReader reader{address};
  const std::uint64_t scratch = reader.number();
  const std::uint64_t slot = reader.number();
  const std::uint64_t slots = reader.number();
  Keys keys{};
  for (std::uint32_t& key : keys) key = static_cast<std::uint32_t>(reader.number());
  if (!reader.complete() || slot != slot_bytes_ || slots != kSlots) {
    return failure(Error::Kind::kProtocol,
                   "rank " + std::to_string(peer) +
                       " uses other slots of scratch memory; install the same release on all hosts",
                   peer);
  }
  out(peer).scratch = scratch + static_cast<std::uint64_t>(engine_.rank()) * inbox_bytes();
  out(peer).keys = keys;
  return Done{};
}

void Streams::handle(Notice notice, int peer, int lane, std::uint32_t value) {
  Inbound& from = in(peer);
  switch (notice) {
    case Notice::kChunk:
      ++from.chunks[static_cast<std::size_t>(lane)];
      return;
    case Notice::kDirect:
      ++from.direct[static_cast<std::size_t>(lane)];
      return;
    case Notice::kCredit:
      out(peer).free = std::min<std::uint64_t>(out(peer).free + value, kSlots);
      return;
    case Notice::kReady:
      from.ready.push_back(value);
      return;
    case Notice::kUser:
      return;
  }
}

// --- chunks --------------------------------------------------------------------------------------

Status Streams::send(int peer, const std::byte* data, std::size_t length,
                     const Registration* memory, std::optional<Counter> counter) {
  Outbound& to = out(peer);
  if (Status credit = engine_.wait(peer, [&] { return to.free > 0; }); !credit) return credit;
  const std::uint64_t sequence = to.chunks++;
  --to.free;
  if (memory == scratch_memory_.get()) {
    const std::size_t copy = static_cast<std::size_t>(data - inbox(engine_.size())) / kCopied;
    copy_sent_[copy][static_cast<std::size_t>(peer)] = to.chunks;
  }
  const std::uint64_t offset = kAnnouncedEntries * kAnnouncedSize + sequence % kSlots * slot_bytes_;
  return engine_.put({.peer = peer,
                      .lane = lane_of(sequence),
                      .local = const_cast<std::byte*>(data),
                      .length = length,
                      .registration = memory,
                      .remote = to.scratch + offset,
                      .keys = to.keys,
                      .immediate = immediate_of(Notice::kChunk, 0)},
                     counter);
}

bool Streams::arrived(int peer) const {
  const Inbound& from = in(peer);
  const auto lane = static_cast<std::size_t>(lane_of(from.received));
  return from.chunks[lane] > from.received / static_cast<std::uint64_t>(lanes_);
}

Result<std::byte*, Error> Streams::receive(int peer) {
  if (Status here = engine_.wait(peer, [&] { return arrived(peer); }); !here) {
    return passed_on(here);
  }
  return slot(peer, in(peer).received++);
}

Status Streams::release(int peer) {
  Inbound& from = in(peer);
  ++from.released;
  if (++from.owed < kSlots / 2) return Done{};
  const auto owed = static_cast<std::uint32_t>(from.owed);
  from.owed = 0;
  return engine_.notify(peer, 0, immediate_of(Notice::kCredit, owed));
}

// A copy may be reused when every peer has consumed what was sent from it. Mostly its credits show
// that already; else an empty request that follows the chunk on its lane shows it.
Result<Streams::Copy, Error> Streams::copy() {
  const std::size_t index = next_copy_++ % kCopies;
  for (int peer = 0; peer < engine_.size(); ++peer) {
    const std::uint64_t needed = copy_sent_[index][static_cast<std::size_t>(peer)];
    if (out(peer).consumed() >= needed) continue;
    const Counter counter = engine_.start_counting();
    Status done = engine_.put({.peer = peer, .lane = lane_of(needed - 1)}, counter);
    if (done) {
      done = engine_.wait(Engine::kAnyRank, [&] { return engine_.outstanding(counter) == 0; });
    }
    engine_.stop_counting(counter);
    if (!done) return passed_on(done);
  }
  return Copy{inbox(engine_.size()) + index * kCopied, scratch_memory_.get()};
}

// Nerve needs some milliseconds to map the memory of a new peer.
Result<bool, Error> Streams::copies_directly(int peer) {
  constexpr int kTries = 10;
  constexpr std::chrono::microseconds kAtOnce{5};
  bool direct = false;
  for (int tries = 0; tries < kTries && !direct; ++tries) {
    if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    engine_.step();
    const Counter counter = engine_.start_counting();
    Status done = engine_.get({.peer = peer,
                               .local = read_area().data,
                               .length = kReadArea / 16,
                               .registration = read_area().memory,
                               .remote = out(peer).scratch,
                               .keys = out(peer).keys,
                               .bulk = true},
                              counter);
    const Clock::time_point posted = Clock::now();
    engine_.step();
    direct = done && engine_.outstanding(counter) == 0 && Clock::now() - posted < kAtOnce;
    if (done) done = engine_.wait(peer, [&] { return engine_.outstanding(counter) == 0; });
    engine_.stop_counting(counter);
    if (!done) return passed_on(done);
  }
  return direct;
}

// --- direct data ---------------------------------------------------------------------------------

void Streams::forget(const Registration& memory) {
  for (Entry& entry : entries_) {
    if (entry.memory == &memory) entry = {};
  }
}

std::size_t Streams::entry_for(const std::byte* data, std::size_t length,
                               const Registration& memory) {
  std::size_t oldest = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.data == data && entry.length == length && entry.memory == &memory) return i;
    if (entry.used < entries_[oldest].used) oldest = i;
  }
  entries_[oldest] = {
      .data = data, .length = length, .memory = &memory, .known = std::vector<bool>(out_.size())};
  return oldest;
}

// The entry is written before the notification, on the same lane.
Status Streams::announce(int peer, const std::byte* data, std::size_t length,
                         const Registration& memory) {
  const std::size_t index = entry_for(data, length, memory);
  Entry& entry = entries_[index];
  entry.used = ++clock_;
  if (!entry.known[static_cast<std::size_t>(peer)]) {
    Announced announced{reinterpret_cast<std::uint64_t>(data), length, memory.remote_keys,
                        memory.gpu != nullptr ? 1U : 0U};
    static_assert(sizeof announced <= kInline && sizeof announced <= kAnnouncedSize);
    Status put = engine_.put({.peer = peer,
                              .local = reinterpret_cast<std::byte*>(&announced),
                              .length = sizeof announced,
                              .remote = out(peer).scratch + index * kAnnouncedSize,
                              .keys = out(peer).keys},
                             std::nullopt);
    if (!put) return put;
    entry.known[static_cast<std::size_t>(peer)] = true;
  }
  return engine_.notify(peer, 0, immediate_of(Notice::kReady, static_cast<std::uint32_t>(index)));
}

Result<Streams::Announced, Error> Streams::wait_announced(int peer) {
  Inbound& from = in(peer);
  if (Status here = engine_.wait(peer, [&] { return !from.ready.empty(); }); !here) {
    return passed_on(here);
  }
  const std::size_t index = from.ready.front() % kAnnouncedEntries;
  from.ready.pop_front();
  Announced announced;
  std::memcpy(&announced, inbox(peer) + index * kAnnouncedSize, sizeof announced);
  return announced;
}

Status Streams::send_direct(int peer, const std::byte* data, std::size_t length,
                            const Registration& memory, const Announced& to, std::size_t offset,
                            Counter counter) {
  const std::uint64_t sequence = out(peer).direct++;
  return engine_.put({.peer = peer,
                      .lane = lane_of(sequence),
                      .local = const_cast<std::byte*>(data),
                      .length = length,
                      .registration = &memory,
                      .remote = to.address + offset,
                      .keys = to.keys,
                      .immediate = immediate_of(Notice::kDirect, 0),
                      .gpu = to.gpu != 0},
                     counter);
}

Status Streams::notify_direct(int peer) {
  const std::uint64_t sequence = out(peer).direct++;
  return engine_.notify(peer, lane_of(sequence), immediate_of(Notice::kDirect, 0));
}

Status Streams::receive_direct(int peer) {
  Inbound& from = in(peer);
  const std::uint64_t next = from.direct_received++;
  const auto lane = static_cast<std::size_t>(lane_of(next));
  const std::uint64_t needed = next / static_cast<std::uint64_t>(lanes_) + 1;
  return engine_.wait(peer, [&] { return from.direct[lane] >= needed; });
}

}  // namespace nerve::ai
