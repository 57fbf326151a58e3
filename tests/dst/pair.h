// Two hosts, one connection and a perfect network, for tests of single behaviours.
//
// Everything is logged: each frame with its time, each completion, each event.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "tests/dst/host.h"
#include "wire/syndrome.h"

namespace nerve::dst {

struct SentFrame {
  Time at{};
  std::size_t from{};
  Parcel parcel{};
  [[nodiscard]] wire::Operation operation() const {
    return wire::operation_of(parcel.headers.bth.opcode);
  }
};

struct PairSetup {
  nic::QpType type{nic::QpType::kRc};
  std::array<nic::NicConfig, 2> config{};
  Faults faults{};
  nic::QpCaps caps{
      .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 4, .max_recv_sge = 4, .max_inline = 64};
  std::uint32_t cq_depth{256};
  bool ipv6{};
  bool srq{};  // both ends receive from one
};

class Pair {
 public:
  struct End {
    std::unique_ptr<Host> host{};
    nic::CqHandle cq{};
    nic::SrqHandle srq{};
    nic::QpHandle qp{};
    Qpn qpn{};
    std::vector<nic::Completion> completions{};
    std::vector<nic::Event> events{};
  };

  explicit Pair(const PairSetup& setup);

  [[nodiscard]] End& end(std::size_t side) { return ends_[side]; }
  [[nodiscard]] nic::Nic& nic(std::size_t side) { return ends_[side].host->nic(); }
  [[nodiscard]] MemoryModel& memory(std::size_t side) { return ends_[side].host->memory(); }
  [[nodiscard]] const std::vector<SentFrame>& frames() const { return frames_; }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] Time now() const { return events_.now(); }

  // The attributes of both QPs in RTS; a test may change them.
  [[nodiscard]] nic::QpAttributes attributes(std::size_t side) const;
  void connect() { connect(0, attributes(0)), connect(1, attributes(1)); }
  void connect(std::size_t side, const nic::QpAttributes& attributes);

  // Work of one byte range each; offsets are relative to a zone of the host's memory.
  nic::Status receive(std::size_t side, std::uint64_t wr_id, std::uint32_t length,
                      std::size_t offset = 0);
  nic::Status send(std::size_t side, std::uint64_t wr_id, std::uint32_t length);
  nic::Status write(std::size_t side, std::uint64_t wr_id, std::uint32_t length);
  nic::Status read(std::size_t side, std::uint64_t wr_id, std::uint32_t length);
  nic::Status post(std::size_t side, nic::SendWr wr, std::uint32_t length,
                   MemoryModel::Zone source);

  void pump() { ends_[0].host->pump(), ends_[1].host->pump(); }
  void run_for(Duration time);
  // For tests with millions of frames.
  void forget_frames() { frames_.clear(), log_frames_ = false; }
  [[nodiscard]] std::vector<SentFrame> frames_from(std::size_t side) const;
  [[nodiscard]] bool saw_event(std::size_t side, nic::EventKind kind) const;

 private:
  PairSetup setup_;
  EventQueue events_;
  Journal journal_{false};
  Network network_;
  End ends_[2];
  std::vector<SentFrame> frames_;
  bool log_frames_{true};
};

}  // namespace nerve::dst
