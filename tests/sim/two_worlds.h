// The same two engines twice: once connected directly, frame by frame, as the loop of a live host
// would; once as NICs of a simulation with a switch between them. Both perform the same operations,
// and every frame that leaves an engine is recorded.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "sim/fabric/fabric.h"
#include "sim/host/sim_nic.h"

namespace nerve::sim::test {

struct SeenFrame {
  std::uint32_t from{};  // 0 or 1
  wire::Headers headers{};
  std::uint32_t payload_length{};
  friend bool operator==(const SeenFrame&, const SeenFrame&) = default;
};

// The objects of an application on one engine: memory, a CQ, a QP.
struct Station {
  static constexpr std::uint64_t kBase = 0x10000;  // the same address in both worlds
  static constexpr std::uint64_t kBytes = 1U << 17U;

  explicit Station(nic::Nic& engine, std::uint8_t filling);
  void connect(std::uint32_t peer_node, Qpn peer, nic::Mtu mtu);
  [[nodiscard]] Qpn qpn() const { return nic.query_qp(qp)->qpn; }
  void post_receive();
  // With a single gather entry.
  void post(nic::SendWr wr, std::uint64_t offset, std::uint32_t length);
  void poll();

  nic::Nic& nic;
  std::vector<std::byte> memory;
  nic::PdHandle pd;
  nic::CqHandle cq;
  nic::MrKeys keys;
  nic::QpHandle qp;
  std::vector<nic::Completion> completions;
};

class World {
 public:
  virtual ~World() = default;
  // Runs until neither engine has anything to send.
  virtual void settle() = 0;
  [[nodiscard]] Station& at(std::uint32_t end) { return *stations[end]; }

  std::vector<std::unique_ptr<Station>> stations;
  std::vector<SeenFrame> seen;

 protected:
  void connect(nic::Mtu mtu);
};

class SimulatedWorld final : public World {
 public:
  explicit SimulatedWorld(const SimNicConfig& config);
  void settle() override;
  [[nodiscard]] nic::NicConfig engine_config() { return nics_[0]->engine().config(); }

 private:
  void happen(const Event<Happening>& event);

  FabricPart part_;
  Clockwork& clockwork_{part_.clockwork};
  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<SimNicSettings> settings_;
  std::vector<std::unique_ptr<SimNic>> nics_;
};

class DirectWorld final : public World {
 public:
  explicit DirectWorld(const nic::NicConfig& config, nic::Mtu mtu);
  void settle() override;

 private:
  struct OnTheWay {
    std::uint32_t from{};
    wire::Frame frame{};
    wire::Piece piece{};
  };
  void send_all(std::uint32_t end);

  CheckedMemory nothing_;
  Time now_{Duration{1}};
  std::vector<std::unique_ptr<nic::Nic>> engines_;
  std::deque<OnTheWay> on_the_way_;
};

}  // namespace nerve::sim::test
