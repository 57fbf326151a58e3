// All communications of an engine, found in one step by handle, by the id that we gave them, by
// what the peer calls them, and listeners by what they serve.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/intrusive_list.h"
#include "base/siphash.h"
#include "base/slot_table.h"
#include "nic/config.h"
#include "nic/connection/communication.h"

namespace nerve::nic {

class CommTable {
 public:
  explicit CommTable(const NicConfig& config);

  [[nodiscard]] std::uint32_t size() const { return table_.size(); }

  [[nodiscard]] bool full() const { return table_.full(); }

  // The caller has seen that the table is not full.
  Communication& make();
  void give_id(Communication& comm);
  void erase(Communication& comm);

  // In the same order on every machine.
  template <class F>
  void for_each(F visit) {
    table_.for_each(visit);
  }

  // By a handle that its user still has.
  [[nodiscard]] Communication* find(CommHandle handle);
  [[nodiscard]] Communication* find(wire::CommId ours);
  [[nodiscard]] Communication* find(const PeerKey& key);
  void know_comm_id(Communication& comm, const PeerKey& key);
  void know_qpn(Communication& comm, const PeerKey& key);
  void forget_qpn(Communication& comm);
  // Nothing from the wire finds it any more.
  void forget(Communication& comm);
  // Nobody has its handle, and it may go when there is no room.
  void linger(Communication& comm) { lingering_.push_back(comm); }
  [[nodiscard]] Communication* longest_lingering() const { return lingering_.front(); }

  [[nodiscard]] bool serves(wire::ServiceId service, const wire::Gid& address) const;
  void add_listener(Communication& listener);
  // One at this address, else one at any.
  [[nodiscard]] Communication* listener(wire::ServiceId service, const wire::Gid& address);

 private:
  // A peer chooses what it is called, so where it falls in the table is a secret.
  struct KeyHash {
    SipKey secret{};
    std::size_t operator()(const PeerKey& key) const;
  };

  static PeerKey listener_key(wire::ServiceId service, const wire::Gid& address) {
    return {.gid = address, .guid = static_cast<std::uint64_t>(service)};
  }

  SlotTable<Communication> table_;
  std::unordered_map<std::uint32_t, Communication*> ids_;
  std::unordered_map<PeerKey, Communication*, KeyHash> peers_;
  std::unordered_map<PeerKey, Communication*, KeyHash> listeners_;
  IntrusiveList<Communication, &Communication::lingering_hook> lingering_;
  std::uint32_t first_id_;
  std::uint32_t next_id_;
};

}  // namespace nerve::nic
