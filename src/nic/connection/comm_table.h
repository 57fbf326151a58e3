// All communications of an engine, found in one step by handle, by our ID, or by the peer's ID or
// QPN; listeners are found by service.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/intrusive_list.h"
#include "base/secret_order.h"
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

  // The caller has checked that the table is not full.
  Communication& make();
  void assign_id(Communication& comm);
  void erase(Communication& comm);

  // Visits in the same order on every machine.
  template <class F>
  void for_each(F visit) {
    table_.for_each(visit);
  }

  // Finds by a handle that the user still owns.
  [[nodiscard]] Communication* find(CommHandle handle);
  [[nodiscard]] Communication* find(wire::CommId ours);
  [[nodiscard]] Communication* find(const PeerKey& key);
  void index_comm_id(Communication& comm, const PeerKey& key);
  void index_qpn(Communication& comm, const PeerKey& key);
  void forget_qpn(Communication& comm);
  // Removes the indices by which messages find it.
  void forget(Communication& comm);
  // The user no longer owns its handle; it may be evicted when the table is full.
  void linger(Communication& comm) { lingering_.push_back(comm); }
  [[nodiscard]] Communication* longest_lingering() const { return lingering_.front(); }

  // Whether an identical listener exists; overlapping ones differ.
  [[nodiscard]] bool serves(const CmListen& listen) const;
  void add_listener(Communication& listener);
  // The listener at this address, else one on any address of its family, else one on any address.
  [[nodiscard]] Communication* listener(wire::ServiceId service, const wire::Gid& address);

 private:
  // The peer chooses its IDs, so the hash is keyed with a secret.
  struct KeyHash {
    SipKey secret{};
    std::size_t operator()(const PeerKey& key) const;
  };

  static PeerKey listener_key(wire::ServiceId service, const wire::Gid& address, CmFamily any_of) {
    return {.gid = address,
            .guid = static_cast<std::uint64_t>(service),
            .number = static_cast<std::uint32_t>(any_of)};
  }

  SlotTable<Communication> table_;
  std::unordered_map<std::uint32_t, Communication*> ids_;
  std::unordered_map<PeerKey, Communication*, KeyHash> peers_;
  std::unordered_map<PeerKey, Communication*, KeyHash> listeners_;
  IntrusiveList<Communication, &Communication::lingering_hook> lingering_;
  std::uint32_t first_id_;
  std::uint32_t next_id_;
  std::optional<SecretOrder> order_;
};

}  // namespace nerve::nic
