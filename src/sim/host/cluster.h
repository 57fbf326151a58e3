// A cluster: implements Messenger for jobs, with the simulation's NICs and the interconnects of its
// servers.
//
// A message within a server crosses the interconnect. Any other message uses a NIC. Between rails,
// if relaying is configured or the rails are not connected, it first crosses the interconnect,
// slice by slice, to the GPU of the sender's server that is on the receiver's rail. A message to a
// storage server is delivered when the disk has stored it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/host/carrier.h"
#include "sim/host/cluster_task.h"
#include "sim/host/interconnect.h"
#include "sim/host/messenger.h"
#include "sim/host/path_times.h"
#include "sim/host/places.h"
#include "sim/scenario/host_spec.h"

namespace nerve::sim {

struct ClusterConfig {
  ClusterShape shape{};
  Rate interconnect{Rate::gigabits(3'600)};
  Duration interconnect_delay{std::chrono::nanoseconds{700}};
  std::uint32_t most_slices{};  // per message on the interconnect; zero: no limit
  Rate disk{};                  // per storage server; zero: as fast as its NIC
  CarrierConfig back_end{};
  CarrierConfig front_end{};
};

class Cluster final : public Messenger, private CarrierUser {
 public:
  Cluster(Simulation& simulation, const ClusterConfig& config);

  // Returns the number that the job's tokens must carry. The job must outlive the run.
  std::uint32_t add(MessengerUser& job, Duration start);

  void send(const Message& message) override;
  void after(Duration delay, const Token& token) override;
  void plan(Time when, const Token& token) override;
  [[nodiscard]] Time now() const override { return simulation_.now(); }

  // Every job is done or has failed.
  [[nodiscard]] bool over() const { return over_ == jobs_.size(); }
  [[nodiscard]] std::uint32_t jobs_over() const { return over_; }
  // Why a job failed; empty if it has not.
  [[nodiscard]] const std::string& trouble(std::uint32_t job) const { return jobs_[job].trouble; }
  // What it waited for until it was over.
  [[nodiscard]] const PathTimes& path(std::uint32_t job) const { return jobs_[job].path; }
  [[nodiscard]] std::uint64_t failed_messages() const { return failed_messages_; }
  // Payload of messages that stayed within a server.
  [[nodiscard]] std::uint64_t bytes_within_servers() const { return bytes_within_servers_; }
  [[nodiscard]] std::uint64_t interconnect_bytes() const { return interconnect_.bytes(); }
  [[nodiscard]] const ClusterShape& shape() const { return config_.shape; }
  [[nodiscard]] std::size_t connections() const { return carrier_.connections(); }
  [[nodiscard]] const Admission& admission(bool on_front_end) const {
    return carrier_.admission(on_front_end);
  }

 private:
  enum class Path : std::uint8_t { kNetwork, kInterconnect, kRelay };
  struct Sending {
    Message message{};
    Path path{};
    ParcelId parcel{};        // unless it stays in its server
    std::uint64_t crossed{};  // kRelay: bytes that have crossed the interconnect
    Time stored{};            // when the disk has stored it
    Time begun{};
    PathTimes before{};  // of the event in whose handling it was sent
    bool delivered{};
    bool acknowledged{};
  };
  struct Timer {
    Token token{};
    std::optional<Time> planned;
    PathTimes path{};  // when it ends
  };
  struct Running {
    MessengerUser* job{};
    Time start{};
    bool over{};
    std::string trouble;
    PathTimes path{};
  };

  void task(ClusterTask what, std::uint32_t argument);
  void slice_left(std::uint32_t transfer);
  void crossed(std::uint32_t message);
  void reserve_disk(Sending& sending, PlaceId place);
  void deliver(std::uint32_t message);
  void carried(std::uint32_t message) override;
  void acknowledged(std::uint32_t message) override;
  void failed(std::uint32_t message, std::string_view why) override;
  void check_over(std::uint32_t job);
  [[nodiscard]] PathTimes path_of(const Sending& sending, bool acknowledged) const;
  void cross(std::uint32_t message);
  void set_timer(Time when, const Timer& timer);
  // The latest time at which a program must run to post something at this time.
  [[nodiscard]] Time ahead_of(Time when) const;
  void schedule(Duration delay, ClusterTask what, std::uint32_t argument);

  Simulation& simulation_;
  ClusterConfig config_;
  Interconnect interconnect_;
  Carrier carrier_;
  std::vector<Running> jobs_;
  std::vector<Sending> messages_;
  std::vector<std::uint32_t> free_messages_;
  std::vector<Timer> timers_;
  std::vector<std::uint32_t> free_timers_;
  std::vector<Time> disks_;  // per storage server: when its disk is free
  PathTimes path_{};         // of the event that a job is handling
  std::uint32_t over_{};
  std::uint64_t failed_messages_{};
  std::uint64_t bytes_within_servers_{};
};

}  // namespace nerve::sim
