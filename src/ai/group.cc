#include "ai/group.h"

#include <algorithm>
#include <thread>

#include "ai/collectives.h"
#include "ai/machine.h"
#include "ai/message.h"
#include "ai/staged_reduce.h"

namespace nerve::ai {
namespace {

constexpr std::size_t kLongestTransfer = 1U << 30;
// Transfers are spread over the lanes from this length on.
constexpr std::size_t kSpread = 256U << 10;
constexpr std::chrono::milliseconds kFarewell{2000};

Status check(const GroupOptions& options) {
  const auto wrong = [](std::string text) { return failure(Error::Kind::kUsage, std::move(text)); };
  if (options.size < 1 || options.size > kMaxRanks) {
    return wrong("a group of " + std::to_string(options.size) + " ranks; the limit is " +
                 std::to_string(kMaxRanks));
  }
  if (options.rank < 0 || options.rank >= options.size) {
    return wrong("rank " + std::to_string(options.rank) + " of " + std::to_string(options.size) +
                 " ranks; ranks start at 0");
  }
  if (options.transport != "rdma" && options.transport != "tcp") {
    return wrong("no transport is called '" + options.transport + "'; there are rdma and tcp");
  }
  if (options.transport == "tcp" && options.rendezvous.starts_with("rdma://")) {
    return wrong("the transport tcp cannot be joined at " + options.rendezvous +
                 "; join at tcp://, or choose the transport rdma");
  }
  if (options.qps_per_peer < 1 || options.qps_per_peer > kMaxLanes) {
    return wrong(std::to_string(options.qps_per_peer) + " QPs per peer; choose 1 to " +
                 std::to_string(kMaxLanes));
  }
  return Done{};
}

}  // namespace

std::string Buffer::key() const {
  MessageWriter writer;
  writer.number(reinterpret_cast<std::uint64_t>(memory_->address)).number(memory_->length);
  writer.number(memory_->gpu != nullptr ? 1 : 0);
  for (const std::uint32_t key : memory_->remote_keys) writer.number(key);
  return writer.as_text();
}

Group::Group(Mesh mesh, const GroupOptions& options)
    : engine_{std::move(mesh), options.timeout, options.interrupted} {}

Result<std::unique_ptr<Group>, Error> Group::join(const GroupOptions& options) {
  if (Status valid = check(options); !valid) return passed_on(valid);
  const Patience patience{Clock::now() + options.timeout, options.interrupted};
  auto rendezvous = open_rendezvous(options.size == 1 ? "tcp://127.0.0.1:0" : options.rendezvous,
                                    options.store, {options.rank, options.size}, patience);
  if (!rendezvous) return passed_on(rendezvous);
  const std::size_t links =
      options.transport == "tcp" ? static_cast<std::size_t>(options.qps_per_peer) + 1 : 1;
  auto mesh =
      Mesh::connect({options.rank, options.size}, **rendezvous, options.host, links, patience);
  if (!mesh) return passed_on(mesh);
  std::unique_ptr<Group> group{new Group{std::move(*mesh), options}};
  if (Status connected = group->connect(options, patience); !connected) {
    return passed_on(connected);
  }
  return group;
}

Status Group::connect(const GroupOptions& options, const Patience& patience) {
  if (options.transport == "tcp") {
    engine_.use(open_tcp_transport(engine_.mesh(), options.qps_per_peer));
  } else {
    auto transport =
        open_verbs_transport({options.rank, options.size},
                             {.devices = options.devices, .qps_per_peer = options.qps_per_peer});
    if (!transport) return passed_on(transport);
    engine_.use(std::move(*transport));
  }
  streams_ = std::make_unique<Streams>(engine_);
  if (Status created = streams_->create(); !created) return created;
  std::vector<Machine> machines(static_cast<std::size_t>(size()), Machine::here());
  auto addresses = engine_.mesh().exchange(
      [&](int peer) {
        MessageWriter writer;
        return writer.text(engine_.transport().address_for(peer))
            .text(streams_->address())
            .text(machines[static_cast<std::size_t>(rank())].as_text())
            .as_text();
      },
      patience);
  if (!addresses) return passed_on(addresses);
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    MessageReader reader{(*addresses)[static_cast<std::size_t>(peer)]};
    const std::string transport = reader.text();
    const std::string scratch = reader.text();
    auto machine = Machine::read(reader.text(), peer);
    if (!machine) return passed_on(machine);
    machines[static_cast<std::size_t>(peer)] = std::move(*machine);
    Status connected = engine_.transport().connect(peer, transport);
    if (connected) connected = streams_->connect(peer, scratch);
    if (!connected) return connected;
  }
  shares_cpus_ = more_ranks_than_cpus(machines);
  if (shares_cpus_) engine_.transport().share_cpus();
  // All are connected before any sends.
  auto ready = engine_.mesh().exchange([](int) { return std::string{"ready"}; }, patience);
  if (!ready) return passed_on(ready);
  if (Status tried = try_direct_copies(patience); !tried) return tried;
  engine_.mesh().end_exchanges();
  return Done{};
}

// All ranks must come to the same conclusion, because it decides how they reduce.
Status Group::try_direct_copies(const Patience& patience) {
  bool direct = engine_.transport().may_copy_directly();
  for (int peer = 0; direct && peer < size(); ++peer) {
    if (peer == rank()) continue;
    auto tried = streams_->copies_directly(peer);
    if (!tried) return passed_on(tried);
    direct = *tried;
    if (direct) engine_.transport().set_direct(peer);
  }
  auto all =
      engine_.mesh().exchange([&](int) { return std::string{direct ? "d" : "p"}; }, patience);
  if (!all) return passed_on(all);
  for (int peer = 0; peer < size(); ++peer) {
    if (peer != rank()) direct = direct && (*all)[static_cast<std::size_t>(peer)] == "d";
  }
  copies_directly_ = direct;
  return Done{};
}

Group::~Group() {
  close();
  staging_.reset();
  streams_.reset();
}

void Group::close() {
  if (std::exchange(closed_, true)) return;
  if (!engine_.failed() && streams_ && size() > 1) {
    flush();
  } else {
    engine_.mesh().leave();
  }
  if (!engine_.failed()) engine_.fail({Error::Kind::kUsage, "the group is closed", rank()});
}

// Until what was sent has arrived, then until the peers leave as well: they may still wait for the
// acknowledgements of what they sent.
void Group::flush() {
  const Clock::time_point end = Clock::now() + kFarewell;
  const Counter counter = engine_.start_counting();
  for (int peer = 0; peer < size(); ++peer) {
    for (int lane = 0; peer != rank() && lane < engine_.transport().lanes(); ++lane) {
      if (!engine_.transport().has_room(peer, lane)) continue;
      Status posted = engine_.put({.peer = peer, .lane = lane}, counter);
      if (!posted) break;
    }
  }
  const auto others_are_here = [&] {
    for (int peer = 0; peer < size(); ++peer) {
      if (peer != rank() && !engine_.mesh().left(peer)) return true;
    }
    return false;
  };
  bool left = false;
  std::uint32_t empty = 0;
  while (!engine_.failed() && Clock::now() < end) {
    const bool flushed = engine_.outstanding(counter) == 0;
    if (flushed && !std::exchange(left, left || flushed)) engine_.mesh().leave();
    if (engine_.mesh().check() || (left && !others_are_here())) break;
    empty = engine_.step() ? 0 : empty + 1;
    if (empty > 100) std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
  if (!left) engine_.mesh().leave();
  engine_.stop_counting(counter);
}

std::string Group::describe() const { return const_cast<Engine&>(engine_).transport().describe(); }
const Traffic& Group::traffic() const { return const_cast<Engine&>(engine_).transport().traffic(); }

Status Group::check_peer(int peer) const {
  if (engine_.failed()) return Unexpected{*engine_.failed()};
  if (peer < 0 || peer >= size()) {
    return failure(Error::Kind::kUsage, "rank " + std::to_string(peer) + " is not in a group of " +
                                            std::to_string(size()));
  }
  if (peer != rank()) return Done{};
  return failure(Error::Kind::kUsage,
                 "rank " + std::to_string(peer) + " is this process; copy the data instead");
}

// A collective that fails half way leaves its streams out of step: the group cannot go on.
Status Group::after(Status status) {
  if (!status) engine_.fail(status.error());
  return status;
}

// --- one-sided transfers -------------------------------------------------------------------------

Result<Buffer, Error> Group::add_buffer(void* address, std::size_t length) {
  if (engine_.failed()) return Unexpected{*engine_.failed()};
  if (length == 0) return failure(Error::Kind::kUsage, "a buffer of 0 bytes; it needs at least 1");
  auto located = gpus_.locate(address, length);
  if (!located) return passed_on(located);
  auto memory = streams_->memory().add_buffer(*located, length);
  if (!memory) return passed_on(memory);
  const Registration* added = *memory;
  return Buffer{added, [this, added] { streams_->memory().remove_buffer(added); }};
}

Result<RemoteBuffer, Error> Group::remote_buffer(int peer, const std::string& key) const {
  if (Status valid = check_peer(peer); !valid) return passed_on(valid);
  MessageReader reader{key};
  RemoteBuffer remote{.rank = peer, .address = reader.number(), .size = reader.number()};
  remote.gpu = reader.number() != 0;
  for (std::uint32_t& one : remote.keys) one = static_cast<std::uint32_t>(reader.number());
  if (!reader.complete()) {
    return failure(
        Error::Kind::kUsage,
        "this is not the key of a buffer; pass what key() of the peer's buffer returned");
  }
  return remote;
}

// GPU memory that was freed while it was registered: some devices would still use it.
Status Group::check_exists(const Registration& memory) {
  if (memory.gpu == nullptr || memory.gpu->allocation_at(memory.address) == memory.allocation) {
    return Done{};
  }
  return failure(Error::Kind::kUsage,
                 "the GPU memory at " + address_text(memory.address) + " with " +
                     std::to_string(memory.length) +
                     " bytes was freed after it had been registered; drop its buffer first");
}

Status Group::post_part(bool is_put, const Request& request, Counter counter) {
  return is_put ? engine_.put(request, counter) : engine_.get(request, counter);
}

Result<Transfer, Error> Group::start(bool is_put, Slice local, const RemoteSlice& remote,
                                     std::optional<std::uint32_t> notify) {
  const RemoteBuffer& there = remote.buffer;
  if (Status valid = check_peer(there.rank); !valid) return passed_on(valid);
  if (local.offset > local.buffer->size() || local.length > local.buffer->size() - local.offset ||
      remote.offset > there.size || local.length > there.size - remote.offset) {
    return failure(Error::Kind::kUsage,
                   std::to_string(local.length) + " bytes do not fit: the local buffer has " +
                       std::to_string(local.buffer->size()) + " bytes from offset " +
                       std::to_string(local.offset) + " of, the remote one " +
                       std::to_string(there.size) + " from " + std::to_string(remote.offset));
  }
  if (notify && *notify > kMaxTag) {
    return failure(Error::Kind::kUsage, "tag " + std::to_string(*notify) + " is above the limit " +
                                            std::to_string(kMaxTag));
  }
  if (Status exists = check_exists(local.buffer->memory()); !exists) return passed_on(exists);
  const auto lanes = static_cast<std::size_t>(engine_.transport().lanes());
  const std::size_t used = std::clamp<std::size_t>(local.length / kSpread, 1, lanes);
  const Counter counter = engine_.start_counting();
  for (std::size_t lane = 0; lane < used; ++lane) {
    const Part part = part_of(local.length, static_cast<int>(used), static_cast<int>(lane));
    std::size_t at = part.begin;
    std::size_t left = part.count;
    do {
      const std::size_t length = std::min(left, kLongestTransfer);
      Request request{.peer = there.rank,
                      .lane = static_cast<int>(lane),
                      .local = local.buffer->data() + local.offset + at,
                      .length = length,
                      .registration = &local.buffer->memory(),
                      .remote = there.address + remote.offset + at,
                      .keys = there.keys,
                      .gpu = there.gpu};
      at += length;
      left -= length;
      if (notify && left == 0) {
        const auto others = static_cast<std::uint32_t>(used - 1);
        request.immediate = immediate_of(Notice::kUser, others << kTagBits | *notify);
      }
      if (Status posted = post_part(is_put, request, counter); !posted) {
        engine_.stop_counting(counter);
        return passed_on(posted);
      }
    } while (left > 0);
  }
  return Transfer{counter, there.rank};
}

Result<Transfer, Error> Group::put(Slice from, RemoteSlice to,
                                   std::optional<std::uint32_t> notify) {
  return start(true, from, to, notify);
}

Result<Transfer, Error> Group::get(Slice to, RemoteSlice from) {
  return start(false, to, from, std::nullopt);
}

bool Group::done(Transfer transfer) {
  if (!engine_.valid(transfer.counter)) return true;
  engine_.step();
  return engine_.failed() || engine_.outstanding(transfer.counter) == 0;
}

Status Group::wait(Transfer transfer) {
  if (!engine_.valid(transfer.counter)) return Done{};  // waited for before
  Status done =
      engine_.wait(Engine::kAnyRank, [&] { return engine_.outstanding(transfer.counter) == 0; });
  const bool lost = engine_.abandoned(transfer.counter);
  if (done) engine_.stop_counting(transfer.counter);
  if (done && lost) {
    return failure(Error::Kind::kPeerDied,
                   "rank " + std::to_string(transfer.rank) +
                       " left the group before the transfer was complete",
                   transfer.rank);
  }
  return done;
}

Status Group::notify(int peer, std::uint32_t tag) {
  if (Status valid = check_peer(peer); !valid) return valid;
  if (tag > kMaxTag) {
    return failure(Error::Kind::kUsage,
                   "tag " + std::to_string(tag) + " is above the limit " + std::to_string(kMaxTag));
  }
  return engine_.notify(peer, 0, immediate_of(Notice::kUser, tag));
}

Status Group::wait_notify(int peer, std::uint32_t tag) {
  if (Status valid = check_peer(peer); !valid) return valid;
  return engine_.wait_notice(peer, tag);
}

}  // namespace nerve::ai
