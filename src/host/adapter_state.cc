#include "host/adapter_state.h"

#include <sys/random.h>

#include <algorithm>

#include "host/diagnostics/log.h"
#include "host/shard.h"
#include "nic/connection/connection_manager.h"

namespace nerve::host {
namespace {

// A QP may have so many packets on their way: of 4096 bytes, as much as a socket's buffer holds
// where it has been enlarged, and as the caches of two cores do.
constexpr std::uint32_t kPacketsOnTheWay = 1024;

template <class Value>
Value drawn() {
  Value value{};
  if (::getrandom(&value, sizeof value, 0) != sizeof value) {
    log(LogLevel::kWarn, "the kernel gives no random numbers: memory keys can be guessed");
  }
  return value;
}

nic::NicConfig config_for(Shard& shard, const Device& device, bool by_direct_path) {
  nic::NicConfig config;
  config.gid_table_size = kGidTableSize;
  config.first_qpn = Qpn{shard.slot << kSlotShift};
  config.limits.max_qp = kQpnsPerSlot;
  config.begin_qpns_at = drawn<std::uint32_t>();
  config.guid = device.node_guid;
  config.first_comm_id = shard.slot << nic::kCommIdBits;
  config.refusal_patience = std::chrono::milliseconds{100};
  config.begin_comm_ids_at = drawn<std::uint32_t>();
  config.gate = &shard.exchange;
  config.max_outstanding_packets = config.max_read_packets = kPacketsOnTheWay;
  // Keys of two engines could be equal, and the table of rights is one; and what is to be captured
  // or disturbed must be sent.
  const bool tapped = !shard.config.pcap.empty() || !shard.config.fault.empty();
  if (by_direct_path && !tapped) config.direct_path = &shard.peer_memory;
  config.flow_control.algorithm = shard.config.congestion;
  config.flow_control.shrink_on_loss = true;
  config.selective_repeat.offer = true;
  config.tail_probe.on = true;
  config.tail_probe.every_path = !shard.config.fault.empty();
  config.key_secret = drawn<SipKey>();
  return config;
}

}  // namespace

Adapter::State::State(Shard& in, const Device& given, State* first)
    : shard{in},
      device{given},
      gids{given.gids},
      interface_index{given.interface_index},
      by_direct_path{first != nullptr ? first->by_direct_path : in.adapters.empty()},
      nic{first != nullptr ? nic::Nic{config_for(in, given, by_direct_path), first->nic}
                           : nic::Nic{config_for(in, given, by_direct_path)}} {
  for (std::uint32_t i = 0; i < device.gids.size(); ++i) (void)nic.set_gid(i, device.gids[i]);
  nic.set_port_active(device.up);
  if (first != nullptr) follow(*first);
  while (nic.next_event()) {  // how it came to be is nobody's news
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
}

void Adapter::State::update(const Interface* changed) {
  gids = changed != nullptr ? gids_of(*changed) : std::vector<wire::Gid>{};
  interface_index = changed != nullptr ? changed->index : 0;
  // An address keeps its place in the table as long as it is there; new ones take free places.
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
  for (bool left = false;;) {
    shard.exchange.begin_burst(at);
    if (nic.transmit(burst, at) > 0) {
      shard.taps->egress().send(burst.frames(), at);
      left = true;
    } else if (left && nic.any_parked() && shard.exchange.room_again(at)) {
      // They had to wait for what has left now, and nobody may come back for them: a program that
      // has what it wanted destroys its QPs, and the ACKs that they owe.
      nic.resume();
      left = false;
    } else {
      break;
    }
  }
}

void Adapter::State::tell_events() {
  while (const auto event = nic.next_event()) {
    if (event->cookie != 0) {
      reinterpret_cast<EventTarget*>(event->cookie)->on_event(*event);
    } else if (shard.is_primary()) {  // the port is one, whatever the number of its engines
      for (EventTarget* listener : listeners) listener->on_event(*event);
    }
  }
  if (cm_listener != nullptr) tell_cm_events();
}

void Adapter::State::tell_cm_events() {
  while (const auto event = nic.cm().next_event()) cm_listener->on_cm_event(nic, *event);
}

}  // namespace nerve::host
