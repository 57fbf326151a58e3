// One end of an RC connection on this process's host, for tests below verbs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "host/host.h"

namespace nerve::test {

// What two ends exchange before they connect.
struct Card {
  wire::Gid gid{};
  std::uint32_t qpn{};
  std::uint32_t rkey{};
  std::uint64_t address{};
};

class Endpoint {
 public:
  explicit Endpoint(std::size_t bytes);
  ~Endpoint();  // must end before its memory is freed
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  [[nodiscard]] Card card();
  void connect(const Card& peer);

  bool post_send(nic::SendOp op, std::uint64_t wr_id, std::size_t offset, std::uint32_t length,
                 std::uint64_t remote_offset = 0);
  bool post_receive(std::uint64_t wr_id, std::size_t offset, std::uint32_t length);
  // Polls until there is a completion or patience ends.
  [[nodiscard]] std::optional<nic::Completion> next(
      std::chrono::milliseconds patience = std::chrono::seconds{10});

  // Waits for the next completion after arm(), without a call that would move frames.
  void arm();
  [[nodiscard]] bool sleep(std::chrono::milliseconds patience = std::chrono::seconds{10});

  std::vector<std::byte> memory;
  std::shared_ptr<host::Adapter> adapter;
  Card peer;

 private:
  struct Bell final : host::EventTarget {
    void on_event(const nic::Event& event) override;
    std::mutex lock;
    std::condition_variable rings;
    bool rung{};
  };
  Bell bell_;
  nic::PdHandle pd_;
  nic::CqHandle cq_;
  nic::QpHandle qp_;
  nic::MrHandle mr_;
  nic::MrKeys keys_;
};

}  // namespace nerve::test
