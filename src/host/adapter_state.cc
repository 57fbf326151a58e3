#include "host/adapter_state.h"

#include <sys/random.h>

#include <algorithm>

#include "host/diagnostics/log.h"
#include "host/gpu/gpu_memory.h"
#include "host/shard.h"
#include "nic/connection/connection_manager.h"

namespace nerve::host {
namespace {

// Limit on packets in flight per QP. With 4096-byte packets this is as much as an enlarged socket
// buffer holds, and as much as fits in the caches of two cores.
constexpr std::uint32_t kPacketsOnTheWay = 1024;

// CNPs of one peer that may arrive together because a switch or a CPU was late.
constexpr std::uint32_t kCnpBurst = 4;

// Learned congestion control measures round trips by the ACKs that it requests. Its line rate is
// what UDP sockets carry (network/pace.h): its inputs are relative to it.
constexpr std::uint32_t kAckEvery = 8;
constexpr Rate kMeasuredLine = Rate::gigabits(12);

template <class Value>
Value random_value() {
  Value value{};
  if (::getrandom(&value, sizeof value, 0) != sizeof value) {
    log(LogLevel::kWarn,
        "getrandom failed: memory keys are predictable; check the kernel and its sandbox");
  }
  return value;
}

// Where a device counts: in the shared entry of its shard, as long as that has room.
DeviceCounters& counters_for(Shard& shard, const Device& device, DeviceCounters& own) {
  if (shard.statistics == nullptr) return own;
  DeviceEntry* const entry = find_entry(shard.statistics->devices, device.name);
  return entry != nullptr ? entry->counters : own;
}

nic::NicHooks hooks_for(Shard& shard, bool by_direct_path, DeviceCounters& counters) {
  nic::NicHooks hooks{.gate = &shard.exchange,
                      .trace = shard.trace(),
                      .counters = &counters.engine,
                      .pager = &shard.pager,
                      .late_memory = shard.shards.gpu_memory.get()};
  // Only one engine may use the direct path, because there is one rights table and keys of two
  // engines could collide. Captures and faults need real packets, so they disable the direct path.
  const bool tapped = !shard.config.pcap.empty() || !shard.config.fault.empty();
  if (by_direct_path && !tapped) hooks.direct_path = &shard.peer_memory;
  return hooks;
}

nic::NicConfig config_for(Shard& shard, const Device& device) {
  nic::NicConfig config;
  config.gid_table_size = kGidTableSize;
  config.first_qpn = Qpn{shard.slot << kSlotShift};
  config.limits.max_qp = kQpnsPerSlot;
  config.begin_qpns_at = random_value<std::uint32_t>();
  config.guid = device.node_guid;
  config.first_comm_id = shard.slot << nic::kCommIdBits;
  config.refusal_patience = std::chrono::milliseconds{100};
  config.begin_comm_ids_at = random_value<std::uint32_t>();
  config.max_outstanding_packets = config.max_read_packets = kPacketsOnTheWay;
  config.flow_control.algorithm = shard.config.congestion;
  if (shard.config.congestion == nic::CcAlgorithm::kLearned) {
    config.flow_control.learned.policy = shard.shards.policy.get();
    config.flow_control.ack_every = kAckEvery;
    config.line_rate = kMeasuredLine;
  }
  config.flow_control.shrink_on_loss = true;
  config.flow_control.max_cnp_burst = kCnpBurst;
  config.selective_repeat.offer = true;
  config.tail_probe.on = true;
  config.tail_probe.every_path = !shard.config.fault.empty();
  config.key_secret = random_value<SipKey>();
  config.scatter_numbers = true;
  return config;
}

// The requester sees only "remote invalid request error".
void report(const nic::MtuMismatch& mismatch) {
  log(LogLevel::kWarn,
      "qp 0x%x: refused a packet with %u bytes of payload, because the path MTU here is %u: give "
      "both ends the same path MTU",
      mismatch.qpn.value(), mismatch.payload, mismatch.mtu);
}

}  // namespace

Adapter::State::State(Shard& in, const Device& given, State* first)
    : shard{in},
      device{given},
      gids{given.gids},
      interface_index{given.interface_index},
      by_direct_path{first != nullptr ? first->by_direct_path : in.adapters.empty()},
      gpu_memory{*in.shards.gpu_memory},
      counters{counters_for(in, given, own_counters)},
      nic{first != nullptr
              ? nic::Nic{config_for(in, given), hooks_for(in, by_direct_path, counters), first->nic}
              : nic::Nic{config_for(in, given), hooks_for(in, by_direct_path, counters)}} {
  shard.exchange.count_in(counters.transports);
  if (by_direct_path) shard.peer_memory.count_in(counters.direct);
  if (shard.trace_file != nullptr) shard.trace_file->add(device);
  for (std::uint32_t i = 0; i < device.gids.size(); ++i) (void)nic.set_gid(i, device.gids[i]);
  nic.set_port_active(device.up);
  if (first != nullptr) follow(*first);
  while (nic.next_event()) {  // the events of its own creation
  }
  shard.adapters.push_back(this);
}

void Adapter::State::follow(const State& other) {
  gids = other.gids;
  interface_index = other.interface_index;
  for (std::uint32_t i = 0; i < kGidTableSize; ++i) (void)nic.set_gid(i, *other.nic.query_gid(i));
  nic.set_port_active(other.nic.port_active());
}

Adapter::State::~State() {
  const std::scoped_lock guard{shard.lock};
  std::erase(shard.adapters, this);
  shard.exchange.stop_counting();
  if (by_direct_path) shard.peer_memory.stop_counting();
}

void Adapter::State::update(const Interface* changed) {
  gids = changed != nullptr ? gids_of(*changed) : std::vector<wire::Gid>{};
  interface_index = changed != nullptr ? changed->index : 0;
  // An address keeps its GID index for as long as it exists; new addresses take free indexes.
  std::vector<wire::Gid> table(kGidTableSize);
  for (std::uint32_t i = 0; i < kGidTableSize; ++i) table[i] = *nic.query_gid(i);
  for (wire::Gid& gid : table) {
    if (std::ranges::find(gids, gid) == gids.end()) gid = {};
  }
  for (const wire::Gid& gid : gids) {
    if (std::ranges::find(table, gid) != table.end()) continue;
    const auto place = std::ranges::find_if(table, &wire::Gid::is_zero);
    if (place != table.end()) *place = gid;
  }
  for (std::uint32_t i = 0; i < kGidTableSize; ++i) {
    if (*nic.query_gid(i) != table[i]) (void)nic.set_gid(i, table[i]);
  }
  const bool up = changed != nullptr && changed->up;
  if (nic.port_active() != up) nic.set_port_active(up);
}

bool Adapter::State::owns(const wire::Gid& gid) const {
  return std::ranges::find(gids, gid) != gids.end();
}

void Adapter::State::transmit(Time at) {
  waiting_posts = 0;
  shard.delayed_ack.sent();
  if (shard.left_to_parent) return;
  shard.exchange.count_in(counters.transports);
  for (bool left = false;;) {
    shard.exchange.begin_burst(at);
    if (nic.transmit(burst, at) > 0) {
      shard.taps->egress().send(burst.frames(), at);
      left = true;
    } else if (left && nic.any_parked() && shard.exchange.room_again(at)) {
      // Parked QPs were waiting for the frames that have just left. Resume them now, because no
      // later call may come: a program that has its data destroys its QPs, and with them the ACKs
      // they owe.
      nic.resume();
      left = false;
    } else {
      break;
    }
  }
}

void Adapter::State::deliver_nic_events() {
  while (const auto event = nic.next_event()) {
    if (event->mismatch) report(*event->mismatch);
    if (event->cookie != 0) {
      reinterpret_cast<EventTarget*>(event->cookie)->on_event(*event);
    } else if (shard.is_primary()) {  // the port is reported once, however many engines it has
      for (EventTarget* listener : listeners) listener->on_event(*event);
    }
  }
}

void Adapter::State::deliver_cm_events() {
  while (const auto event = nic.cm().next_event()) cm_listener->on_cm_event(nic, *event);
}

}  // namespace nerve::host
