// One end of CM connections of this process's host, for tests below rdma_cm. No thread polls: the
// background thread moves all frames.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "host/host.h"
#include "nic/connection/connection_manager.h"
#include "tests/host/process.h"

namespace nerve::test {

// Ports that no concurrent test uses: all processes of a user share them.
[[nodiscard]] std::uint16_t own_port(std::uint16_t which = 0);

class CmPeer final : public host::CmListener {
 public:
  CmPeer();
  ~CmPeer() override;
  CmPeer(const CmPeer&) = delete;
  CmPeer& operator=(const CmPeer&) = delete;

  void on_cm_event(nic::Nic& nic, const nic::CmEvent& event) override;
  [[nodiscard]] std::optional<nic::CmEvent> next(
      std::chrono::milliseconds patience = std::chrono::seconds{50});
  // Returns the next event, except ends of timewaits, which must be of this kind.
  nic::CmEvent expect(nic::CmEventKind kind);

  void listen(std::uint16_t port);
  // Accepts all requests and answers disconnects; reports each connection to `tell`, if given.
  [[noreturn]] void serve(const Line* tell = nullptr);
  enum class Reach : std::uint8_t { kFirst, kNot };
  nic::CommHandle connect(std::uint16_t port, Reach reach = Reach::kFirst);
  // From REQ to RTU.
  nic::CommHandle establish(std::uint16_t port, Reach reach = Reach::kFirst);
  void disconnect(nic::CommHandle id);

  [[nodiscard]] wire::Gid gid();
  [[nodiscard]] nic::CmOffer offer();
  std::shared_ptr<host::Adapter> adapter;
  host::PortSpace* ports{};
  Reach reach_back{Reach::kFirst};
  std::uint8_t response_timeout{14};  // 67 ms, so that lost messages are retransmitted soon

 private:
  std::mutex lock_;
  std::condition_variable came_;
  std::deque<nic::CmEvent> events_;
  std::uint32_t qpns_{};
};

// A process that serves a port until it is destroyed.
class Server {
 public:
  explicit Server(std::uint16_t port, CmPeer::Reach reach = CmPeer::Reach::kFirst);
  ~Server() {
    if (alive_) process_.line().say('x');
  }
  void kill() {
    process_.kill();
    alive_ = false;
  }
  void stop() const { process_.stop(); }
  void await_connection() const { EXPECT_EQ(process_.line().hear<char>(), 'e'); }

 private:
  Process process_;
  bool alive_{true};
};

}  // namespace nerve::test
