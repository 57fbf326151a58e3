#include "nic/connection/comm_table.h"

#include <array>
#include <bit>

namespace nerve::nic {
namespace {

constexpr std::uint32_t kIdMask = (1U << kCommIdBits) - 1;

}  // namespace

CommTable::CommTable(const NicConfig& config)
    : table_{config.limits.max_connections},
      peers_{0, KeyHash{config.key_secret}},
      listeners_{0, KeyHash{config.key_secret}},
      first_id_{config.first_comm_id},
      next_id_{config.begin_comm_ids_at} {
  if (config.scatter_numbers) order_.emplace(config.key_secret, kOrderOfCommIds, kIdMask + 1);
}

std::size_t CommTable::KeyHash::operator()(const PeerKey& key) const {
  const auto gid = std::bit_cast<std::array<std::uint64_t, 2>>(key.gid.bytes);
  std::uint64_t hash = static_cast<std::uint64_t>(key.kind) << 32U | key.number;
  for (const std::uint64_t word : {gid[0], gid[1], key.guid}) hash = siphash(secret, hash ^ word);
  return hash;
}

Communication& CommTable::make() {
  auto [handle, comm] = table_.emplace();
  comm.handle = handle;
  return comm;
}

// IDs count up or follow a secret order, so that one is reused only after four million
// communications. Zero is not an ID: a REJ for an unknown communication carries it.
void CommTable::assign_id(Communication& comm) {
  for (;;) {
    const std::uint32_t position = next_id_++ & kIdMask;
    const std::uint32_t id = first_id_ + (order_ ? (*order_)[position] : position);
    if (id == 0 || !ids_.try_emplace(id, &comm).second) continue;
    comm.local_id = wire::CommId{id};
    return;
  }
}

void CommTable::erase(Communication& comm) {
  forget(comm);
  if (lingering_.contains(comm)) lingering_.remove(comm);
  table_.erase(comm.handle);
}

Communication* CommTable::find(CommHandle handle) {
  Communication* comm = table_.find(handle);
  return comm != nullptr && comm->owned ? comm : nullptr;
}

Communication* CommTable::find(wire::CommId ours) {
  const auto found = ids_.find(ours.value());
  return found == ids_.end() ? nullptr : found->second;
}

Communication* CommTable::find(const PeerKey& key) {
  const auto found = peers_.find(key);
  return found == peers_.end() ? nullptr : found->second;
}

void CommTable::index_comm_id(Communication& comm, const PeerKey& key) {
  CHECK(peers_.try_emplace(key, &comm).second);
  comm.by_comm_id = key;
}

void CommTable::index_qpn(Communication& comm, const PeerKey& key) {
  CHECK(peers_.try_emplace(key, &comm).second);
  comm.by_qpn = key;
}

void CommTable::forget_qpn(Communication& comm) {
  if (comm.by_qpn) peers_.erase(*comm.by_qpn);
  comm.by_qpn.reset();
}

void CommTable::forget(Communication& comm) {
  if (comm.local_id != wire::CommId{}) ids_.erase(comm.local_id.value());
  comm.local_id = {};
  if (comm.by_comm_id) peers_.erase(*comm.by_comm_id);
  comm.by_comm_id.reset();
  forget_qpn(comm);
  if (comm.state == CommState::kListen) {
    listeners_.erase(listener_key(comm.service, comm.address, comm.any_of));
  }
}

bool CommTable::serves(const CmListen& listen) const {
  return listeners_.contains(listener_key(listen.service, listen.address, listen.any_of));
}

void CommTable::add_listener(Communication& listener) {
  const PeerKey key = listener_key(listener.service, listener.address, listener.any_of);
  CHECK(listeners_.try_emplace(key, &listener).second);
}

Communication* CommTable::listener(wire::ServiceId service, const wire::Gid& address) {
  const CmFamily family = address.is_ipv4() ? CmFamily::kIpv4 : CmFamily::kIpv6;
  for (const PeerKey& key :
       {listener_key(service, address, CmFamily::kBoth), listener_key(service, {}, family),
        listener_key(service, {}, CmFamily::kBoth)}) {
    if (const auto found = listeners_.find(key); found != listeners_.end()) return found->second;
  }
  return nullptr;
}

}  // namespace nerve::nic
