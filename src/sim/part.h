// A part of the simulation: some switches and NICs with their events. One thread runs it for a
// window of time; between windows it takes in what other parts have sent, and hands out what its
// NICs have to report.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/core/nic_user.h"
#include "sim/fabric/fabric.h"

namespace nerve::sim {

// A callback of NicUser that waits until the programs run.
struct NicReport {
  enum class Kind : std::uint8_t { kReceived, kSent, kFailed };
  Time when{};
  std::uint64_t message{};  // kSent
  std::string_view why;     // kFailed; a literal
  NodeId nic{};
  QpNumber qp{};              // kReceived, kFailed
  std::uint32_t immediate{};  // kReceived
  Kind kind{};

  void tell(NicUser& user) const;
};

class alignas(128) Part final : public NicUser {  // no two threads write to one cache line
 public:
  FabricPart fabric;

  [[nodiscard]] Clockwork& clockwork() { return fabric.clockwork; }
  // When something happens next, here or in what has left for other parts.
  [[nodiscard]] Time next() const;

  // A message that a NIC gets at this time.
  void post_at(Time when, NodeId nic, const NicMessage& message);
  [[nodiscard]] NicMessage take_post(std::uint32_t number);
  // A message that cannot be sent.
  void lose(NodeId nic, QpNumber qp) { failed(nic, qp, "the connection is in error"); }

  // Between windows: what has left in the last one is now for others to take.
  void turn() { fabric.leaving.swap(left_); }
  void set_parts(std::size_t count);
  void take_from(Part& other, std::size_t own_number) {
    other.left_[own_number].empty_into(fabric.clockwork);
  }
  // What has been reported since the last call.
  void collect(std::vector<NicReport>& into);

 private:
  void received(NodeId at, QpNumber qp, std::uint32_t immediate) override;
  void sent(NodeId from, std::uint64_t message) override;
  void failed(NodeId at, QpNumber qp, std::string_view why) override;

  std::vector<Outbox> left_;  // per part, of the last window
  std::vector<NicReport> reports_;
  std::vector<NicMessage> posts_;
  std::vector<std::uint32_t> free_posts_;
};

}  // namespace nerve::sim
