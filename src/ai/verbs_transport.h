// The RDMA transport: all requests are RDMA WRITEs and READs over RC QPs, notifications are the
// immediate of a WRITE. One CQ for each device. verbs_connect.cc creates and connects the QPs,
// verbs_transport.cc posts requests and handles completions.
#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ai/message.h"
#include "ai/transport.h"
#include "ai/verbs_device.h"
#include "ai/waiting.h"

namespace nerve::ai {

inline constexpr std::uint32_t kSendDepth = 256;
inline constexpr std::uint32_t kReceiveDepth = 256;
inline constexpr std::uint64_t kReceiveId = 1ULL << 63;

struct Signaled {
  std::uint64_t id;
  std::uint32_t requests;  // that its completion retires
};

struct Lane {
  ibv_qp* qp{};
  std::uint32_t posted{};      // requests in the send queue
  std::uint32_t unsignaled{};  // since the last signaled one
  std::vector<Signaled> signaled = std::vector<Signaled>(kSendDepth);
  std::uint32_t first{};  // oldest and next entry of `signaled`
  std::uint32_t next{};
  std::uint32_t consumed{};  // receives to post again
  bool failed{};
  // Of a lane's first QP: everything goes through the second one, once the first has no requests
  // in flight.
  bool one_qp{};
  // Of a lane's first QP: the device copies directly to and from this peer.
  bool direct{};
  // A notification for the lane's other QP, once this one has no requests in flight.
  std::optional<Request> waiting{};
};

class VerbsTransport final : public Transport {
 public:
  VerbsTransport(Place place, std::vector<VerbsDevice> devices, int lanes)
      : place_{place},
        devices_{std::move(devices)},
        lanes_{lanes},
        lane_table_(static_cast<std::size_t>(2 * place.size * lanes)) {}
  VerbsTransport(const VerbsTransport&) = delete;
  VerbsTransport& operator=(const VerbsTransport&) = delete;
  ~VerbsTransport() override {
    for (const Lane& lane : lane_table_) {
      if (lane.qp != nullptr) ibv_destroy_qp(lane.qp);
    }
  }

  [[nodiscard]] int lanes() const override { return lanes_; }
  [[nodiscard]] std::string describe() const override {
    std::string text = "rdma";
    for (const VerbsDevice& device : devices_) text += std::string{" "} + device.name();
    return text + ", " + std::to_string(lanes_) + (lanes_ == 1 ? " QP" : " QPs") + " per peer";
  }

  Status create_lanes();
  std::string address_for(int peer) override;
  Status connect(int peer, const std::string& address) override;
  Result<std::unique_ptr<Registration>, Error> add_memory(const Memory& memory, std::size_t length,
                                                          Lifetime lifetime) override;
  void remove_memory(Registration& memory) override;
  [[nodiscard]] bool memory_may_change() const override {
    return std::ranges::all_of(devices_, &VerbsDevice::on_demand);
  }
  // Two: a long put with a notification is two requests.
  [[nodiscard]] bool has_room(int peer, int lane) const override {
    const std::size_t first = index_of(peer, lane);
    const Lane& a = lane_table_[first];
    const Lane& b = lane_table_[first + second_qps()];
    return a.failed ||
           (!a.waiting && !b.waiting && a.posted + 3 <= kSendDepth && b.posted + 3 <= kSendDepth);
  }
  [[nodiscard]] bool failed(int peer, int lane) const override {
    return lane_table_[index_of(peer, lane)].failed;
  }
  Status put(const Request& request) override;
  Status get(const Request& request) override;
  void progress(std::vector<Event>& events) override;
  void rest() override;
  void share_cpus() override { shares_cpus_ = true; }
  void set_direct(int peer) override {
    for (int lane = 0; lane < lanes_; ++lane) lane_table_[index_of(peer, lane)].direct = true;
  }
  [[nodiscard]] bool may_copy_directly() const override { return true; }

 private:
  [[nodiscard]] std::size_t index_of(int peer, int lane) const {
    return static_cast<std::size_t>(peer) * static_cast<std::size_t>(lanes_) +
           static_cast<std::size_t>(lane);
  }
  // A lane has two QPs: the second one carries long data.
  [[nodiscard]] std::size_t second_qps() const { return lane_table_.size() / 2; }
  [[nodiscard]] std::size_t device_of(int lane) const {
    return static_cast<std::size_t>(lane) % devices_.size();
  }
  Status read_address(MessageReader& theirs, int number, ibv_qp_attr& attr) const;
  Status bring_up(Lane& lane, int number, ibv_qp_attr attr);
  Status post(const Request& request, std::size_t index, ibv_wr_opcode opcode, bool signal);
  Status put_long(const Request& request);
  [[nodiscard]] std::size_t qp_for(const Request& request) const {
    const std::size_t first = index_of(request.peer, request.lane);
    return request.bulk || lane_table_[first].one_qp ? first + second_qps() : first;
  }
  void poll(std::vector<Event>& events);
  void sleep();
  void fail_lane(std::size_t first, const ibv_wc& wc, std::vector<Event>& events);
  static int post_receives(ibv_qp* qp, std::uint64_t id, std::uint32_t count);
  void receive_consumed(Lane& lane, std::uint64_t id);
  void handle(const ibv_wc& wc, std::vector<Event>& events);

  Place place_;
  std::vector<VerbsDevice> devices_;
  int lanes_;
  std::vector<Lane> lane_table_;  // the first QPs of all lanes, then the second ones
  std::vector<Event> early_;      // found between two posts
  bool shares_cpus_{};
  std::uint32_t rests_{};  // since the last event
  Clock::time_point resting_since_{};
};

}  // namespace nerve::ai
