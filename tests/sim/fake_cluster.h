// A network for tests of workloads: each place sends one message at a time at a given rate and
// receives one at a time, with no other contention. Within a server, another rate and latency
// apply.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "sim/workload/make_job.h"

namespace nerve::sim::test {

struct FakeNetwork {
  std::uint32_t places{};
  std::uint32_t per_server{1};
  std::uint32_t storage{};  // numbered after the others
  Rate rate{Rate::gigabits(400)};
  Duration latency{std::chrono::microseconds{2}};
  Rate interconnect{Rate::gigabits(3'600)};
  Duration interconnect_latency{std::chrono::nanoseconds{700}};
  std::uint64_t jitter{};  // upper limit in picoseconds, random
};

class FakeCluster final : public Messenger {
 public:
  explicit FakeCluster(const FakeNetwork& network);

  // One rank per place.
  [[nodiscard]] JobContext context(std::uint32_t number = 0);
  // Runs until the job is done or no event is left. Returns whether it is done.
  bool run(Job& job);

  void send(const Message& message) override;
  void after(Duration delay, const Token& token) override;
  [[nodiscard]] Time now() const override { return now_; }

  [[nodiscard]] const std::vector<Message>& sent() const { return sent_; }
  [[nodiscard]] std::uint64_t bytes_from(std::uint32_t place) const;
  // The peak number of messages in flight from a place.
  [[nodiscard]] std::uint32_t most_in_flight(std::uint32_t place) const {
    return most_in_flight_[place];
  }

 private:
  enum class What : std::uint8_t { kArrives, kDelivered, kAcknowledged, kTimer };
  struct Due {
    What what{};
    Token token{};
    std::uint32_t message{};
  };
  struct Wire {
    Time out_free{};
    Time in_free{};
  };
  struct Way {
    Wire* out{};
    Wire* in{};
    Duration latency{};
    Rate rate;
  };
  [[nodiscard]] Way way_of(const Message& message);
  void at(Time when, const Due& due);
  // The first byte has reached the receiver.
  void arrive(const Due& due);

  FakeNetwork network_;
  Prng prng_{1};
  Time now_{};
  std::uint64_t tickets_{};
  std::map<std::pair<std::uint64_t, std::uint64_t>, Due> calendar_;  // by time, then ticket
  std::vector<Wire> nics_;
  std::vector<Wire> gpus_;
  std::vector<Message> sent_;
  std::vector<std::uint32_t> in_flight_;
  std::vector<std::uint32_t> most_in_flight_;
};

// Runs a job of this kind, and expects it to be done and to have moved what it planned.
JobResult run(FakeCluster& cluster, const JobSpec& spec);

}  // namespace nerve::sim::test
