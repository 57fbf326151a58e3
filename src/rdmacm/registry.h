// All that rdma_cm keeps in this process: open channels, identifiers, multicast groups.
//
// What a kernel would keep for /dev/infiniband/rdma_cm. There is one for each process; the child of
// a fork begins with none. Its lock is taken after the host's and never before it: events of the
// engines come with the host's lock held.
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

// An event as the program will read it, and whose it is.
struct Report {
  std::uint32_t of{};         // the identifier, at which it is counted when it is fetched
  std::uint32_t multicast{};  // the membership, if it is of one
  std::uint32_t made{};       // the identifier of a request that came, which is nobody's until then
  bool put_off{};             // once is enough
  rdma_ucm_event_resp words{};
};

// One open of the device.
class Channel {
 public:
  host::EventQueue<Report> events;
  std::atomic<pid_t> taker{};  // the thread that had the last event
  // Threads. Those that were cancelled, or did not want to wait, stay counted.
  std::atomic<std::uint32_t> waiting{};
};

struct Membership {
  std::uint32_t number{};
  std::uint32_t of{};  // the identifier
  std::uint32_t events_fetched{};
};

// Objects by number, the lowest free one first: librdmacm keeps a table of its own by them.
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
  // Of this process.
  static Registry& current();

  // A new channel; negative, and errno, when there is no descriptor.
  [[nodiscard]] int open_channel();
  [[nodiscard]] std::shared_ptr<Channel> channel(int fd);
  // The descriptor is closed, and what the program left open is destroyed. False when it is none of
  // ours.
  bool close_channel(int fd);

  // By its number, if it is of this channel. The error is the errno that a kernel would give.
  [[nodiscard]] Result<std::shared_ptr<Identifier>, int> find(const Channel& channel,
                                                              std::uint32_t number);

  // The device that an address of this machine belongs to, its engine running and heard.
  // Zero or errno.
  [[nodiscard]] int find_port(const Endpoint& at, LocalPort& port);
  // All of them.
  [[nodiscard]] std::vector<LocalPort> all_ports();

  // The ports of this host's processes; null, and errno, when they cannot be had.
  [[nodiscard]] host::PortSpace* port_space();

  // A listener listens at these, as far as it does not yet. Zero, or an errno when it does at none;
  // one at a wildcard may wait for its first device.
  int listen_at(const std::shared_ptr<Identifier>& id, const std::vector<LocalPort>& ports);
  // Identifiers of a device that is gone are told, and listeners get those that are new.
  void on_devices_changed() override;

  // Called with the host's lock held.
  void on_cm_event(host::Adapter& adapter, nic::Nic& nic, const nic::CmEvent& event);

  // With the lock held.
  void tell(const Identifier& id, EventKind kind, int status = 0,
            const rdma_ucm_event_resp* with = nullptr);
  void know(const Identifier& id, const host::Adapter* adapter, nic::CommHandle comm);
  void forget(const host::Adapter* adapter, nic::CommHandle comm);

  std::mutex lock;
  Numbered<Identifier> ids;
  Numbered<Membership> memberships;
  PortUses port_uses;

 private:
  // Each with the lock held.
  bool take_request(host::Adapter& adapter, const nic::CmEvent& event);
  void take_reply(Identifier& id, const wire::CmRep& rep);
  void take_rejection(Identifier& id, const wire::CmRej& rej);
  void take_resolution(Identifier& id, nic::Nic& nic, const wire::CmSidrRep& rep);

  using CommKey = std::tuple<const host::Adapter*, std::uint32_t, std::uint32_t>;

  // What the connection manager of one adapter has to say.
  struct Ear final : host::CmListener {
    Ear(Registry& listener, std::shared_ptr<host::Adapter> speaker)
        : registry{listener}, adapter{std::move(speaker)} {}
    void on_cm_event(nic::Nic& nic, const nic::CmEvent& event) override {
      registry.on_cm_event(*adapter, nic, event);
    }
    Registry& registry;
    const std::shared_ptr<host::Adapter> adapter;
    std::uint32_t interface_index{adapter->interface_index()};  // when we last looked
  };

  void hear(const std::shared_ptr<host::Adapter>& adapter);
  // An address of a device that is heard already; the engine there knows which it has now.
  [[nodiscard]] bool find_heard(const wire::Gid& address, LocalPort& port) const;
  // Those whose interface is gone since we last looked.
  [[nodiscard]] std::vector<std::shared_ptr<host::Adapter>> lost_devices();
  void lose(const std::shared_ptr<host::Adapter>& adapter);
  [[nodiscard]] Identifier* id_of(const host::Adapter* adapter, nic::CommHandle comm) const;

  std::mutex making_;  // taken before the host's lock
  std::map<int, std::shared_ptr<Channel>> channels_;
  std::map<CommKey, std::uint32_t> by_comm_;
  std::vector<std::unique_ptr<Ear>> ears_;
};

// Takes an identifier apart: nobody hears of it any more. Without the lock.
// Returns how many of its events the program has fetched.
std::uint32_t destroy(Registry& registry, const std::shared_ptr<Identifier>& id);

[[nodiscard]] Psn draw_psn();
[[nodiscard]] ib_uverbs_ah_attr path_to(const Identifier& id, const wire::Gid& gid,
                                        std::uint8_t gid_index);
// What its QP is given on the way from ready to receive to ready to send.
[[nodiscard]] ib_uverbs_qp_attr ready_to_send(const Identifier& id);
[[nodiscard]] std::uint8_t gid_index_of(nic::Nic& nic, const wire::Gid& gid);

}  // namespace nerve::rdmacm
