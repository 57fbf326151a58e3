// The rdma_cm state of this process: open channels, identifiers, multicast memberships.
//
// This is the state that a kernel keeps for /dev/infiniband/rdma_cm. There is one registry per
// process; the child of a fork starts with an empty one. Lock order: `making_`, then a shard's
// lock, then `lock`, because engine events arrive with the shard's lock held.
#pragma once

#include <netinet/in.h>  // before the kernel's, which then does without its own
#include <rdma/rdma_user_cm.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "host/host.h"
#include "host/peers/port_space.h"
#include "host/runtime/event_queue.h"
#include "rdmacm/identifier.h"
#include "rdmacm/port_uses.h"

namespace nerve::rdmacm {

// An event as the program will read it, and its identifier.
struct Report {
  std::uint32_t of{};         // the identifier, which counts fetched events
  std::uint32_t multicast{};  // the membership, if it is an event of one
  std::uint32_t made{};  // the identifier created for a request; owned by no program until this
                         // event is fetched
  bool put_off{};        // postponed once already
  rdma_ucm_event_resp words{};
};

// One open of the device.
class Channel {
 public:
  host::EventQueue<Report> events;
  std::atomic<pid_t> taker{};  // the thread that fetched the last event
  // The number of waiting threads. A thread that was cancelled, or did not block, remains counted.
  std::atomic<std::uint32_t> waiting{};
};

struct Membership {
  std::uint32_t number{};
  std::uint32_t of{};  // the identifier
  std::uint32_t events_fetched{};
};

// Objects by number, lowest free number first, because librdmacm has a table indexed by it.
template <class Object>
class Numbered {
 public:
  std::shared_ptr<Object> make() {
    const std::uint32_t number = next_free();
    auto object = std::make_shared<Object>();
    object->number = number;
    objects_.emplace(number, object);
    return object;
  }
  [[nodiscard]] std::shared_ptr<Object> find(std::uint32_t number) const {
    const auto it = objects_.find(number);
    return it != objects_.end() ? it->second : nullptr;
  }
  void erase(std::uint32_t number) {
    if (objects_.erase(number) > 0) free_.insert(number);
  }
  template <class Predicate>
  void erase_if(Predicate unwanted) {
    std::erase_if(objects_, [&](const auto& entry) {
      if (!unwanted(*entry.second)) return false;
      free_.insert(entry.first);
      return true;
    });
  }
  [[nodiscard]] const auto& all() const { return objects_; }

 private:
  std::uint32_t next_free() {
    if (free_.empty()) return ++highest_;
    return free_.extract(free_.begin()).value();
  }
  std::map<std::uint32_t, std::shared_ptr<Object>> objects_;
  std::set<std::uint32_t> free_;
  std::uint32_t highest_{};
};

class Registry final : public host::DeviceListener {
 public:
  // The registry of this process.
  static Registry& current();

  // Opens a channel; negative, with errno, if there is no descriptor.
  [[nodiscard]] int open_channel();
  [[nodiscard]] std::shared_ptr<Channel> channel(int fd);
  // Closes the descriptor and destroys the identifiers that the program left open. False if it is
  // not one of ours.
  bool close_channel(int fd);

  // Finds an identifier of this channel. The error is the errno that a kernel would return.
  [[nodiscard]] Result<std::shared_ptr<Identifier>, int> find(const Channel& channel,
                                                              std::uint32_t number);

  // Finds the device that a local address belongs to, opens it and listens to its CM. Returns zero
  // or errno.
  [[nodiscard]] int find_port(const Endpoint& at, LocalPort& port);
  // The same for all devices.
  [[nodiscard]] std::vector<LocalPort> all_ports();

  // The rdma_cm ports of this host; null, with errno, on failure.
  [[nodiscard]] host::PortSpace* port_space();

  // Makes a listener listen at these, except where it already does. Returns zero, or an errno if it
  // listens at none; a wildcard listener may wait for its first device.
  int listen_at(const std::shared_ptr<Identifier>& id, const std::vector<LocalPort>& ports);
  // Notifies identifiers of a removed device, and adds new devices to wildcard listeners.
  void on_devices_changed() override;

  // Called with the shard's lock held.
  void on_cm_event(host::Adapter& adapter, nic::Nic& nic, const nic::CmEvent& event);

  // The following are called with the lock held.
  void post_event(const Identifier& id, EventKind kind, int status = 0,
                  const rdma_ucm_event_resp* with = nullptr);
  void know(const Identifier& id, const host::Adapter* adapter, nic::CommHandle comm);
  void forget(const host::Adapter* adapter, nic::CommHandle comm);

  std::mutex lock;
  Numbered<Identifier> ids;
  Numbered<Membership> memberships;
  PortUses port_uses;

 private:
  // Called with the lock held.
  bool take_request(host::Adapter& adapter, const nic::CmEvent& event);
  void take_reply(Identifier& id, const wire::CmRep& rep);
  void take_rejection(Identifier& id, const wire::CmRej& rej);
  void take_resolution(Identifier& id, nic::Nic& nic, const wire::CmSidrRep& rep);

  using CommKey = std::tuple<const host::Adapter*, std::uint32_t, std::uint32_t>;

  // Receives the events of one adapter's connection manager.
  struct CmReceiver final : host::CmListener {
    CmReceiver(Registry& listener, std::shared_ptr<host::Adapter> speaker)
        : registry{listener}, adapter{std::move(speaker)} {}
    void on_cm_event(nic::Nic& nic, const nic::CmEvent& event) override {
      registry.on_cm_event(*adapter, nic, event);
    }
    Registry& registry;
    const std::shared_ptr<host::Adapter> adapter;
    std::uint32_t interface_index{adapter->interface_index()};  // at the last check
  };

  void listen_to(const std::shared_ptr<host::Adapter>& adapter);
  // Finds the address on a device that is already open; its engine has the current GIDs.
  [[nodiscard]] bool find_open_device(const wire::Gid& address, LocalPort& port) const;
  // The adapters whose interface has disappeared since the last check.
  [[nodiscard]] std::vector<std::shared_ptr<host::Adapter>> removed_devices();
  void remove_device(const std::shared_ptr<host::Adapter>& adapter);
  [[nodiscard]] Identifier* id_of(const host::Adapter* adapter, nic::CommHandle comm) const;

  std::mutex making_;  // taken before a shard's lock
  std::map<int, std::shared_ptr<Channel>> channels_;
  std::map<CommKey, std::uint32_t> by_comm_;
  std::vector<std::unique_ptr<CmReceiver>> receivers_;
};

// Destroys an identifier, so that no more of its events are reported. Called without the lock.
// Returns how many of its events the program has fetched.
std::uint32_t destroy(Registry& registry, const std::shared_ptr<Identifier>& id);

[[nodiscard]] Psn draw_psn();
[[nodiscard]] ib_uverbs_ah_attr path_to(const Identifier& id, const wire::Gid& gid,
                                        std::uint8_t gid_index);
// The attributes of its QP for the transition from RTR to RTS.
[[nodiscard]] ib_uverbs_qp_attr ready_to_send(const Identifier& id);
[[nodiscard]] std::uint8_t gid_index_of(nic::Nic& nic, const wire::Gid& gid);

}  // namespace nerve::rdmacm
