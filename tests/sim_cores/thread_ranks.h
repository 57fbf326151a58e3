// Ranks that are threads of this process.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sim/ranks.h"

namespace nerve::sim {

// What all ranks share: a queue of messages from each to each.
class MeetingPlace {
 public:
  explicit MeetingPlace(std::uint32_t count) : count_{count}, gone_(count) {}

  [[nodiscard]] std::uint32_t count() const { return count_; }
  void send(std::uint32_t from, std::uint32_t to, const Packed& message) {
    const std::lock_guard lock{mutex_};
    waiting_[{from, to}].push_back(message);
    changed_.notify_all();
  }
  // Nothing if the sender is gone.
  [[nodiscard]] std::optional<Packed> receive(std::uint32_t from, std::uint32_t to) {
    std::unique_lock lock{mutex_};
    std::vector<Packed>& queue = waiting_[{from, to}];
    changed_.wait(lock, [&] { return !queue.empty() || gone_[from]; });
    if (queue.empty()) return std::nullopt;
    Packed first = std::move(queue.front());
    queue.erase(queue.begin());
    return first;
  }
  void leave(std::uint32_t rank) {
    const std::lock_guard lock{mutex_};
    gone_[rank] = true;
    changed_.notify_all();
  }

 private:
  std::uint32_t count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Packed>> waiting_;
  std::vector<bool> gone_;
};

class ThreadRank final : public Ranks {
 public:
  // It dies before its exchange of this number.
  ThreadRank(MeetingPlace& place, std::uint32_t rank, std::uint64_t dies_at = UINT64_MAX)
      : place_{place}, rank_{rank}, dies_at_{dies_at} {}
  ~ThreadRank() override { place_.leave(rank_); }
  ThreadRank(const ThreadRank&) = delete;
  ThreadRank& operator=(const ThreadRank&) = delete;

  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t count() const override { return place_.count(); }
  [[nodiscard]] std::string trouble() const override { return trouble_; }
  [[nodiscard]] std::uint64_t exchanges() const { return exchanges_; }

  [[nodiscard]] bool exchange(std::span<const Packed> out, std::span<Packed> in) override {
    if (exchanges_++ == dies_at_) trouble_ = "it died";
    for (std::uint32_t i = 0; i < count() && trouble_.empty(); ++i) {
      if (i != rank_) place_.send(rank_, i, out[i]);
    }
    for (std::uint32_t i = 0; i < count() && trouble_.empty(); ++i) {
      if (i != rank_) receive(i, in[i]);
    }
    return trouble_.empty();
  }
  [[nodiscard]] bool gather(const Packed& mine, std::span<Packed> all) override {
    if (rank_ != 0 && trouble_.empty()) place_.send(rank_, 0, mine);
    for (std::uint32_t i = 1; rank_ == 0 && i < count() && trouble_.empty(); ++i) {
      receive(i, all[i]);
    }
    return trouble_.empty();
  }

 private:
  void receive(std::uint32_t from, Packed& into) {
    std::optional<Packed> message = place_.receive(from, rank_);
    if (message) {
      into = *std::move(message);
    } else {
      trouble_ = "rank " + std::to_string(from) + " has ended";
    }
  }

  MeetingPlace& place_;
  std::uint32_t rank_;
  std::uint64_t dies_at_;
  std::uint64_t exchanges_{};
  std::string trouble_;
};

// Runs the same work as each of these ranks.
inline void run_as_ranks(std::uint32_t count, const std::function<void(ThreadRank&)>& work) {
  MeetingPlace place{count};
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < count; ++i) {
    threads.emplace_back([&place, &work, i] {
      ThreadRank rank{place, i};
      work(rank);
    });
  }
  for (std::thread& one : threads) one.join();
}

}  // namespace nerve::sim
