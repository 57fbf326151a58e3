#include "tests/sim/fake_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace nerve::sim::test {

FakeCluster::FakeCluster(const FakeNetwork& network)
    : network_{network},
      nics_(network.places + network.storage),
      gpus_(network.places),
      in_flight_(network.places),
      most_in_flight_(network.places) {}

JobContext FakeCluster::context(std::uint32_t number) {
  JobContext context{.messenger = *this, .number = number, .seed = 7};
  for (std::uint32_t i = 0; i < network_.places; ++i) {
    context.places.emplace_back(i);
    context.server_of_rank.push_back(i / network_.per_server);
  }
  for (std::uint32_t i = 0; i < network_.storage; ++i) {
    context.storage.emplace_back(network_.places + i);
  }
  context.nic_rate = network_.rate;
  context.interconnect = network_.interconnect;
  context.nics_per_server = network_.per_server;
  context.gpus_per_server = network_.per_server;
  context.header_bytes = 0;
  context.network_delay = network_.latency;
  context.interconnect_delay = network_.interconnect_latency;
  return context;
}

void FakeCluster::at(Time when, const Due& due) {
  calendar_.emplace(std::pair{when.picoseconds(), tickets_++}, due);
}

FakeCluster::Way FakeCluster::way_of(const Message& message) {
  const std::uint32_t from = message.from.value();
  const std::uint32_t to = message.to.value();
  if (to < network_.places && from / network_.per_server == to / network_.per_server) {
    return {&gpus_[from], &gpus_[to], network_.interconnect_latency, network_.interconnect};
  }
  return {&nics_[from], &nics_[to], network_.latency, network_.rate};
}

void FakeCluster::send(const Message& message) {
  const std::uint32_t from = message.from.value();
  ASSERT_NE(from, message.to.value());
  ASSERT_GT(message.bytes, 0U);
  const Way way = way_of(message);
  const Duration jitter{static_cast<std::int64_t>(prng_.between(0, network_.jitter))};
  const Time goes = std::max(now_, way.out->out_free);
  way.out->out_free = goes + way.rate.time_to_send(message.bytes);
  most_in_flight_[from] = std::max(most_in_flight_[from], ++in_flight_[from]);
  const auto number = static_cast<std::uint32_t>(sent_.size());
  sent_.push_back(message);
  at(goes + way.latency + jitter, {What::kArrives, message.token, number});
}

void FakeCluster::arrive(const Due& due) {
  const Way way = way_of(sent_[due.message]);
  const Time there =
      std::max(now_, way.in->in_free) + way.rate.time_to_send(sent_[due.message].bytes);
  way.in->in_free = there;
  at(there, {What::kDelivered, due.token, due.message});
  at(there + way.latency, {What::kAcknowledged, due.token, due.message});
}

void FakeCluster::after(Duration delay, const Token& token) {
  at(now_ + delay, {What::kTimer, token, 0});
}

bool FakeCluster::run(Job& job) {
  job.start();
  while (!calendar_.empty()) {
    const auto next = calendar_.begin();
    now_ = Time{Duration{static_cast<std::int64_t>(next->first.first)}};
    const Due due = next->second;
    calendar_.erase(next);
    switch (due.what) {
      case What::kArrives:
        arrive(due);
        break;
      case What::kDelivered:
        job.delivered(due.token);
        break;
      case What::kAcknowledged:
        --in_flight_[sent_[due.message].from.value()];
        job.acknowledged(due.token);
        break;
      case What::kTimer:
        job.timer(due.token);
        break;
    }
  }
  return job.done();
}

std::uint64_t FakeCluster::bytes_from(std::uint32_t place) const {
  std::uint64_t bytes = 0;
  for (const Message& message : sent_) {
    if (message.from.value() == place) bytes += message.bytes;
  }
  return bytes;
}

JobResult run(FakeCluster& cluster, const JobSpec& spec) {
  auto job = make_job(spec, cluster.context());
  EXPECT_TRUE(job) << job.error();
  if (!job) return {};
  EXPECT_TRUE(cluster.run(**job)) << (*job)->result().trouble;
  EXPECT_EQ((*job)->bytes_planned(), (*job)->result().bytes_moved);
  return (*job)->result();
}

}  // namespace nerve::sim::test
