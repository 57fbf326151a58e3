// Two engines whose connection managers talk to each other, and one whose peer is the test.
//
// A test makes calls, and reads the messages sent and the events raised. Time advances only when
// the test says so.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "nic/connection/connection_manager.h"
#include "nic/nic.h"
#include "tests/nic/joined_engines.h"

namespace nerve::test {

inline constexpr wire::ServiceId kService{0x0106'1c06};
inline constexpr Duration kMillisecond{std::chrono::milliseconds{1}};
inline constexpr Duration kSecond{std::chrono::seconds{1}};

struct SeenMad {
  bool from_a{};
  Time when{};
  wire::Flow flow{};
  wire::Headers headers{};
  wire::CmMad mad{};
  [[nodiscard]] wire::CmAttribute attribute() const { return wire::attribute_of(mad.message); }
};

struct CmEnd {
  explicit CmEnd(std::uint8_t number, nic::NicConfig config = {});

  [[nodiscard]] nic::ConnectionManager& cm() { return nic.cm(); }
  [[nodiscard]] nic::CmConnect to(const CmEnd& peer) const;
  [[nodiscard]] nic::CmOffer offer() const;
  // The only pending event, which must be of this kind.
  nic::CmEvent expect(nic::CmEventKind kind);
  [[nodiscard]] std::vector<nic::CmEventKind> events();

  wire::Gid gid;
  std::uint64_t guid;
  Qpn qpn;
  nic::Nic nic;
};

class CmPair : public JoinedEngines<CmPair> {
 public:
  explicit CmPair(const nic::NicConfig& config = {}) : a{1, config}, b{2, config} {}

  // Logs the MAD; it is lost when `lose` returns true.
  bool passes(bool from_a, const wire::Frame& frame);
  // Exchanges frames also before the first timer.
  void wait(Duration time) {
    exchange();
    JoinedEngines::wait(time);
  }
  // The messages sent since the last call: "a:REQ b:REP a:RTU".
  std::string said();

  // B listens, A connects; sets the IDs of both.
  void open();
  void establish();

  CmEnd a;
  CmEnd b;
  std::vector<SeenMad> seen;
  std::function<bool(const SeenMad&)> lose;
  nic::CommHandle listener{};
  nic::CommHandle active{};
  nic::CommHandle passive{};

 private:
  std::size_t said_{};
};

// One engine; the test builds its peer's MADs.
class CmProbe {
 public:
  explicit CmProbe(const nic::NicConfig& config = {}) : end{1, config} {}

  // Delivers the message from `peer` and returns the answers.
  std::vector<SeenMad> hear(const wire::CmMessage& message, std::uint64_t transaction = 7);
  std::vector<SeenMad> hear(const wire::Frame& frame);
  std::vector<SeenMad> listen();
  void wait(Duration time);
  // A REQ that an engine accepts.
  [[nodiscard]] wire::CmReq req() const;
  [[nodiscard]] wire::Frame frame_of(const wire::CmMad& mad);

  CmEnd end;
  wire::Gid peer{wire::Gid::ipv4(10, 0, 0, 9)};
  std::uint64_t peer_guid{0x9999};
  Time now{Duration{1}};

 private:
  nic::TxBurst burst_{64};
  std::array<std::byte, wire::CmMad::kSize> bytes_{};
  wire::Piece piece_{};
};

[[nodiscard]] std::vector<std::byte> text(const char* words);
[[nodiscard]] wire::CmMad mad_of(const wire::Frame& frame);

}  // namespace nerve::test
