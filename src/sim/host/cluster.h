// A cluster at work: the door that jobs use, on a simulation's NICs and the interconnects of its
// servers.
//
// A message within a server crosses the interconnect. Any other goes by a NIC; across rails, where
// that is the policy or rails do not meet, it first crosses to the GPU beside it that is on the
// receiver's rail, slice by slice, and leaves from there. What is for a storage server is there
// when the disk has it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/host/carrier.h"
#include "sim/host/cluster_task.h"
#include "sim/host/interconnect.h"
#include "sim/host/messenger.h"
#include "sim/host/places.h"
#include "sim/scenario/host_spec.h"
#include "sim/workload/job.h"

namespace nerve::sim {

struct ClusterConfig {
  ClusterShape shape{};
  Rate interconnect{Rate::gigabits(3'600)};
  Duration interconnect_delay{std::chrono::nanoseconds{700}};
  Rate disk{};  // of a storage server; zero: as fast as its NIC
  CarrierConfig back_end{};
  CarrierConfig front_end{};
};

class Cluster final : public Messenger, private CarrierUser {
 public:
  Cluster(Simulation& simulation, const ClusterConfig& config);

  // Its tokens bear the number that this returns. The job outlives the run.
  std::uint32_t add(Job& job, Duration start);

  void send(const Message& message) override;
  void after(Duration delay, const Token& token) override;
  [[nodiscard]] Time now() const override { return simulation_.clockwork().now(); }

  // All jobs are done, or have lost a message and never will be.
  [[nodiscard]] bool over() const { return over_ == jobs_.size(); }
  [[nodiscard]] std::uint32_t jobs_over() const { return over_; }
  // Why a job will not be done: empty while nothing speaks against it.
  [[nodiscard]] const std::string& trouble(std::uint32_t job) const { return jobs_[job].trouble; }
  [[nodiscard]] std::uint64_t failed_messages() const { return failed_messages_; }
  // Of messages that have crossed no network.
  [[nodiscard]] std::uint64_t bytes_within_servers() const { return bytes_within_servers_; }
  [[nodiscard]] std::uint64_t interconnect_bytes() const { return interconnect_.bytes(); }
  [[nodiscard]] const ClusterShape& shape() const { return config_.shape; }
  [[nodiscard]] std::size_t connections() const { return carrier_.connections(); }

 private:
  enum class Way : std::uint8_t { kNetwork, kInterconnect, kRelay };
  struct Sending {
    Message message{};
    Way way{};
    ParcelId parcel{};        // unless it stays in its server
    std::uint64_t crossed{};  // bytes, of kRelay
    Time stored{};            // when the disks have it
    bool delivered{};
    bool acknowledged{};
  };
  struct Running {
    Job* job{};
    bool over{};
    std::string trouble;
  };

  void task(ClusterTask what, std::uint32_t argument);
  void slice_left(std::uint32_t transfer);
  void crossed(std::uint32_t message);
  void at_disk(Sending& sending, PlaceId place);
  void deliver(std::uint32_t message);
  void carried(std::uint32_t message) override;
  void acknowledged(std::uint32_t message) override;
  void failed(std::uint32_t message, std::string_view why) override;
  void look_whether_over(std::uint32_t job);
  void schedule(Duration delay, ClusterTask what, std::uint32_t argument);

  Simulation& simulation_;
  ClusterConfig config_;
  Interconnect interconnect_;
  Carrier carrier_;
  std::vector<Running> jobs_;
  std::vector<Sending> messages_;
  std::vector<std::uint32_t> free_messages_;
  std::vector<Token> timers_;
  std::vector<std::uint32_t> free_timers_;
  std::vector<Time> disks_;  // of each storage server: when it is free
  std::uint32_t over_{};
  std::uint64_t failed_messages_{};
  std::uint64_t bytes_within_servers_{};
};

}  // namespace nerve::sim
